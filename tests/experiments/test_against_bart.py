"""Against BART on a small scale: units, widths at equal coverage, records and report."""

import numpy as np
import pandas as pd
import pytest
from experiments.against_bart.experiment import METHODS, NAMES, AgainstBart, errors
from experiments.against_bart.report import equal_widths, ratios, write_report
from experiments.runner.run import Runner


def test_six_splits_have_every_truth_twice_at_every_size():
    names = [unit.data_set for unit in AgainstBart().units]
    assert len(NAMES) == 7
    assert {names.count(name) for name in names} == {2}
    assert len(set(names)) == 21


def test_an_error_of_one_is_at_the_end_of_the_interval():
    bounds = np.array([[0.0, 2.0], [0.0, 4.0]])
    assert max(errors(np.array([2.0, 2.0]), bounds)) == pytest.approx(1.0, abs=0.01)


def test_intervals_that_are_twice_as_wide_for_the_same_coverage_have_ratio_two():
    quantiles = np.linspace(0.01, 2, 100)
    rows = [
        {"truth": "t", "n": 200, "split": 0, "method": name, "interval width": w, "errors": q}
        for name, w, q in (("BART", 1.0, quantiles), ("default", 4.0, quantiles / 2))
    ]
    table = ratios(equal_widths(pd.DataFrame(rows)), "truth")
    assert table.loc["mean", "default"] == pytest.approx(2.0)


def test_from_truth_to_report(tmp_path, monkeypatch):
    def known(rows, n_draws, seed):
        bounds = np.stack([rows[2][:, 0] - 1, rows[2][:, 0] + 1], axis=1)
        return bounds, bounds.mean(axis=1)

    monkeypatch.setitem(METHODS, "BART", known)
    experiment = AgainstBart(
        NAMES[:1], ("BART", "HistGradientBoosting, not calibrated"), n_splits=1, n_draws=2
    )
    runner = Runner(experiment, tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    write_report(runner.records, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| number, smooth |" in text
    assert "## Provenance" in text
