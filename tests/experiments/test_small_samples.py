"""Small samples on a small scale: exact posterior, records and tables."""

import numpy as np
import pytest
from experiments.runner.run import Runner
from experiments.small_samples import experiment as small
from experiments.small_samples.__main__ import write_report
from experiments.small_samples.experiment import SmallSamples, exact_sds, leverages
from scipy import stats


def test_exact_sds_are_those_of_a_student_t():
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    y = x + rng.normal(size=12)
    line = stats.linregress(x, y)
    exact = [stats.t(10, scale=scale).std() for scale in (line.stderr, line.intercept_stderr)]
    assert exact_sds(x[:, None], y) == pytest.approx(exact)


@pytest.mark.parametrize("n", small.COEFFICIENTS.values())
def test_one_row_has_high_leverage(n):
    found = leverages(small.inputs(n, np.random.default_rng(0)))
    assert found.argmax() == 0
    assert found[0] > 0.5
    assert found.sum() == pytest.approx(small.N_COLUMNS + 1)


def test_twenty_splits_are_four_hundred_replications():
    assert SmallSamples.n_splits * small.REPLICATIONS == 400


def test_from_data_to_report(tmp_path, monkeypatch):
    monkeypatch.setattr(small, "REPLICATIONS", 1)
    runner = Runner(SmallSamples(n_splits=1, n_draws=20), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    frame = runner.records.frame().set_index("data_set")
    assert all(0.4 < ratio < 2 for ratio in frame["ratios"].dropna().explode())
    assert frame["coverage"].dropna().between(0, 1).all()
    write_report(runner.records, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| intercept |" in text
    assert "| 5 columns |" in text
    assert "## Provenance" in text


def test_a_part_can_be_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(small, "REPLICATIONS", 1)
    runner = Runner(SmallSamples(("coverage, 1 column",), n_splits=1, n_draws=5), tmp_path)
    assert runner.run() == 0
    write_report(runner.records, tmp_path)
    assert "### coefficients" not in (tmp_path / "report.md").read_text()
