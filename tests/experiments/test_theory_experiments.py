"""The experiments of the theory on a small scale: known answers, records and tables."""

import numpy as np
import pytest
from experiments.joint_bands import experiment as joint_bands
from experiments.joint_bands.__main__ import write_report as report_bands
from experiments.multitask import experiment as multitask
from experiments.multitask.kernel import STEPS, Learner
from experiments.multitask.report import write_report as report_multitask
from experiments.runner.run import Runner
from experiments.theory_families import experiment as families
from experiments.theory_families import report as families_report
from experiments.theory_families.conjugate import CONJUGATES
from experiments.theory_families.rare_group import RareGroup, simulated
from experiments.theory_inverse import experiment as inverse
from experiments.theory_inverse import report as inverse_report

import nearbayes as nb


@pytest.mark.parametrize("name", CONJUGATES)
def test_radius_is_the_mean_posterior_variance(name):
    model, rng, n = CONJUGATES[name], np.random.default_rng(0), 12
    z = model.simulated(n, 4_000, rng)
    exact = model.posterior(n + model.alpha, z.sum(axis=0) + model.theta_pi)
    variance = exact.var() * np.ones(z.shape[1])
    error = variance.std() / np.sqrt(len(variance))
    assert variance.mean() == pytest.approx(model.radius(n), abs=5 * error + 1e-9)
    draws = exact.ppf((np.arange(50)[:, None] + 0.5) / 50)
    np.testing.assert_allclose(model.distances(z, draws), 0, atol=1e-12)
    np.testing.assert_allclose(model.distances(z, draws + 0.3), 0.09, atol=1e-9)


def test_a_known_slope_is_found():
    n, rng = np.array([10.0, 20, 40, 80]), np.random.default_rng(0)
    by_split = n**-0.8 * np.exp(0.05 * rng.normal(size=(8, 4)))
    slope, error = families_report.slope_with_error(n, by_split)
    assert abs(slope + 0.8) < 4 * error
    assert 0 < error < 0.05


def test_the_rare_group_is_estimated_with_a_ridge():
    z = np.array([[0, 1.0], [0, 2.0], [1, 9.0]])
    algorithm = RareGroup(0.5, 0.1)
    (model,) = nb.martingale_posterior(
        algorithm, z, n_draws=1, schedule=nb.Schedule.arithmetic(1, 1), random_state=0
    ).models
    assert model[0] >= 2
    exact = algorithm.exact(z)
    assert algorithm.means(np.array([[2, 3.0]]))[0] == pytest.approx(exact.mean()) == 3 / 2.1
    assert simulated(2_000, 0.1, 1.0, np.random.default_rng(0))[:, 0].mean() > 0.85


def test_families_from_seeds_to_report(tmp_path, monkeypatch):
    for name, value in (("REFITS", 4), ("AT_ONCE", 2)):
        monkeypatch.setattr(families, name, value)
    monkeypatch.setattr(families_report, "DIMENSIONS", {100: (12,), 1_000: (35,)})
    high = [name for name in families.HIGH if "d=100, n=12" in name or "d=1000, n=35" in name]
    few = (*families.GROWING, *high, families.NULL_SPACE, *families.RARE_GROUPS)
    runner = Runner(families.Families(few, n_splits=2, n_draws=60), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    families_report.write_report(runner.records, tmp_path)
    frame = runner.records.frame()
    beside = frame[frame["data_set"] == families.NULL_SPACE].set_index("method")
    assert beside["variance"]["bootstrap"].max() < 1e-20
    assert "Rare group" in (tmp_path / "report.md").read_text()


def test_the_inverse_problem_from_seeds_to_report(tmp_path, monkeypatch):
    few = [inverse.Setting(a, b, d) for a in inverse.ALPHAS for b in inverse.BETAS for d in (4, 16)]
    few += [inverse.Setting(1.0, b, d, embedded=True) for b in inverse.BETAS for d in (4, 16)]
    small = {str(each): each for each in few}
    monkeypatch.setattr(inverse, "SETTINGS", small)
    monkeypatch.setattr(inverse, "SEEN", 4)
    monkeypatch.setattr(inverse_report, "MIDDLE", 1)
    for module in (inverse, inverse_report):
        monkeypatch.setattr(module, "N_ROWS", (10, 40))
    monkeypatch.setattr(inverse_report, "DIMENSIONS", (4, 16))
    runner = Runner(inverse.Inverse(tuple(small), n_splits=1, n_draws=50), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    inverse_report.write_report(runner.records, tmp_path)
    found = inverse_report.ratios(runner.records.frame(), 2.0, 2.0, "formula")
    assert (found < 2 / np.array([10, 40])).all()
    assert found.max(axis=0) == pytest.approx(found.min(axis=0), rel=0.01)
    assert inverse_report.radii(0.5, 0.75)[0, -1] < 0.8 * inverse_report.radii(0.5, 0.75)[1, -1]


def test_multitask_from_seeds_to_report(tmp_path, monkeypatch):
    design = multitask.Design(
        (3, 6), (8, 12), (4, 6), (6, 12, 6), Learner(8, 2, 32, (1e-3,), (STEPS,)), 2
    )
    monkeypatch.setattr(multitask.Multitask, "design", design)
    experiment = multitask.Multitask(tuple(design.settings), n_splits=2, n_draws=10)
    runner = Runner(experiment, tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    report_multitask(runner.records, tmp_path, design)
    assert "n_pret varied" in (tmp_path / "report.md").read_text()


def test_joint_bands_from_seeds_to_report(tmp_path, monkeypatch):
    monkeypatch.setattr(joint_bands, "REPLICATIONS", 2)
    runner = Runner(joint_bands.JointBands(n_splits=1, n_draws=20), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    report_bands(runner.records, tmp_path)
    frame = runner.records.frame()
    for _, row in frame.iterrows():
        assert all(
            whole or not inside for whole, inside in zip(row["band"], row["interval"], strict=True)
        )
    assert "Gaussian process" in (tmp_path / "report.md").read_text()
