"""Coverage by learner on a small scale: the design, records and tables."""

import numpy as np
import pandas as pd
import pytest
from experiments.coverage.experiment import _fitted, size_of
from experiments.coverage.measures import best_interval, inside, oddities, simulated
from experiments.coverage.truths import ALL_TRUTHS
from experiments.coverage_learners.experiment import LEARNERS, SIZES, CoverageLearners, learner
from experiments.coverage_learners.report import write_report
from experiments.runner.records import Records, Unit
from experiments.runner.run import Runner


def replications(n_splits):
    experiment = CoverageLearners(n_splits=n_splits)
    return pd.DataFrame(
        {"truth": unit.data_set.rpartition(", n=")[0], "n": size_of(unit), "learner": name}
        for unit in experiment.units
        for name in experiment.methods(unit)
    )


def test_there_are_enough_replications_of_everything():
    design = replications(CoverageLearners.n_splits)
    assert len(design) >= 120
    assert design.groupby(["learner", "n"]).size().min() >= 4
    assert design.groupby("truth").size().min() >= 4
    assert design.groupby(["truth", "learner"]).ngroups == len(ALL_TRUTHS) * len(LEARNERS)


def test_three_splits_have_all_sizes():
    design = replications(3)
    assert (design.groupby("truth")["n"].nunique() == len(SIZES)).all()


def test_a_truth_keeps_its_size_when_it_is_chosen():
    units = set(CoverageLearners().units)
    assert set(CoverageLearners(("number, steps",)).units) < units


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_are_as_they_are_called(name):
    made = [learner(name, ALL_TRUTHS[truth]) for truth in ("class, smooth", "number, smooth")]
    assert [hasattr(each, "predict_proba") for each in made] == [True, False]
    stops = made[0].get_params().get("early_stopping_rounds") is not None
    assert stops == name.startswith("tuned")


def test_rounding_excludes_nothing():
    p = np.array([1e-8, 0.5, 0.5, 0.5])
    bounds = np.array([[1e-8, 1e-8], [0.4, 0.6], [0.51, 0.6], [0.4, 0.49]])
    assert inside(p * (1 + 1e-15), bounds).tolist() == [True, True, False, False]


def test_oddities_are_counted():
    truth = ALL_TRUTHS["class, smooth"]
    X, y, points, _ = simulated(truth, 100, 0, n_points=10)
    model = _fitted(truth, "martingale", X, y, 4, 0)
    bounds = best_interval(model, points)
    bounds[:5] = [1e-4, 1e-4 * (1 + 1e-15)]
    found = oddities(model, points, bounds)
    assert found["excludes prediction"] >= 0.5
    assert found["zero width"] == found["zero width, draws differ"] == 0.5


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two truths of 200 rows, with the quick learners."""
    folder = tmp_path_factory.mktemp("results")
    truths, quick = ("class, smooth", "number, smooth"), ("tuned XGBoost", "XGBoost, 60 rounds")
    runner = Runner(CoverageLearners(truths, quick, 1, 3), folder)
    assert runner.run() == 0, (folder / "errors.jsonl").read_text()
    return runner


def test_records_have_every_measure(run):
    frame = run.records.frame()
    assert len(frame) == 4
    for kind in ("raw", "inflated", "calibrated"):
        assert frame[f"{kind} coverage"].between(0, 1).all()
    assert (frame["raw width"] < frame["inflated width"]).all()
    # were the calibrated ones to be found under another name, this would show it
    assert (frame["inflated width"] != frame["calibrated width"]).all()
    assert (frame["cost"] > 1).all()
    assert frame["excludes prediction"].between(0, 1).all()


def test_report_has_goals_and_provenance(run):
    write_report(run.records, run.folder)
    text = (run.folder / "report.md").read_text()
    assert "coverage, lowest learner" in text
    assert "## Provenance" in text
    assert "library before" not in text


def test_an_older_run_is_compared(run):
    older = Records(run.folder / "before" / "records.jsonl")
    for record in run.records:
        width = record["calibrated width"] / 1.25
        older.append({**record, "calibrated width": width, "calibrated coverage": 0.9})
    write_report(run.records, run.folder)
    text = (run.folder / "report.md").read_text()
    assert "widths are 1.250 times those before" in text
    older.path.unlink()


@pytest.mark.parametrize("name", ["RandomForest", "HistGradientBoosting"])
def test_learners_of_scikit_learn_are_measured(name, monkeypatch):
    small = {"RandomForest": {"n_estimators": 3}, "HistGradientBoosting": {"max_iter": 3}}
    monkeypatch.setattr(
        "experiments.coverage_learners.experiment.learner",
        lambda name, truth: learner(name, truth).set_params(**small[name]),
    )
    found = CoverageLearners(n_draws=2).measure(Unit("number, steps, n=200", 0), name, {})
    assert 0 <= found["calibrated coverage"] <= 1
