"""Gradient martingales: standard deviations over Laplace's, for two regressions of 200 rows.

With the default schedule and inflation, with a path of 50 steps that is cut there, and with the
hybrid finish after 50 steps. The Monte Carlo error of a standard deviation is 0.5 %.

Run: ``python -m benchmarks.gradient_accuracy``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import show

import nearbayes as nb
from nearbayes.gradients import logistic_example

N_ROWS, N_DRAWS, STEPS = 200, 20_000, 50
CUT = nb.Schedule.arithmetic(horizon=STEPS, block=STEPS // 2)
TRUTH = np.array([-0.3, 0.8, -0.5])


def poisson_density(theta: Any, x: Any, y: Any) -> Any:
    """Log probability of a count, without its constant."""
    return y * (x @ theta) - jnp.exp(x @ theta)


def poisson_sampler(theta: Any, x: Any, key: Any) -> Any:
    """A count."""
    return jnp.asarray(jax.random.poisson(key, jnp.exp(x @ theta)), dtype=float)


def main() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(N_ROWS), rng.normal(size=(N_ROWS, 2))])
    p = 1 / (1 + np.exp(-X @ TRUTH))
    logistic = (logistic_example.log_density, logistic_example.sampler)
    cases = {
        "logistic regression": (
            logistic,
            rng.binomial(1, p),
            lambda eta: np.exp(-eta) / (1 + np.exp(-eta)) ** 2,
        ),
        "Poisson regression": (
            (poisson_density, poisson_sampler),
            rng.poisson(np.exp(X @ TRUTH)),
            np.exp,
        ),
    }
    for name, (functions, y, weight) in cases.items():
        compare(name, functions, X, y, weight)


def compare(name: str, functions: Any, X: Any, y: Any, weight: Any) -> None:
    """Largest relative error of a standard deviation, three ways."""

    def drawn(schedule: Any = None, **options: Any) -> Any:
        algorithm = nb.GradientMartingale(*functions, np.zeros(3), **options)
        return nb.martingale_posterior(
            algorithm, (X, y), n_draws=N_DRAWS, schedule=schedule, random_state=0, progress=False
        )

    whole = drawn()
    information = X.T @ (X * weight(X @ np.asarray(whole.first))[:, None])
    exact = np.sqrt(np.diag(np.linalg.inv(information)))
    inflated = whole.apply(lambda theta: theta).std / exact
    show(f"{name}: sd after inflation, largest error", np.abs(inflated - 1).max(), "below 0.05")
    cut = np.std(drawn(CUT).models, axis=0) / exact
    show(f"{name}: sd of {STEPS} steps alone, smallest error", np.abs(cut - 1).min(), "above 0.1")
    finished = np.std(drawn(CUT, finish_after=STEPS).models, axis=0) / exact
    what = f"{name}: sd of {STEPS} steps with the hybrid finish, largest error"
    show(what, np.abs(finished - 1).max(), "below 0.03")


if __name__ == "__main__":
    main()
