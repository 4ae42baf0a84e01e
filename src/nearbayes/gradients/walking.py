r"""Walking: the gradient steps of a block, for all draws of a chunk in one compiled program.

Rows of a block are used one by one: an outcome is sampled from the current parameters, and
updates them at once (eq. gd-martingale and, with :math:`P = I(\theta)^{-1}`, eq. natgd-martingale):

.. math:: \theta_{j+1} = \theta_j + \eta_j P \nabla_\theta \log p_{\theta_j}(\hat z_{j+1}),
          \quad \hat z_{j+1} \sim p_{\theta_j}

As :math:`P` depends only on what came before, this is a martingale whenever P is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp

from nearbayes.compiled.precision import compiled
from nearbayes.gradients.densities import Density
from nearbayes.gradients.information import Information, InformationKind, RowsOfInformation

__all__ = [
    "Gradient",
    "Refresh",
    "finishing_program",
    "information_program",
    "inverse_program",
    "prediction_program",
    "sampling_program",
    "walking_program",
]

Gradient = Literal["natural", "plain"]
Refresh = Literal["block", "row"]
SMALL = 16  # parameters
OF_INFORMATION, OF_FINISH = 2**31 - 1, 2**31 - 2  # numbers of keys that no row uses


@lru_cache(maxsize=32)
def walking_program(
    density: Density,
    kind: InformationKind | Callable[..., Any],
    gradient: Gradient,
    refresh: Refresh,
) -> Any:
    """Program that takes every draw along some rows of its block.

    ``(theta, matrix, keys, rows, table, places, sizes, first, n_steps) -> theta``: `matrix` is P of
    the block, where it is not computed for every row, `table` holds input rows, `places`
    (most_steps, n_draws) which of them each draw takes, `sizes` (most_steps,) the sizes of the
    steps, `first` the number of the first row in the block.
    """
    renewed = _inverse_information(Information(density, kind))

    def one(theta: Any, x: Any, key: Any, number: Any) -> Any:
        y = density.sample(theta, x, jax.random.fold_in(key, number))
        return density.score(theta, x, y)

    # draws last, as all are multiplied at once
    scores = jax.vmap(one, in_axes=(-1, 0, 0, None), out_axes=-1)

    def program(
        theta: Any,
        matrix: Any,
        keys: Any,
        rows: RowsOfInformation,
        table: Any,
        places: Any,
        sizes: Any,
        first: Any,
        n_steps: Any,
    ) -> Any:
        of_block = jnp.moveaxis(matrix, 0, -1)

        def step(k: Any, theta: Any) -> Any:
            number = first + k

            def moves() -> Any:
                return scores(theta, table[places[k]], keys, number)

            # in a branch, as the compiler would repeat the samples for every product below
            move = jax.lax.cond(k < n_steps, moves, lambda: jnp.zeros_like(theta))
            if gradient == "natural":
                by = of_block
                if refresh == "row":
                    by = jnp.moveaxis(renewed(theta.T, rows, keys, number), 0, -1)
                move = _products(by, move)
            return theta + sizes[k] * move

        return jax.lax.fori_loop(0, n_steps, step, theta.T).T

    return compiled(program)


@lru_cache(maxsize=32)
def inverse_program(density: Density, kind: InformationKind | Callable[..., Any]) -> Any:
    """Program ``(theta, rows, keys, number) -> P``, shape (n_draws, size, size).

    `number` is that of the row for which the information is recomputed.
    """
    return compiled(_inverse_information(Information(density, kind)))


def _inverse_information(information: Information) -> Callable[..., Any]:
    def inverse(theta: Any, rows: RowsOfInformation, keys: Any, number: Any) -> Any:
        numbered = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, OF_INFORMATION)
        numbered = jax.vmap(jax.random.fold_in, in_axes=(0, None))(numbered, number)
        return _inverse(information.of_draws(theta, rows, numbered))

    return inverse


@lru_cache(maxsize=32)
def finishing_program(
    density: Density, kind: InformationKind | Callable[..., Any], gradient: Gradient
) -> Any:
    """Program ``(theta, keys, rows, noise, variance) -> theta`` that adds the rest of a path.

    That is :math:`N(0, v I^{-1})` for natural gradients, :math:`N(0, v I)` for plain ones.
    """
    information = Information(density, kind)

    def program(theta: Any, keys: Any, rows: RowsOfInformation, noise: Any, variance: Any) -> Any:
        numbered = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, OF_FINISH)
        root = jnp.linalg.cholesky(information.of_draws(theta, rows, numbered))
        if gradient == "plain":
            return theta + jnp.sqrt(variance) * jnp.einsum("kab,kb->ka", root, noise)
        spread = jax.lax.linalg.triangular_solve(
            root, noise[..., None], left_side=True, lower=True, transpose_a=True
        )
        return theta + jnp.sqrt(variance) * spread[..., 0]

    return compiled(program)


@lru_cache(maxsize=32)
def information_program(density: Density, kind: InformationKind | Callable[..., Any]) -> Any:
    """Program ``(theta, rows, keys) -> (n_draws, size, size)``."""
    return compiled(Information(density, kind).of_draws)


@lru_cache(maxsize=32)
def sampling_program(density: Density) -> Any:
    """Program ``(theta, x, keys) -> y``: outcomes of one draw at many rows."""
    return compiled(jax.vmap(density.sample, in_axes=(None, 0, 0)))


@lru_cache(maxsize=32)
def prediction_program(density: Density, function: Callable[[Any, Any], Any]) -> Any:
    """Program ``(thetas, x) -> (n_draws, n_rows, ...)``."""

    def one(theta: Any, row: Any) -> Any:
        return function(density.structure.unravelled(theta), row)

    rows = jax.vmap(one, in_axes=(None, 0))
    return compiled(lambda thetas, x: jax.lax.map(lambda theta: rows(theta, x), thetas))


def _products(matrices: Any, vectors: Any) -> Any:
    """Matrices times vectors, draws last; small ones column by column, which is one fast loop."""
    size = len(vectors)
    if size > SMALL:
        return jnp.sum(matrices * vectors, axis=1)
    return sum(matrices[:, column] * vectors[column] for column in range(size))


def _inverse(matrices: Any) -> Any:
    """Inverse of positive definite matrices, NaN for others."""
    roots = jnp.linalg.cholesky(matrices)
    identity = jnp.broadcast_to(jnp.eye(matrices.shape[-1]), matrices.shape)
    return jax.scipy.linalg.cho_solve((roots, True), identity)
