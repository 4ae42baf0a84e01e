"""Programs are compiled once per shape of the data, whatever `n_draws` and `n_jobs` are."""

import jax
import numpy as np
import pytest

import nearbayes as nb
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm

X = np.random.default_rng(0).normal(size=(37, 2))  # a shape that no other test has
Y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=37)
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


ALGORITHMS = {
    "empirical_bayes": lambda: EmpiricalBayesAlgorithm(nb.gp.EmpiricalBayesGP(n_restarts=1)),
    "random_features": lambda: nb.gp.RandomFeatureGP(noise=0.3),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("inputs", ["urn", "kde"])
def test_one_compilation_serves_any_number_of_draws_and_jobs(compiles, name, inputs):
    def run(n_draws, n_jobs, method=nb.martingale_posterior, **options):
        settings = {"n_draws": n_draws, "n_jobs": n_jobs, "random_state": 0, "progress": False}
        return method(ALGORITHMS[name](), (X, Y), **settings, **options)

    options = {"schedule": nb.Schedule.optimal(3), "inputs": inputs}
    run(2, 1, **options).predict(X[:5])
    assert len(compiles) > 0 or inputs == "kde"  # shapes that the urn has had
    compiles.clear()
    for n_draws, n_jobs in [(1, 1), (3, 2), (7, 1), (12, 5)]:
        run(n_draws, n_jobs, **options).predict(X[:7])
    assert len(compiles) == 0
