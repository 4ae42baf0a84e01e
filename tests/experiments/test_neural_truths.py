"""Networks and known truths on a small scale: truths, records and the report."""

import numpy as np
import pytest
from experiments.neural_truths import experiment
from experiments.neural_truths.experiment import NeuralTruths
from experiments.neural_truths.methods import METHODS, NOISY, posterior_regressor
from experiments.neural_truths.report import write_report
from experiments.neural_truths.truths import SLOPES, TRUTHS
from experiments.runner.records import Records
from experiments.runner.run import Runner

SMALL = {"hidden": (4,), "n_passes": 3}


@pytest.mark.parametrize(
    ("name", "noise"), [("smooth", 0.6), ("linear", 0.8), ("friedman", 0.4), ("steps", 0.4)]
)
def test_noise_of_truths(name, noise):
    rng, n = np.random.default_rng(0), 20_000
    X = TRUTHS[name].inputs(n, rng)
    found = np.std(TRUTHS[name].outcomes(X, rng) - TRUTHS[name].function(X))
    assert found == pytest.approx(noise, rel=4 / np.sqrt(2 * n))


def test_functions_of_truths():
    rows = np.random.default_rng(0).normal(size=(50, 8))
    assert TRUTHS["linear"].function(rows) == pytest.approx(rows @ SLOPES)
    corners = np.array([[-1.0, 1.0, -1.0, 0.0], [1.0, 1.0, -1.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    assert TRUTHS["steps"].function(corners).tolist() == [0.7, 1.7, 1.0]
    middle = np.zeros((1, 6))
    friedman = 10 * np.sin(np.pi / 4) + 0 + 5 + 2.5 - 14
    assert TRUTHS["friedman"].function(middle) == pytest.approx(friedman / 5)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One truth, all methods, tiny networks."""

    def tiny(method, n_draws, seed):
        return posterior_regressor(method, n_draws, seed, SMALL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "posterior_regressor", tiny)
        patch.setattr(experiment, "N_ROWS", 40)
        runner = Runner(NeuralTruths(("smooth",), METHODS, 1, 3), tmp_path_factory.mktemp("found"))
        assert runner.run() == 0, (runner.folder / "errors.jsonl").read_text()
    return runner


def test_every_method_is_measured(run):
    frame = run.records.frame().set_index("method")
    assert set(frame.index) == set(METHODS)
    for kind in experiment.KINDS:
        assert frame[f"{kind} coverage"].between(0, 1).all()
        assert (frame[f"{kind} width"] > 0).all()
    assert (frame["raw width"] <= frame["inflated width"]).all()
    assert frame.loc["martingale", "raw width"] < frame.loc["martingale", "inflated width"]
    assert frame["sd"].nunique() == len(METHODS)
    assert (frame["passes"] == SMALL["n_passes"]).all()


def test_noise_on_y_reaches_the_algorithm():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    fitted = posterior_regressor(NOISY, 2, 0, SMALL).fit(X, y)
    assert fitted.posterior_.algorithm.noisy_outcomes
    assert fitted.posterior_.algorithm.prior == "anchored"


def test_the_report_says_which_goals_are_met(run, tmp_path):
    more = Records(tmp_path / "records.jsonl")
    rows = list(run.records)
    for name in TRUTHS:
        for split in range(2):
            for record in rows:
                ours = record["method"].startswith("martingale")
                raw = 0.95 if ours and name == "linear" else 0.88 if ours else 0.87
                scores = {"calibrated coverage": 0.9, "raw coverage": raw, "sd": 1.0}
                if record["method"] == "martingale" and name != "smooth":
                    scores["sd"] = 1.5
                more.append({**record, "data_set": name, "split": split, **scores})
    write_report(more, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| calibrated coverage, mean | 0.900 | 0.85 to 0.95 | met |" in text
    assert "3 of 4 (not linear) | every truth | not met |" in text
    assert "smooth 1.00, linear 1.50" in text
    assert text.count("| not met |") == 2
    assert "**Partial**: 2 of 10 data sets are complete." in text
    assert "## Provenance" in text
