"""Rare classes and class weights on a small scale."""

import warnings

import numpy as np
import pytest
from experiments.rare_classes import experiment as rare
from experiments.rare_classes.experiment import WEIGHTED, RareClasses, truth
from experiments.rare_classes.report import write_report
from experiments.runner.records import Unit
from experiments.runner.run import Runner

from nearbayes import DrawWarning


@pytest.mark.parametrize(
    ("intercept", "share"),
    [
        *zip(rare.INTERCEPTS.values(), (0.005, 0.02, 0.04), strict=True),
        (rare.WEIGHTED_INTERCEPT, 0.15),
    ],
)
def test_the_positive_class_is_as_rare_as_it_says(intercept, share):
    rng = np.random.default_rng(0)
    known = truth(intercept)
    x = known.inputs(400_000, rng)
    assert known.outcomes(x, rng).mean() == pytest.approx(share, rel=0.05)


def test_learners_with_weights_see_only_the_data_for_them():
    experiment = RareClasses()
    cells = {unit: experiment.methods(unit) for unit in experiment.units}
    assert len(cells) == 4 * 6
    for unit, names in cells.items():
        assert len(names) == (6 if unit.data_set == WEIGHTED else 4)


def test_every_learner_with_weights_has_some():
    for name, make in rare.WEIGHTED_LEARNERS.items():
        given = make().get_params()
        assert given.get("class_weight") == "balanced" or given["scale_pos_weight"] == 7, name


def test_warnings_of_the_library_are_told_from_others():
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        warnings.warn("too few positives", DrawWarning, stacklevel=1)
        warnings.warn("too few positives", DrawWarning, stacklevel=1)
        warnings.warn("names", UserWarning, stacklevel=1)
    assert rare._said(raised) == {
        "warnings": ["too few positives"],
        "other warnings": ["UserWarning: names"],
    }


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(rare, "SIZES", dict.fromkeys(rare.SIZES, 300))
    monkeypatch.setattr(rare, "N_POINTS", 50)


@pytest.mark.usefixtures("small")
def test_from_data_to_report(tmp_path):
    names = ("LightGBM", "LogisticRegression", "LogisticRegression, balanced")
    runner = Runner(RareClasses(("4 % positive", WEIGHTED), names, 1, 2), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    records = runner.records
    assert set(records.of(Unit("4 % positive", 0))) == {"LightGBM", "LogisticRegression"}
    weighted = records.of(Unit(WEIGHTED, 0))["LogisticRegression, balanced"]
    assert 0 <= weighted["contains base"] <= 1
    assert weighted["base mean p"] > 2 * weighted["true mean p"]
    write_report(records, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| data | learner | positives | coverage |" in text
    assert "## Class weights" in text
    assert "## Provenance" in text


@pytest.mark.usefixtures("small")
def test_weighted_trees_are_measured():
    unit = Unit(WEIGHTED, 0)
    found = RareClasses(n_draws=2).measure(unit, "XGBoost, scale_pos_weight", {})
    assert 0 < found["base mean p"] < 1
