"""Diffusion models: programs are compiled once per shape, whatever draws, jobs and refits are."""

import jax
import numpy as np
import pytest

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=61)
DATA = {"x": X, "y": X**2 + RNG.normal(size=61), "z": X - RNG.normal(size=61)}
COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture(scope="module")
def compiles():
    counted = []
    jax.config.update("jax_enable_compilation_cache", False)  # what is fetched is not counted
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: counted.append(event) if event == COMPILED else None
    )
    yield counted
    jax.config.update("jax_enable_compilation_cache", True)


def run(n_draws, n_jobs, n_refits, data=DATA):
    model = nb.causal.DiffusionSCM(
        [("x", "y"), ("x", "z"), ("y", "z")],
        width=9,  # a shape that no other test has
        n_iterations=5,
        schedule=nb.Schedule.arithmetic(horizon=n_refits / 4, block=0.25),
        n_draws=n_draws,
        n_jobs=n_jobs,
        random_state=0,
        progress=False,
    )
    model.fit(data).effect("z", {"x": 1.0}, {"x": 0.0}, n=64)


def test_one_compilation_serves_any_number_of_draws_jobs_and_refits(compiles):
    run(2, 1, 2)
    assert len(compiles) > 0
    compiles.clear()
    run(1, 1, 3)
    run(17, 2, 2)
    run(2, 1, 2, {name: values[:58] for name, values in DATA.items()})  # padded to one shape
    assert len(compiles) == 0
