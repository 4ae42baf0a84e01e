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
FLAT = 1e-9  # largest entry of a gradient that counts as 0, in standard errors as above
STILL = 1e-5  # last step, over the parameter or its standard error where that was smallest
COLLAPSED = 1e-4  # curvature over the largest along the way, below which a gradient may vanish
VANISHED = 1e-6  # the same, and squared scores over curvature, on the way to infinity
GROW, SHRINK = 8.0, 0.1  # of the damping, after a step that fails and one that does not


class _Search(NamedTuple):
    theta: Any
    value: Any
    gradient: Any
    curvature: Any
    largest: Any  # curvature of each parameter along the way
    damping: Any
    steps: Any
    done: Any


@lru_cache(maxsize=32)
def maximum_program(density: Density) -> Any:
    """Program ``(start, x, y, weight) -> (theta, converged, curved)``.

    It maximises the weighted mean log density; `curved` tells whether that was ever concave in
    every parameter.
    """

    def program(start: Any, x: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        def value(theta: Any) -> Any:
            each = jax.vmap(density.log_p, in_axes=(None, 0, 0))(theta, x, y)
            return jnp.sum(weight * each) / jnp.sum(weight)

        def at(theta: Any, largest: Any, damping: Any, steps: Any) -> _Search:
            found, gradient = jax.value_and_grad(value)(theta)
            curvature = -jax.hessian(value)(theta)
            largest = jnp.fmax(largest, jnp.diag(curvature))
            scores = jax.vmap(density.score, in_axes=(None, 0, 0))(theta, x, y)
            squares = weight @ scores**2 / jnp.sum(weight)
            done = _settled(theta, gradient, curvature, largest)
            done &= ~_vanished(squares, curvature, largest)
            return _Search(theta, found, gradient, curvature, largest, damping, steps, done)

        def moved(now: _Search) -> _Search:
            size = jnp.abs(jnp.diag(now.curvature))  # of each parameter, so units do not matter
            ridge = now.damping * (size + 1e-12 * (1 + jnp.mean(size)))
            step = _solved(now.curvature + jnp.diag(ridge), now.gradient)
            tried = at(now.theta + step, now.largest, now.damping * SHRINK, now.steps + 1)
            slack = 1e-13 * (1 + jnp.abs(now.value))
            better = jnp.isfinite(tried.gradient).all() & (tried.value >= now.value - slack)
            kept = now._replace(damping=now.damping * GROW + 1e-6, steps=now.steps + 1)
            chosen = (jnp.where(better, new, old) for new, old in zip(tried, kept, strict=True))
            return _Search(*chosen)

        def goes_on(now: _Search) -> Any:
            return ~now.done & (now.steps < MOST_STEPS)

        nowhere = jnp.zeros_like(start)
        end = jax.lax.while_loop(
            goes_on, moved, at(start, nowhere, jnp.asarray(1e-3), jnp.asarray(0))
        )
        return end.theta, end.done, (end.largest > 0).all()

    return compiled(program)


def _settled(theta: Any, gradient: Any, curvature: Any, largest: Any) -> Any:
    """Whether parameters are at a maximum, and not on the way to one at infinity.

    There (separated classes) gradient and curvature vanish together, and with them the decrement,
    but steps stay as long as they were.
    """
    step = _solved(curvature, gradient)
    error = jnp.where(largest > 0, jax.lax.rsqrt(largest), 0.0)
    still = (jnp.abs(step) <= STILL * (jnp.abs(theta) + error)).all()
    flat = (jnp.abs(gradient) <= FLAT * jnp.sqrt(jnp.maximum(largest, 0.0))).all()
    stands = (jnp.diag(curvature) >= COLLAPSED * largest).all()
    return ((gradient @ step < DECREMENT) & still) | (flat & stands)


def _vanished(squares: Any, curvature: Any, largest: Any) -> Any:
    """Whether the scores of single rows have vanished faster than a curvature that vanishes, too.

    At a maximum they cancel, and their squares are about as large as the curvature.
    """
    now = jnp.diag(curvature)
    return ((now < VANISHED * largest) & (squares < VANISHED * now)).any()


def _solved(matrix: Any, vector: Any) -> Any:
    """Solution by Cholesky; NaN where the matrix is not positive definite."""
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), vector)
