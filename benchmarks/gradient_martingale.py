"""Gradient martingales: time of 10,000 draws of 1,000 steps over that of their raw material.

The raw material is what no implementation can do without: the input row (where there are inputs),
one observation from the sampler and one gradient of the log density per step and draw, in one
compiled loop. Parameters differ from step to step, as the compiler would otherwise compute what
depends on them alone before the loop.

Run: ``python -m benchmarks.gradient_martingale``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import seconds_in_turn, show

import nearbayes as nb
from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.gradients import logistic_example

N_DRAWS, N_STEPS, D, N_ROWS, CHUNK = 10_000, 1_000, 10, 200, 1_000
SCHEDULE = nb.Schedule.arithmetic(horizon=N_STEPS, block=N_STEPS // 4)


def main() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N_ROWS, D))
    normal = nb.GradientMartingale(normal_density, normal_sample, np.zeros(D))
    compare("normal mean, d = 10", normal, z, None)
    X = rng.normal(size=(N_ROWS, D))
    y = rng.binomial(1, 1 / (1 + np.exp(-X[:, 0])))
    logistic = nb.GradientMartingale(
        logistic_example.log_density,
        logistic_example.sampler,
        np.zeros(D),
        information=logistic_information,
    )
    compare("logistic regression, d = 10", logistic, y, X)


def compare(name: str, algorithm: nb.GradientMartingale, y: Any, X: Any) -> None:
    data = y if X is None else (X, y)
    tasks = {
        "library": lambda: nb.martingale_posterior(
            algorithm, data, n_draws=N_DRAWS, schedule=SCHEDULE, random_state=0
        ),
        "raw": lambda: raw_material(algorithm, X),
    }
    for task in tasks.values():  # compiles
        task()
    found = seconds_in_turn(tasks, rounds=3)
    what = f"{name}, {N_DRAWS} draws of {N_STEPS} steps, {found['library']:.2f} s: library / raw"
    show(what, found["library"] / found["raw"], "at most 3")


def raw_material(algorithm: nb.GradientMartingale, X: Any) -> Any:
    """The same number of observations and gradients, for as many draws at a time."""
    with computing_in("float64"):
        table = np.zeros((1, 0)) if X is None else X
        program = raw_program(algorithm.log_density, algorithm.sampler, X is not None)
        for chunk in range(N_DRAWS // CHUNK):
            rng = np.random.default_rng(chunk)
            keys = rng.integers(2**32, size=(CHUNK, 2), dtype=np.uint32)
            places = rng.integers(len(table), size=(CHUNK, N_STEPS))
            program(np.zeros((CHUNK, D)), table, places, keys).block_until_ready()


PROGRAMS: dict[Any, Any] = {}


def raw_program(log_density: Any, sampler: Any, inputs: bool) -> Any:
    if (log_density, sampler) in PROGRAMS:
        return PROGRAMS[log_density, sampler]

    def one(theta: Any, x: Any, key: Any, number: Any) -> Any:
        given = (x,) if inputs else ()
        y = jnp.asarray(sampler(theta, *given, jax.random.fold_in(key, number)), dtype=float)
        return jax.grad(log_density)(theta, *given, y)

    scores = jax.vmap(one, in_axes=(0, 0, 0, None))

    def program(theta: Any, table: Any, places: Any, keys: Any) -> Any:
        def step(k: Any, total: Any) -> Any:
            return total + scores(theta + 1e-3 * k, table[places[:, k]], keys, k)

        return jax.lax.fori_loop(0, N_STEPS, step, jnp.zeros_like(theta))

    PROGRAMS[log_density, sampler] = compiled(program)
    return PROGRAMS[log_density, sampler]


def normal_density(theta: Any, z: Any) -> Any:
    return -0.5 * jnp.sum((z - theta) ** 2)


def normal_sample(theta: Any, key: Any) -> Any:
    return theta + jax.random.normal(key, theta.shape)


def logistic_information(theta: Any, x: Any) -> Any:
    p = logistic_example.probability(theta, x)
    return p * (1 - p) * jnp.outer(x, x)


if __name__ == "__main__":
    main()
