r"""L-BFGS for many small problems at once, none of which waits for the line search of another.

Directions are those of `optax.scale_by_lbfgs`. Its own line searches loop until the slowest of all
problems is content, for every step of every problem. Here one evaluation is one tick: each problem
takes its step, shortens or lengthens it (bracketing by the weak Wolfe conditions; Lewis and
Overton, 2013), or has finished, on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

__all__ = ["Minimum", "minimise"]

DECREASE, CURVATURE = 1e-4, 0.9  # of the weak Wolfe conditions
MEMORY = 10  # pairs of steps and gradients that directions are made of
SHORTEST = 1e-10  # brackets narrower than this hold no better point


class Minimum(NamedTuple):
    """Where a minimisation ended."""

    position: Any
    value: Any
    gradient: Any
    evaluations: Any


class _State(NamedTuple):
    position: Any
    value: Any
    gradient: Any
    direction: Any
    step: Any
    shortest: Any  # a step known to be too short
    longest: Any  # one known to be too long
    memory: Any
    evaluations: Any
    done: Any


def minimise(
    objective: Callable[[Any], Any],
    start: Any,
    *,
    max_evaluations: int,
    tolerance: float,
) -> Minimum:
    """Minimise a smooth function of a vector; to be mapped (`jax.vmap`) over many of them.

    Parameters
    ----------
    objective : callable
        Function of an array of shape (n,); where it is not finite no step goes.
    start : array of shape (n,)
    max_evaluations : int
        Of the objective with its gradient.
    tolerance : float
        Ends when no entry of the gradient is larger, or when an accepted step lowers the
        objective by less than its square.
    """
    evaluate = jax.value_and_grad(objective)
    rule = optax.scale_by_lbfgs(memory_size=MEMORY)

    def tick(state: _State) -> _State:
        trial = state.position + state.step * state.direction
        value, gradient = evaluate(trial)
        slope = state.gradient @ state.direction
        finite = jnp.isfinite(value) & jnp.isfinite(gradient).all()
        low = finite & (value <= state.value + DECREASE * state.step * slope)
        flat = gradient @ state.direction >= CURVATURE * slope
        shortest = jnp.where(low & ~flat, state.step, state.shortest)
        longest = jnp.where(low, state.longest, state.step)
        stuck = longest - shortest < SHORTEST
        accepted = low & (flat | stuck)
        taken = _taken(rule, state, trial, value, gradient)
        going_on = state._replace(
            step=jnp.where(jnp.isinf(longest), 2 * shortest, (shortest + longest) / 2),
            shortest=shortest,
            longest=longest,
            evaluations=state.evaluations + 1,
            done=stuck & ~low,
        )
        chosen: _State = jax.tree.map(
            lambda new, old: jnp.where(accepted, new, old), taken, going_on
        )
        small = jnp.abs(chosen.gradient).max() <= tolerance
        slow = accepted & (state.value - value <= tolerance**2)
        return chosen._replace(done=chosen.done | small | slow)

    def unfinished(state: _State) -> Any:
        return ~state.done & (state.evaluations < max_evaluations)

    end = jax.lax.while_loop(unfinished, tick, _begun(evaluate, rule, start, tolerance))
    return Minimum(end.position, end.value, end.gradient, end.evaluations)


def _begun(evaluate: Any, rule: Any, start: Any, tolerance: float) -> _State:
    """Before the first tick: down the gradient, by at most one."""
    value, gradient = evaluate(start)
    _, memory = rule.update(gradient, rule.init(start), start)
    length = jnp.maximum(1.0, jnp.linalg.norm(gradient))
    one, infinite = jnp.ones_like(value), jnp.full_like(value, jnp.inf)
    return _State(
        start,
        value,
        gradient,
        -gradient / length,
        one,
        jnp.zeros_like(value),
        infinite,
        memory,
        jnp.ones((), dtype=jnp.int32),
        (jnp.abs(gradient).max() <= tolerance) | ~jnp.isfinite(value),
    )


def _taken(rule: Any, state: _State, trial: Any, value: Any, gradient: Any) -> _State:
    """After an accepted step: a new direction, to be tried at full length first."""
    preconditioned, memory = rule.update(gradient, state.memory, trial)
    downhill = gradient @ preconditioned > 0
    direction = -jnp.where(downhill, preconditioned, gradient)
    return state._replace(
        position=trial,
        value=value,
        gradient=gradient,
        direction=direction,
        step=jnp.ones_like(value),
        shortest=jnp.zeros_like(value),
        longest=jnp.full_like(value, jnp.inf),
        memory=memory,
        evaluations=state.evaluations + 1,
        done=jnp.zeros_like(state.done),
    )
