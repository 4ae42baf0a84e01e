"""L-BFGS of Optax, run until it has converged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

__all__ = ["Minimum", "minimise"]


class Minimum(NamedTuple):
    """Where a minimisation ended."""

    position: Any
    value: Any
    steps: Any


class _State(NamedTuple):
    position: Any
    search: Any  # of Optax, with the value and the gradient at the position
    fall: Any  # of the objective in the last step
    steps: Any


def minimise(
    objective: Callable[[Any], Any], start: Any, *, max_steps: int, tolerance: float
) -> Minimum:
    """Minimise a smooth function of a vector.

    To be mapped over many vectors one after the other (`jax.lax.map`): side by side (`jax.vmap`)
    every search, and every line search of a step, would take as long as the longest.

    Parameters
    ----------
    objective : callable
        Function of an array of shape (n,).
    start : array of shape (n,)
    max_steps : int
    tolerance : float
        Ends when no entry of the gradient is larger, or when a step lowers the objective by less
        than its square.
    """
    solver = optax.lbfgs()
    evaluate = optax.value_and_grad_from_state(objective)

    def step(state: _State) -> _State:
        value, gradient = evaluate(state.position, state=state.search)
        update, search = solver.update(
            gradient,
            state.search,
            state.position,
            value=value,
            grad=gradient,
            value_fn=objective,
        )
        position = optax.apply_updates(state.position, update)
        return _State(position, search, value - _found(search, "value"), state.steps + 1)

    def unfinished(state: _State) -> Any:
        steep = jnp.abs(_found(state.search, "grad")).max() > tolerance
        falling = state.fall > tolerance**2
        return (state.steps == 0) | (steep & falling & (state.steps < max_steps))

    begun = _State(start, solver.init(start), jnp.inf, jnp.zeros((), dtype=jnp.int32))
    end = jax.lax.while_loop(unfinished, step, begun)
    return Minimum(end.position, objective(end.position), end.steps)


def _found(search: Any, name: str) -> Any:
    """A part of Optax's state."""
    return optax.tree.get(search, name)
