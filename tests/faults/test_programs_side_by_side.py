"""Compiled programs in many threads of one process: none waits for another for ever."""

import os
import subprocess
import sys

import pytest

# More threads than cores, and matrices large enough for XLA to share them out among its own.
SCRIPT = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
import nearbayes as nb
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
data = X, X[:, 0] + 0.3 * rng.normal(size=150)
algorithm = {algorithm}
schedule = nb.Schedule.arithmetic(horizon=1.0, block=0.5)

def draws(seed):
    run = dict(n_draws=8, schedule=schedule, random_state=seed, progress=False)
    posterior = nb.martingale_posterior(algorithm, data, inputs="kde", **run)
    return posterior.predict(X)

expected = [draws(seed) for seed in range(4)]
with ThreadPoolExecutor(4) as pool:
    for _ in range(2):
        for found, alone in zip(pool.map(draws, range(4)), expected):
            assert np.array_equal(found, alone)
print("done")
"""


@pytest.mark.parametrize(
    "algorithm",
    ["EmpiricalBayesAlgorithm(nb.gp.EmpiricalBayesGP())", "nb.gp.RandomFeatureGP(n_features=200)"],
    ids=["empirical_bayes", "sequential_map"],
)
def test_threads_end_and_find_what_one_finds(algorithm):
    script = SCRIPT.format(algorithm=algorithm)
    as_users_have_it = {**os.environ, "XLA_FLAGS": ""}
    # in a process of its own, as one that hangs cannot be ended otherwise
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=as_users_have_it,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr
