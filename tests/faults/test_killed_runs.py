"""A run that is killed goes on from its checkpoint to the same draws, bit for bit."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.execution.checkpoint import CheckpointError, CheckpointWarning

Z = np.random.default_rng(0).normal(size=40)
MODULE = """
import numpy as np
import nearbayes as nb

Z = np.random.default_rng(0).normal(size=40)
fits = []


def fit(z):
    fits.append(1)
    return float(np.mean(z))


def sample(mean, size, rng):
    return rng.normal(mean, 1.0, size)


def run(checkpoint, **options):
    return nb.martingale_posterior(
        nb.algorithm(fit, sample), Z, n_draws=20, schedule=nb.Schedule.optimal(3), random_state=7,
        checkpoint=checkpoint, progress=False, **options
    )
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("program", None)
    import program

    yield program
    sys.modules.pop("program", None)


# Stops when a finished chunk arrives, as the fit itself must stay the same to go on.
STOPPER = """
import os, signal, sys
from nearbayes.execution.checkpoint import Checkpoint
import program
save, left = Checkpoint.save, int(sys.argv[2])
def counted(self, item, done):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    save(self, item, done)
Checkpoint.save = counted
program.run(sys.argv[1], n_jobs=int(sys.argv[3]))
"""


def test_a_killed_process_loses_nothing_that_is_finished(tmp_path, program):
    whole = program.run(None)
    place, script = tmp_path / "run", tmp_path / "stopper.py"
    script.write_text(STOPPER)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    for n_jobs, more in ((1, 3), (2, 5)):
        command = [sys.executable, str(script), str(place), str(more), str(n_jobs)]
        assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    files = sorted(each.name for each in place.iterdir() if each.name.startswith("chunk"))
    assert len(files) >= 3 + 1 + 5 + 1  # those that arrived last had been written by their workers
    times = {name: (place / name).stat().st_mtime_ns for name in files}
    program.fits.clear()
    again = program.run(place)
    assert list(again.models) == list(whole.models)
    assert len(program.fits) == (20 - len(files)) * 3  # refits of the draws that are left
    assert {name: (place / name).stat().st_mtime_ns for name in files} == times


def test_the_seed_of_a_checkpoint_is_taken_where_none_is_given(tmp_path, program):
    options = {"n_draws": 3, "schedule": nb.Schedule.optimal(2), "progress": False}
    algorithm = nb.algorithm(program.fit, program.sample)
    first, again = (
        nb.martingale_posterior(algorithm, Z, checkpoint=tmp_path / "run", **options)
        for _ in range(2)
    )
    assert list(first.models) == list(again.models)


def test_other_settings_are_refused_and_more_draws_go_on(tmp_path, program):
    place, algorithm = tmp_path / "run", nb.algorithm(program.fit, program.sample)
    common = {"checkpoint": place, "progress": False}
    usual = {"n_draws": 3, "schedule": nb.Schedule.optimal(2), "random_state": 0}
    nb.martingale_posterior(algorithm, Z, **common, **usual)
    for changed, said in [
        ({"random_state": 1}, "seed was 0, is 1"),
        ({"schedule": nb.Schedule.optimal(3)}, "schedule"),
        ({"inputs": "kde"}, "inputs|without inputs"),
    ]:
        with pytest.raises(ValueError, match=said):
            nb.martingale_posterior(algorithm, Z, **common, **{**usual, **changed})
    with pytest.raises(CheckpointError, match="another data"):
        nb.martingale_posterior(algorithm, Z + 1, **common, **usual)
    other = nb.algorithm(lambda z: float(np.median(z)), program.sample)
    with pytest.raises(CheckpointError, match="another algorithm"):
        nb.martingale_posterior(other, Z, **common, **usual)
    program.fits.clear()
    more = nb.martingale_posterior(algorithm, Z, **common, **{**usual, "n_draws": 5})
    assert len(more) == 5
    assert len(program.fits) == 2 * 2


def test_a_damaged_chunk_is_made_again_to_the_same_bits(tmp_path, program):
    place = tmp_path / "run"
    whole = program.run(place)
    for path in sorted(place.glob("chunk-*"))[:2]:
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.warns(CheckpointWarning, match="cannot be read and is computed again"):
        again = program.run(place)
    assert list(again.models) == list(whole.models)


def test_estimators_go_on_with_draws_and_simulated_sets(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    options = {"n_draws": 6, "n_refits": 2, "random_state": 0, "calibration": "simulation"}
    model = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=2), **options, progress=False)
    plain = model.fit(X, y).predict_interval(X)
    model.set_params(checkpoint=tmp_path / "run").fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(X), plain)
    files = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*-*") if path.is_file()
    }
    assert {path.name.split("-")[0] for path in files} == {"chunk", "set"}
    sets = [path for path in files if path.name.startswith("set")]
    sets[0].unlink()
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(X), plain)
    changed = {path for path, time in files.items() if path.stat().st_mtime_ns != time}
    assert changed == {sets[0]}
    model.set_params(n_draws=8).fit(X, y)  # other draws, other simulated sets, no refusal
    assert len(model.posterior_) == 8
    with pytest.raises(CheckpointError, match="another data"):
        model.fit(X + 1, y)


def test_causal_models_take_an_executor_and_a_checkpoint(tmp_path):
    x = np.random.default_rng(0).normal(size=60)
    data = {"x": x, "y": 2 * x + Z.repeat(2)[:60]}
    options = {"models": "linear", "n_draws": 4, "random_state": 0, "progress": False}
    rows = [
        nb.causal.SCM([("x", "y")], **options, **where).fit(data).effect("y", {"x": 1}, {"x": 0})
        for where in ({}, {"executor": "threads", "checkpoint": tmp_path / "run"})
    ]
    np.testing.assert_array_equal(rows[0].values, rows[1].values)
    assert len(list((tmp_path / "run").glob("chunk-*"))) == 4
