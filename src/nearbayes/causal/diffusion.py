r"""Diffusion: noise is added to a column in T steps, and a network learns to remove it.

Denoising diffusion implicit models (Song et al., 2021) of one column given its parents, as in Chao
et al. (2023) and App. D.5 of the paper. With :math:`\bar\alpha_t` the share of variance that
remains after t steps, a network :math:`\epsilon_\theta(x_t, pa, t)` is trained to find the noise e
in :math:`x_t = \sqrt{\bar\alpha_t} x_0 + \sqrt{1 - \bar\alpha_t} e`. Decoding is deterministic, so
that a value of the column and its noise determine each other.

Three details differ from Chao et al., because theirs leave an error that no amount of data
removes. For a normal column with mean 1 and sd .9 and the exact network, their noise
(:math:`\beta` up to .1) ends at a mean of .93, and 50 of their steps at .97 of the sd. Here
:math:`\beta` goes up to .2 (mean .996), and steps are of second order and evenly spaced in the log
ratio of signal to noise (DPM-Solver++ 2M, Lu et al., 2022): 22 of them give 1.01 of the sd. The
time input of networks is that log ratio, because the target function changes evenly with it.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.neural.network import Network

__all__ = ["LEFT", "N_STEPS", "clock", "decoded", "encoded", "noised"]

Array = NDArray[Any]
N_STEPS, N_MOVES = 100, 25
CLOCK_UNIT = 5.0
SMALLEST_BETA, LARGEST_BETA = 1e-4, 0.2
# Share of the variance that remains after 0, 1, ..., T steps, shape (T + 1,).
LEFT = np.concatenate([[1.0], np.cumprod(1 - np.linspace(SMALLEST_BETA, LARGEST_BETA, N_STEPS))])


def clock(steps: Any) -> Any:
    """Time input of networks: the log ratio of signal to noise, about -2 to 2."""
    left = jnp.asarray(LEFT, jnp.float32)[steps]
    return jnp.log(left / (1 - left)) / CLOCK_UNIT


def noised(x: Any, noise: Any, steps: Any) -> Any:
    """Values after some steps of noise; all arrays have the same shape."""
    left = jnp.asarray(LEFT, jnp.float32)[steps]
    return jnp.sqrt(left) * x + jnp.sqrt(1 - left) * noise


def decoded(
    network: Network,
    parameters: Array,
    noise: Array,
    parents: Array,
    limits: tuple[float, float],
) -> Array:
    """Turn noise into values, shape (n_draws, n_rows).

    Parameters
    ----------
    network : Network
        Takes rows of (x_t, parents, time); see `clock`.
    parameters : array of shape (n_draws, n_parameters)
    noise : array of shape (n_draws, n_rows)
    parents : array of shape (n_draws, n_rows, n_parent_columns)
    limits : tuple of float
        Smallest and largest value. Beyond the data, a network may return anything, and a model that
        learns from its own samples would follow it.
    """
    return _moved(network, parameters, noise, parents, _moves(_times()[::-1]), limits)


def encoded(network: Network, parameters: Array, x: Array, parents: Array) -> Array:
    """Turn values into noise, shape (n_draws, n_rows): the inverse of `decoded`."""
    return _moved(network, parameters, x, parents, _moves(_times()), (-np.inf, np.inf))


def _times() -> NDArray[np.intp]:
    """Times from 0 to T, evenly spaced in the log ratio of signal to noise, except at 0."""
    ratio = np.log(LEFT[1:] / (1 - LEFT[1:]))
    wanted = np.linspace(ratio[0], ratio[-1], N_MOVES)
    return np.append(0, np.unique(1 + np.abs(ratio[:, None] - wanted).argmin(axis=0)))


def _moves(times: NDArray[np.intp]) -> Array:
    """Time, shares of signal and noise, and factors of every move, shape (n_moves, 6).

    A move goes to ``a * x + b * clean + c * last``, where `clean` is the network's estimate of the
    value without noise, and `last` that of the previous move.
    """
    signal, noise = np.sqrt(LEFT), np.sqrt(1 - LEFT)
    moves, before = [], 0.0
    for now, then in pairwise(times):
        seen = max(now, 1)
        if then == 0:
            moves.append([seen, signal[seen], noise[seen], 0.0, 1.0, 0.0])
            continue
        if now == 0:  # the noise estimated by the network is added: signal * x + noise * seen
            moves.append([1, signal[1], noise[1], 1 + signal[1], -signal[1], 0.0])
            continue
        width = np.log(signal[then] / noise[then]) - np.log(signal[seen] / noise[seen])
        a = noise[then] / noise[seen]
        b = -signal[then] * np.expm1(-width)
        ahead = width / (2 * before) if before else 0.0
        moves.append([seen, signal[seen], noise[seen], a, b * (1 + ahead), -b * ahead])
        before = width
    return np.array(moves, np.float32)


def _moved(
    network: Network,
    parameters: Array,
    x: Array,
    parents: Array,
    moves: Array,
    limits: tuple[float, float],
) -> Array:
    with computing_in("float32"):
        found = _program(
            network,
            np.asarray(parameters, np.float32),
            np.asarray(x, np.float32),
            np.asarray(parents, np.float32),
            moves,
            np.asarray(limits, np.float32),
        )
        return np.asarray(found)


@partial(compiled, static_argnums=0)
def _program(
    network: Network, parameters: Any, x: Any, parents: Any, moves: Any, limits: Any
) -> Any:
    def one(parameters: Any, x: Any, parents: Any) -> Any:
        def move(state: tuple[Any, Any], how: Any) -> tuple[tuple[Any, Any], None]:
            x, last = state
            time = jnp.full((len(x), 1), clock(how[0].astype(jnp.int32)), x.dtype)
            noise = network.apply(parameters, jnp.concatenate([x[:, None], parents, time], 1))[:, 0]
            clean = jnp.clip((x - how[2] * noise) / how[1], *limits)
            return (how[3] * x + how[4] * clean + how[5] * last, clean), None

        return jax.lax.scan(move, (x, jnp.zeros_like(x)), moves)[0][0]

    return jax.vmap(one)(parameters, x, parents)
