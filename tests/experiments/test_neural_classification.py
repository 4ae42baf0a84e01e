"""Networks on classification problems, on small data made here."""

import json

import numpy as np
import pandas as pd
import pytest
from experiments.classification.experiment import DATA_SETS as ALL
from experiments.neural_classification import experiment
from experiments.neural_classification.experiment import DATA_SETS, METHODS, NeuralClassification
from experiments.neural_classification.report import write_report
from experiments.runner.records import Records, Unit
from experiments.runner.run import Runner


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["u", "v"])
    frame["w"] = pd.Categorical(np.where(frame["u"] > 0, "up", "down"))
    frame["class"] = np.where(frame["u"] + rng.normal(size=120) > 0, "yes", "no")
    frame.to_parquet(folder / "toy.parquet")
    entry = {"name": "toy", "file": "toy.parquet", "target": "class"}
    (folder / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "NETWORK", {"hidden": (4,), "n_passes": 20})
        runner = Runner(NeuralClassification(("toy",), METHODS, 1, 3, folder), folder / "results")
        assert runner.run() == 0, (folder / "results" / "errors.jsonl").read_text()
    return runner.records


def test_there_are_six_of_the_data_sets():
    assert len(DATA_SETS) == 6
    assert set(DATA_SETS) <= set(ALL)
    assert len(NeuralClassification().units) == 18


def test_every_method_is_measured(records):
    found = records.of(Unit("toy", 5))
    assert tuple(found) == METHODS
    assert all(0 < found[name]["nll"] < 2 for name in METHODS)
    assert len({found[name]["nll"] for name in METHODS}) == len(METHODS)


def test_the_report_says_whether_the_goal_is_met(records, tmp_path):
    more = Records(tmp_path / "records.jsonl")
    nll = {"ensemble": 0.5, "bootstrap": 0.4, "martingale": 0.403, "martingale, one block": 0.41}
    for name in DATA_SETS:
        for record in records:
            more.append({**record, "data_set": name, "nll": nll[record["method"]]})
    write_report(more, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "mean NLL of martingale, over that of bootstrap | 1.0075 | at most 1.01 | met |" in text
    assert "one block, over that of bootstrap | 1.0250 | at most 1.01 | not met |" in text
    assert "## Provenance" in text
