"""The experiments with causal graphs, with few iterations and few queries."""

import pytest
from experiments.causal_effects import __main__ as effects_report
from experiments.causal_effects.experiment import CausalEffects, contrasts_of, true_effect
from experiments.causal_synthetic import experiment as synthetic
from experiments.causal_synthetic import regimes
from experiments.causal_synthetic.report import write_report
from experiments.causal_synthetic.scms import SCMS
from experiments.runner.run import Runner


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(synthetic, "ITERATIONS", {100: 10})
    monkeypatch.setattr(synthetic, "N_VALUES", 2)
    monkeypatch.setattr(synthetic, "N_ROWS", 64)


def test_units_have_fewer_trials_of_many_rows():
    units = synthetic.CausalSynthetic(n_splits=3).units
    assert len(units) == 8 * 3 + 8 * 2 + 2 * 2
    assert len({tuple(synthetic.seed_of(unit)) for unit in units}) == len(units)


def test_methods_are_measured_and_shown(small, tmp_path):
    chosen = ("ensemble", "bootstrap", "martingale")
    runner = Runner(synthetic.CausalSynthetic(("chain-nonlin, n=100",), chosen, 2, 8), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    frame = runner.records.frame()
    assert len(frame) == 6
    assert (frame["mmd"] > frame["floor"]).all()
    for units in ("standard", "raw"):
        assert frame[f"{units}: coverage"].between(0, 1).all()
        assert (frame[f"{units}: inflated width"] >= frame[f"{units}: width"]).all()
    write_report(runner.records, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "mean log ratio of MMD, martingale to ensemble" in text
    assert "coverage of martingale, inflated" in text


def test_contrasts_are_of_all_causes_of_the_last_node():
    assert [each.cause for each in contrasts_of(SCMS["y-na"])] == ["x1", "x2", "x3"]
    linear = SCMS["chain-nonlin"]
    effect = true_effect(linear, contrasts_of(linear)[1])
    low, high = contrasts_of(linear)[1][1:3]
    known = (((high - 5) ** 3 - (low - 5) ** 3) / 15) / 2.13
    assert effect == pytest.approx(known, abs=1e-6)


def test_effects_are_measured_and_shown(tmp_path, monkeypatch):
    runner = Runner(CausalEffects(("chain-nonlin",), ("linear, martingale",), 2), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    for each in runner.records.frame()["width"]:
        assert len(each) == 2
        assert min(each) > 0
    effects_report.write_report(runner.records, tmp_path)
    assert "linear, martingale" in (tmp_path / "report.md").read_text()


def test_regimes_are_measured_by_number_of_draws(small, tmp_path, monkeypatch):
    few = {"many draws": {"n_iterations": 10, "n_draws": 16, "width": 8}}
    monkeypatch.setattr(regimes, "REGIMES", few)
    chosen = ("chain-na, many draws",)
    runner = Runner(regimes.CausalRegimes(chosen, ("ensemble", "bootstrap"), 2), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    frame = runner.records.frame()
    assert frame[["mmd of 8", "mmd of 16"]].notna().all(axis=None)
    assert "mmd of 32" not in frame
    regimes.write_report(runner.records, tmp_path)
    assert "| many draws | 16 |" in (tmp_path / "report.md").read_text()
