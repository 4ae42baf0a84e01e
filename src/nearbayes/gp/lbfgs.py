"""L-BFGS of Optax, run until convergence, optionally with an initial estimate of the curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.scipy.linalg import solve_triangular

__all__ = ["Minimum", "minimise"]

MEMORY = 20  # steps used to approximate the curvature


class Minimum(NamedTuple):
    """Result of a minimisation, with an approximation of the inverse Hessian."""

    position: Any
    value: Any
    steps: Any
    inverse_hessian: Any


class _State(NamedTuple):
    position: Any
    search: Any  # state of Optax, with value and gradient at the position
    fall: Any  # decrease of the objective in the last step
    steps: Any


def minimise(
    objective: Callable[[Any], Any],
    start: Any,
    inverse_hessian: Any = None,
    known: tuple[Any, Any] | None = None,
    *,
    max_steps: int,
    tolerance: float,
) -> Minimum:
    r"""Minimise a smooth function of a vector.

    Map it over many vectors one after another (`jax.lax.map`). With `jax.vmap`, every search, and
    every line search of a step, would take as long as the longest one.

    If the inverse Hessian :math:`R R^\top` of a similar function is known, the search is over u in
    start + R u. The Hessian is then close to the identity, as L-BFGS assumes at the start.

    Parameters
    ----------
    objective : callable
        Function of an array of shape (n,).
    start : array of shape (n,)
    inverse_hessian : array of shape (n, n), optional
        Result of the search of a similar function.
    known : tuple, optional
        Value and gradient at the start, where they were computed already.
    max_steps : int
    tolerance : float
        The search ends when no entry of the gradient is larger than this, or when a step lowers
        the objective by less than its square.
    """
    similar = inverse_hessian is not None
    root = jnp.linalg.cholesky(inverse_hessian) if similar else jnp.eye(len(start))
    solver = optax.lbfgs(memory_size=MEMORY, scale_init_precond=not similar)

    def moved(by: Any) -> Any:
        return objective(start + root @ by)

    def step(state: _State) -> _State:
        value, gradient = _found(state.search, "value"), _found(state.search, "grad")
        update, search = solver.update(
            gradient, state.search, state.position, value=value, grad=gradient, value_fn=moved
        )
        position = optax.apply_updates(state.position, update)
        return _State(position, search, value - _found(search, "value"), state.steps + 1)

    def unfinished(state: _State) -> Any:
        gradient = solve_triangular(root, _found(state.search, "grad"), lower=True, trans=1)
        steep = jnp.abs(gradient).max() > tolerance
        falling = state.fall > tolerance**2
        return steep & falling & (state.steps < max_steps)

    still = jnp.zeros_like(start)
    value, slope = jax.value_and_grad(objective)(start) if known is None else known
    search = optax.tree.set(solver.init(still), value=value, grad=root.T @ slope)
    begun = _State(still, search, jnp.inf, jnp.zeros((), dtype=jnp.int32))
    end = jax.lax.while_loop(unfinished, step, begun)

    def learned() -> Any:
        return root @ _inverse_hessian(end, scaled=not similar) @ root.T

    # a search that ends where it starts, as most near the last one do, learns nothing
    if similar:
        inverse_hessian = jax.lax.cond(end.steps == 0, lambda: inverse_hessian, learned)
    else:
        inverse_hessian = learned()
    position, value = start + root @ end.position, _found(end.search, "value")
    return Minimum(position, value, end.steps, inverse_hessian)


def _found(search: Any, name: str) -> Any:
    """A part of Optax's state."""
    return optax.tree.get(search, name)


def _inverse_hessian(end: _State, *, scaled: bool) -> Any:
    """BFGS approximation from the last steps and their changes of the gradient, oldest first."""
    oldest = _found(end.search, "count") - 1

    def ordered(memory: str, last: Any) -> Any:
        kept = jnp.roll(_found(end.search, memory), -oldest, axis=0)
        return jnp.concatenate([kept, last[None]])

    steps = ordered("diff_params_memory", end.position - _found(end.search, "params"))
    changes = ordered(
        "diff_updates_memory", _found(end.search, "grad") - _found(end.search, "updates")
    )

    def updated(k: Any, matrix: Any) -> Any:
        step, change = steps[k], changes[k]
        product = step @ change
        weight = jnp.where(product > 0, 1 / product, 0.0)
        left = jnp.eye(len(step)) - weight * jnp.outer(step, change)
        return left @ matrix @ left.T + weight * jnp.outer(step, step)

    size = jnp.sum(changes[-1] ** 2)
    scale = jnp.where(scaled & (size > 0), steps[-1] @ changes[-1] / size, 1.0)
    taken = jnp.minimum(end.steps, len(steps))  # the memory is empty before
    start = scale * jnp.eye(len(end.position))
    return jax.lax.fori_loop(len(steps) - taken, len(steps), updated, start)
