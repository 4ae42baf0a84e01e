"""Newton: the maximum of a log likelihood, by damped Newton steps in one compiled program."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from nearbayes.compiled.precision import compiled
from nearbayes.gradients.densities import Density

__all__ = ["maximum_program"]

MOST_STEPS = 200
DECREMENT = 1e-12  # squared distance to the maximum, in standard errors of one observation
FLAT = 1e-9  # largest entry of a gradient that counts as 0
GROW, SHRINK = 8.0, 0.1  # of the damping, after a step that fails and one that does not


class _Search(NamedTuple):
    theta: Any
    value: Any
    gradient: Any
    curvature: Any
    damping: Any
    steps: Any
    done: Any


@lru_cache(maxsize=32)
def maximum_program(density: Density) -> Any:
    """Program ``(start, x, y, weight) -> (theta, converged)`` of the weighted mean log density."""

    def program(start: Any, x: Any, y: Any, weight: Any) -> tuple[Any, Any]:
        def value(theta: Any) -> Any:
            each = jax.vmap(density.log_p, in_axes=(None, 0, 0))(theta, x, y)
            return jnp.sum(weight * each) / jnp.sum(weight)

        def at(theta: Any, damping: Any, steps: Any) -> _Search:
            found, gradient = jax.value_and_grad(value)(theta)
            curvature = -jax.hessian(value)(theta)
            step = _solved(curvature, gradient)
            flat = jnp.max(jnp.abs(gradient)) < FLAT * (1 + jnp.abs(found))
            done = (gradient @ step < DECREMENT) | flat
            return _Search(theta, found, gradient, curvature, damping, steps, done)

        def moved(now: _Search) -> _Search:
            ridge = now.damping * (1e-12 + jnp.mean(jnp.abs(jnp.diag(now.curvature))))
            step = _solved(now.curvature + ridge * jnp.eye(len(now.theta)), now.gradient)
            tried = at(now.theta + step, now.damping * SHRINK, now.steps + 1)
            slack = 1e-13 * (1 + jnp.abs(now.value))
            better = jnp.isfinite(tried.gradient).all() & (tried.value >= now.value - slack)
            kept = now._replace(damping=now.damping * GROW + 1e-6, steps=now.steps + 1)
            chosen = (jnp.where(better, new, old) for new, old in zip(tried, kept, strict=True))
            return _Search(*chosen)

        def goes_on(now: _Search) -> Any:
            return ~now.done & (now.steps < MOST_STEPS)

        end = jax.lax.while_loop(goes_on, moved, at(start, jnp.asarray(1e-3), jnp.asarray(0)))
        return end.theta, end.done

    return compiled(program)


def _solved(matrix: Any, vector: Any) -> Any:
    """Solution by Cholesky; NaN where the matrix is not positive definite."""
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), vector)
