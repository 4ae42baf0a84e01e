"""Faults: NaN, exceptions, Ctrl-C. Nothing fails silently, nothing else is lost.

Dead workers: tests/contracts/test_chunks.py.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from nearbayes.core.engine import DrawWarning

Z = np.random.default_rng(0).normal(size=30)
X = np.random.default_rng(1).normal(size=(30, 2))
SETTINGS = {"n_draws": 12, "schedule": nb.Schedule.optimal(2), "random_state": 4, "progress": False}


class SometimesBad(RegressorMixin, BaseEstimator):
    """Linear regression that goes wrong, in its own way, in refits with some seeds."""

    def __init__(self, way="raise", random_state=None):
        self.way = way
        self.random_state = random_state

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y)
        imputed = len(y) > 30
        self.bad_ = imputed and self.random_state % 13 == 0
        if self.bad_ and self.way == "raise":
            raise ArithmeticError("the matrix is a cat")
        return self

    def predict(self, X):
        return np.full(len(X), np.nan) if self.bad_ else self.model_.predict(X)


@pytest.mark.parametrize(
    ("way", "message"),
    [("raise", "the matrix is a cat"), ("nan", "SometimesBad predicted NaN or infinity")],
)
def test_an_estimator_that_fails_in_some_draws_is_reported(way, message):
    model = nb.PosteriorRegressor(SometimesBad(way), n_draws=40, n_refits=3, random_state=2)
    with pytest.warns(DrawWarning, match=message):
        model.fit(X, Z)
    posterior = model.posterior_
    assert 0 < len(posterior.failed) < 20
    assert len(posterior) + len(posterior.failed) == 40
    assert message in posterior.failed[0].error
    assert "Traceback" in posterior.failed[0].traceback
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises((ArithmeticError, ValueError), match=message) as caught:
        nb.PosteriorRegressor(
            SometimesBad(way), n_draws=40, n_refits=3, random_state=2, on_error="raise"
        ).fit(X, Z)
    assert any("raised in draw" in note for note in caught.value.__notes__)


def test_nan_on_real_rows_is_the_users_to_see():
    class AlwaysNaN(SometimesBad):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="AlwaysNaN predicted NaN or infinity"):
        nb.PosteriorRegressor(AlwaysNaN(), n_draws=2, random_state=0).fit(X, Z)


def test_nan_in_the_last_fit_alone_is_found():
    """The last model is never sampled from by the path, so it is tried before it counts."""
    calls = {"fits": 0}

    def fit(x, y):
        calls["fits"] += 1
        return np.nan if len(y) > 40 and calls["fits"] % 2 else 0.0

    algorithm = nb.algorithm(fit, lambda model, x, rng: rng.normal(model, 1.0, len(x)))
    one_refit = {**SETTINGS, "schedule": nb.Schedule.arithmetic(1.0, 1.0)}
    with pytest.warns(DrawWarning, match="NaN or infinity"):
        posterior = nb.martingale_posterior(algorithm, (X, Z), **one_refit)
    assert len(posterior.failed) == 6


def test_all_draws_failing_is_an_error_with_the_first_message():
    def fit(x, y):
        if len(y) > 30:
            raise ArithmeticError("too many rows")
        return 0.0

    algorithm = nb.algorithm(fit, lambda model, x, rng: np.zeros(len(x)))
    with pytest.raises(
        RuntimeError, match="all 12 draws failed; the first said: ArithmeticError: too many rows"
    ):
        nb.martingale_posterior(algorithm, (X, Z), **SETTINGS)


def test_a_first_fit_that_fails_is_raised_as_it_is():
    def fit(x, y):
        raise LookupError("no such table")

    with pytest.raises(LookupError, match="no such table"):
        nb.martingale_posterior(nb.algorithm(fit, lambda m, x, rng: x), (X, Z), **SETTINGS)


@pytest.mark.parametrize("returned", ["too few", "frame"])
def test_a_sample_of_the_wrong_size_is_named(returned):
    def sample(model, x, rng):
        return np.zeros(3) if returned == "too few" else np.zeros((2, len(x)))

    with pytest.raises(RuntimeError, match=r"sample must return \d+ values, got shape"):
        nb.martingale_posterior(nb.algorithm(lambda x, y: 0.0, sample), (X, Z), **SETTINGS)


SCRIPT = textwrap.dedent("""
    import signal, sys, time, warnings
    import numpy as np
    import nearbayes as nb
    warnings.simplefilter("always")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if the tests are deaf to it

    class SlowFit:
        def __call__(self, z):
            time.sleep(0.05)
            return float(np.mean(z))

    def around(model, size, rng):
        return rng.normal(model, 1.0, size)

    if __name__ == "__main__":
        n_jobs = int(sys.argv[1])
        z = np.random.default_rng(0).normal(size=20)
        run = dict(schedule=nb.Schedule.optimal(3), random_state=0, n_jobs=n_jobs, progress=False)
        nb.martingale_posterior(nb.algorithm(SlowFit(), around), z, n_draws=2, **run)
        print("started", flush=True)
        posterior = nb.martingale_posterior(nb.algorithm(SlowFit(), around), z, n_draws=400, **run)
        full = nb.martingale_posterior(
            nb.algorithm(np.mean, around), z, n_draws=400, **{**run, "n_jobs": 1})
        same = set(posterior.models) <= set(full.models)
        print("kept", len(posterior), posterior.provenance.interrupted, same, flush=True)
""")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("whole_group", [False, True], ids=["one_process", "terminal"])
def test_ctrl_c_keeps_finished_draws(tmp_path, n_jobs, whole_group):
    script = tmp_path / "interrupted.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(n_jobs)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout.readline().strip() == "started"
    time.sleep(2.0)
    if whole_group:  # what a terminal does: every process of the group hears Ctrl-C
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    word, kept, interrupted, same = out.split()
    assert (word, interrupted, same) == ("kept", "True", "True"), err
    assert 0 < int(kept) < 400
    assert "draws are finished and kept" in err
