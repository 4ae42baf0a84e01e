"""Brain activity under stimulation, on series made here."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from experiments.causal_fmri import baselines, diffusion, flow
from experiments.causal_fmri.baselines import LEVELS, METHODS
from experiments.causal_fmri.data import FILE, load_runs
from experiments.causal_fmri.experiment import CausalFMRI, scored
from experiments.causal_fmri.report import differences, write_report
from experiments.runner.records import Unit
from experiments.runner.run import Runner
from scipy import stats

import nearbayes as nb
from nearbayes.metrics import crps_gaussian

SEEDED = ("flow", *diffusion.DIFFUSION)
SUBJECTS = ("292", "294", "302")


def series(subject, run, role, n, rng):
    x = rng.normal(3, 2, n)
    y = 10 + 4 * x + rng.normal(0, 6, n)
    t = np.arange(n)
    table = {"subject": subject, "run": run, "t": t, "role": role, "heschl": x}
    return pd.DataFrame({**table, "cingulate_ant": y})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs out of order, one that is neither at rest nor under stimulation."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    runs = [
        series(int(subject), run, role, n, rng)
        for subject in SUBJECTS
        for run, role, n in ((3, "stim", 90), (1, "rest", 150), (2, "other", 50))
    ]
    (folder / FILE).parent.mkdir()
    pd.concat(runs).iloc[::-1].to_parquet(folder / FILE)
    return folder


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(baselines, "GP_RESTARTS", 0)
    monkeypatch.setattr(flow, "N_EPOCHS", 3)
    monkeypatch.setattr(diffusion, "N_DRAWS", 2)
    small = partial(nb.causal.DiffusionSCM, width=8, n_iterations=20)
    monkeypatch.setattr(diffusion.nb.causal, "DiffusionSCM", small)


def test_runs_lose_their_first_point_and_are_standardised(folder):
    runs = load_runs(292, folder)
    assert [len(values) for values in runs] == [149, 149, 89, 89]
    for values in runs:
        assert (values.mean(), values.std()) == pytest.approx((0, 1))
    frame = pd.read_parquet(folder / FILE).query("subject == 292 and role == 'rest' and t > 0")
    raw = frame.sort_values("t")["heschl"]
    assert np.corrcoef(raw, runs.x_train)[0, 1] == pytest.approx(1)


def test_a_subject_that_is_not_there_is_refused(folder):
    with pytest.raises(ValueError, match="subject 999 must have one run"):
        load_runs(999, folder)


def test_quantiles_score_as_the_distribution_does():
    y = np.array([-1.0, 0.2, 2.0])
    values = stats.norm.ppf(LEVELS, 0.3, 1.2)[:, None] + np.zeros(3)
    scores = scored(y, values)
    assert scores["crps"] == pytest.approx(crps_gaussian(y, 0.3, 1.2), abs=1e-4)
    assert scores["median_abs_error"] == pytest.approx(1.3)


def test_a_point_has_its_absolute_error_as_crps():
    scores = scored(np.array([1.0, 2.0, 6.0]), np.zeros((1, 3)))
    assert (scores["median_abs_error"], scores["crps"]) == (2.0, 3.0)


def test_linear_finds_line_and_noise(folder):
    """Correlation 8 / 10 in standard units: slope .8 and noise .6."""
    runs = load_runs(292, folder)
    values = METHODS["linear + residual"](*runs[:2], np.array([-1.0, 1.0]), 0)
    low, high = np.median(values, axis=0)
    error = 4 * 0.6 / np.sqrt(149)
    assert (high - low) / 2 == pytest.approx(0.8, abs=error)
    assert values.std(axis=0) == pytest.approx(0.6, abs=error / np.sqrt(2))


def test_the_gaussian_process_is_nearly_constant_with_the_published_noise(folder, quick):
    runs = load_runs(292, folder)
    values = METHODS["anm"](*runs[:3], 0)
    assert np.median(values, axis=0).std() < 0.1  # a line has .8


@pytest.mark.parametrize("name", METHODS)
def test_methods_give_values_first_and_depend_on_the_seed_as_they_say(name, folder, quick):
    runs = load_runs(294, folder)
    one, again, other = (METHODS[name](*runs[:3], seed) for seed in (0, 0, 1))
    assert one.shape[1:] == runs.y_test.shape
    assert np.isfinite(one).all()
    assert (one == again).all()
    assert np.allclose(one, other, atol=1e-3) == (name not in SEEDED)


def test_the_flow_has_the_density_it_says():
    """Log density by change of variables, with the derivative found numerically."""
    layers = flow.first_layers(0)._replace(log_scale=jnp.linspace(-0.2, 0.3, 5))
    x, y, step = 0.4, -0.3, 1e-2

    def noise(x, y):
        return np.array(flow.encode(layers, jnp.array([x]), jnp.array([y]))).ravel()

    jacobian = np.column_stack(
        [noise(x + step, y) - noise(x - step, y), noise(x, y + step) - noise(x, y - step)]
    )
    log_volume = np.log(abs(np.linalg.det(jacobian / (2 * step))))
    expected = np.abs(noise(x, y)).sum() - log_volume
    found = flow.loss(layers, jnp.array([x]), jnp.array([y]), jnp.ones(1))
    assert float(found) == pytest.approx(expected, abs=1e-3)  # single precision over the step


def test_the_flow_learns_a_curve(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 1_000)
    y = 3 * np.abs(x) + 0.1 * rng.laplace(size=1_000)
    monkeypatch.setattr(flow, "RATE", 1e-2)
    layers = flow.fitted_flow(x, y, 0)
    points = np.linspace(-1.5, 1.5, 7)
    error = flow.predicted_median(layers, points) - 3 * np.abs(points)
    assert np.abs(error).max() < 0.5


def test_rows_that_fill_a_batch_do_not_count():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    x_rows, y_rows, weights = flow._batches(x, y, rng)
    assert x_rows.shape == (2, 64)
    assert float(weights.sum()) == 100
    layers = flow.first_layers(0)
    by_batch = sum(flow.loss(layers, *batch) for batch in zip(x_rows, y_rows, weights, strict=True))
    assert float(by_batch) == pytest.approx(float(flow.loss(layers, x, y, jnp.ones(100))), rel=1e-4)


def test_differences_are_paired():
    scores = pd.DataFrame({"linear + residual": [1.0, 5.0, 9.0], "flow": [0.9, 4.8, 8.7]})
    table = differences(scores)
    assert table.loc["flow", "difference"] == "-0.2000 ± 0.0577"
    assert table.loc["flow", "better on"] == "3 of 3"


def test_from_data_to_report(folder, tmp_path, quick):
    experiment = CausalFMRI(SUBJECTS, n_splits=2, data_dir=folder)
    assert experiment.methods(Unit("292", 1)) == ["flow"]
    runner = Runner(experiment, tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    frame = runner.records.frame()
    assert len(frame) == 3 * (len(METHODS) + 1)
    write_report(runner.records, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "hardly discriminates" in text
    assert "ignoring the cause differs from it by +" in text
    assert "| flow |" in text
    assert "## Provenance" in text


def test_a_part_can_be_reported(folder, tmp_path):
    runner = Runner(CausalFMRI(SUBJECTS, ("linear",), 1, data_dir=folder), tmp_path)
    assert runner.run() == 0
    write_report(runner.records, tmp_path)
    assert "paired differences from" not in (tmp_path / "report.md").read_text()


def test_without_data_nothing_begins(tmp_path):
    with pytest.raises(SystemExit, match=r"has no es_fmri.*give its folder with --data-dir"):
        Runner(CausalFMRI(data_dir=tmp_path), tmp_path / "results").run()
