"""Shared by all tests: one thread per process, seeds swept by a variable, small fitted models."""

import os
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# Before NumPy loads: xdist already uses every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Test processes, and those that tests start, share what any of them has compiled. JAX keys its
# cache by the program itself, so a change of code is compiled anew.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{Path(__file__).parents[1]}/.pytest_cache/jax")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Compiled tests are mostly compilation, and two thirds of that is optimisation. `make test-slow`
# runs the laws with programs as users have them. XLA ends a process for a flag that it does not
# know, so the one that may go is for the versions that have it.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0"
    + " --xla_cpu_use_fusion_emitters=false"
    * (find_spec("jaxlib") is not None and version("jaxlib").startswith("0.10.")),
)

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import nearbayes as nb

MOST_MAPS = 15_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - X[:, 1] + 0.5 * RNG.normal(size=60)


def _seeds() -> list[int]:
    """Seeds to test: NEARBAYES_TEST_SEEDS="0-9" sweeps ten, the default is 0 alone."""
    first, _, last = os.environ.get("NEARBAYES_TEST_SEEDS", "0").partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.fixture(autouse=True, scope="module")
def few_compiled_programs():
    """Drop compiled programs before a process runs out of memory maps, which ends it.

    Every program takes some 17 maps, and Linux allows 65,530 per process.
    """
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and len(maps.read_text().splitlines()) > MOST_MAPS:
        sys.modules["jax"].clear_caches()


@pytest.fixture(params=_seeds(), ids=lambda seed: f"seed{seed}")
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of data and of draws; a statistical test must hold for any."""
    return request.param


@pytest.fixture(scope="session")
def table():
    return X


@pytest.fixture(scope="session")
def outcomes():
    return Y


@pytest.fixture(scope="session")
def regressor():
    return nb.PosteriorRegressor(Ridge(), n_draws=15, random_state=0).fit(X, Y)


@pytest.fixture(scope="session")
def two_classes():
    labels = np.where(Y > 0, "yes", "no")
    return nb.PosteriorClassifier(LogisticRegression(), n_draws=15, random_state=0).fit(X, labels)


@pytest.fixture(scope="session")
def three_classes():
    labels = np.digitize(Y, [-0.7, 0.7])
    return nb.PosteriorClassifier(LogisticRegression(), n_draws=8, random_state=0).fit(X, labels)


@pytest.fixture(scope="session")
def calibrated():
    model = nb.PosteriorClassifier(
        LogisticRegression(), n_draws=4, n_refits=2, calibration="simulation", random_state=0
    )
    return model.fit(X, np.where(Y > 0, "yes", "no"))
