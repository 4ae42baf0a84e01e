"""Networks on regression problems, on small data made here."""

import json

import numpy as np
import pandas as pd
import pytest
from experiments.gp_hyperparameters.experiment import NAMES, GPHyperparameters
from experiments.neural_regression import experiment, peers
from experiments.neural_regression.experiment import NeuralRegression, scored_normal
from experiments.neural_regression.report import write_report
from experiments.neural_truths.methods import METHODS, posterior_regressor
from experiments.runner.records import Records, Unit
from experiments.runner.run import Runner

from nearbayes.metrics import crps_gaussian, nlpd_gaussian_mixture

UNIT = Unit("power", 0)
FEW = ("ensemble", "bootstrap", "martingale")  # test_neural_truths.py measures all methods


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    frame["y"] = 100 + 10 * frame["a"] + rng.normal(size=400)
    frame.to_parquet(folder / "power.parquet")
    entry = {"name": "power", "file": "power.parquet", "target": "y"}
    (folder / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    return folder


@pytest.fixture(scope="module")
def records(folder):
    """One data set, tiny networks."""

    def tiny(method, n_draws, seed):
        return posterior_regressor(method, n_draws, seed, {"hidden": (8,), "n_passes": 60})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "posterior_regressor", tiny)
        runner = Runner(NeuralRegression(("power",), FEW, 1, 3, folder), folder / "results")
        assert runner.run() == 0, (runner.folder / "errors.jsonl").read_text()
    return runner.records


def test_rows_are_those_of_gaussian_processes_in_standard_units(folder, monkeypatch):
    monkeypatch.setattr(experiment, "MOST_TEST_ROWS", 30)
    X, y, X_test, y_test = NeuralRegression(data_dir=folder).split(UNIT)
    theirs = GPHyperparameters(data_dir=folder).split(Unit("power-300", 0))
    assert (theirs[0] == X).all()
    assert (theirs[2][:30] == X_test).all()
    assert (y.mean(), y.std()) == pytest.approx((0, 1))
    assert y_test == pytest.approx((theirs[3][:30] - theirs[1].mean()) / theirs[1].std())


def test_every_method_is_measured(records):
    found = records.of(UNIT)
    assert tuple(found) == FEW
    assert all(0 < found[name]["crps"] < found[name]["rmse"] < 1 for name in FEW)
    assert len({found[name]["crps"] for name in FEW}) == len(FEW)


def test_scores_of_normal_predictions():
    rng = np.random.default_rng(0)
    y, mean, sd = rng.normal(size=100), rng.normal(size=100), rng.uniform(0.5, 2, size=100)
    found = scored_normal(y, mean, sd)
    assert found["crps"] == pytest.approx(crps_gaussian(y, mean, sd), rel=0.02)
    assert found["nlpd"] == pytest.approx(nlpd_gaussian_mixture(y, mean[None], sd[None]))


def test_the_peer_is_skipped_with_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    peers.installed.cache_clear()
    whole = NeuralRegression()
    assert list(whole.methods(UNIT)) == list(whole.methods(UNIT)) == list(METHODS)
    assert capsys.readouterr().err.count("laplace is skipped, as laplace-torch") == 1
    peers.installed.cache_clear()


def test_the_peer_predicts(folder):
    pytest.importorskip("laplace")
    found = NeuralRegression(data_dir=folder).measure(UNIT, peers.LAPLACE, {})
    assert 0 < found["crps"] < found["rmse"] < 0.3


def test_the_report_says_which_goals_are_met(records, tmp_path):
    more = Records(tmp_path / "records.jsonl")
    for name in NAMES:
        for record in records:
            crps = {"martingale": 1.01, "ensemble": 1.0}.get(record["method"], 1.2)
            if name == "naval" and record["method"] == "martingale":
                crps = 1.07
            more.append({**record, "data_set": name, "crps": crps})
    write_report(more, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| 1.0167 | at most 1.02 | met |" in text
    assert "| 1.0700 (naval) | at most 1.06 | not met |" in text
    assert "laplace-torch was not installed" in text
    assert "## Provenance" in text
