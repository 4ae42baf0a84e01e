"""The coverage experiment on a small scale: truths, records and tables."""

import numpy as np
import pytest
from experiments.coverage.__main__ import write_report
from experiments.coverage.experiment import NAMES, Coverage
from experiments.coverage.truths import ALL_TRUTHS, TRUTHS
from experiments.runner.run import Runner


@pytest.mark.parametrize("name", ALL_TRUTHS)
def test_outcomes_are_around_the_function(name):
    truth, rng = ALL_TRUTHS[name], np.random.default_rng(0)
    x = truth.inputs(20_000, rng)
    y, f = truth.outcomes(x, rng), truth.function(x)
    mean = 1 / (1 + np.exp(-f)) if truth.is_class else f
    assert abs((y - mean).mean()) < 5 * (y - mean).std() / np.sqrt(20_000)


def test_there_are_enough_truths():
    assert len(TRUTHS) >= 8
    assert len(NAMES) == 3 * len(TRUTHS)


def test_from_truth_to_table(tmp_path):
    names = ("class, smooth, n=200", "number, steps, n=200")
    experiment = Coverage(names, ("martingale", "bootstrap"), n_splits=1, n_draws=4)
    runner = Runner(experiment, tmp_path)
    assert runner.run() == 0
    frame = runner.records.frame()
    assert len(frame) == 4
    assert frame["calibrated coverage"].between(0, 1).all()
    assert (frame["cost"] > 1).all()
    write_report(runner.records, tmp_path)
    assert "martingale, calibrated" in (tmp_path / "report.md").read_text()
