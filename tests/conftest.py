"""Shared by all tests: one thread per process, and seeds swept by an environment variable."""

import os

# Before NumPy loads: xdist already uses every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest


def _seeds() -> list[int]:
    """Seeds to test: NEARBAYES_TEST_SEEDS="0-9" sweeps ten, the default is 0 alone."""
    first, _, last = os.environ.get("NEARBAYES_TEST_SEEDS", "0").partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.fixture(params=_seeds(), ids=lambda seed: f"seed{seed}")
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of data and of draws; a statistical test must hold for any."""
    return request.param
