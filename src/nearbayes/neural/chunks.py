"""Chunks: rows, parameters and settings of the networks that train together, in NumPy.

Shared by networks of every library; `training.py` computes with JAX, `torch_training.py` with
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Block, Blocks, Data
from nearbayes.core.protocols import DrawsFailedError
from nearbayes.core.schedule import Schedule
from nearbayes.neural.outcomes import Classes, Outcomes
from nearbayes.tables.table import Table, n_rows

__all__ = [
    "CHUNK",
    "Batches",
    "Examples",
    "Fits",
    "NetworkModel",
    "NetworkModels",
    "Optimiser",
    "examples_of",
    "finished",
    "network_schedule",
    "padded",
    "padded_to_real",
    "shares_of_new",
    "trained_once_or_twice",
]

Array = NDArray[Any]
CHUNK = 8
FAST, SLOW = 0.9, 0.999  # Adam's decay rates
FLOOR = 0.1  # step sizes are at most those of a tenth of the root mean square gradient
SMALLEST = 1e-8
DIVERGED = (
    "training diverged, also with another seed: lower learning_rate, or check the data for "
    "extreme outcomes."
)


class Batches(NamedTuple):
    """Rows of a minibatch, and minibatches of a pass; constants of a program.

    One minibatch is all rows of a draw, each with its weight.
    """

    rows: int
    number: int

    @classmethod
    def of(cls, n_rows: int, batch_size: int | None) -> Batches:
        """Minibatches of about `batch_size` rows, of equal size; None: all rows at once.

        Examples
        --------
        >>> Batches.of(100, 64), Batches.of(60, 64), Batches.of(1000, None)
        (Batches(rows=50, number=2), Batches(rows=60, number=1), Batches(rows=1000, number=1))
        """
        number = 1 if batch_size is None else -(-n_rows // batch_size)
        return cls(-(-n_rows // number), number)


class Examples(NamedTuple):
    """Training data of every draw of a chunk.

    Attributes
    ----------
    x : array of shape (n_table_rows, n_inputs)
        Inputs, shared by all draws; PyTorch modules may have more axes.
    rows : array of shape (n_draws, n_rows)
        Row of `x` of each observation.
    weight : array of shape (n_draws, n_rows)
        Counts; 0 for padding.
    statistics : array of shape (n_draws, n_rows, n_statistics)
    shift : array of shape (n_draws, n_rows, n_outputs)
        Slope that the Bregman divergence subtracts (see `convex_losses.py`).
    """

    x: Any
    rows: Any
    weight: Any
    statistics: Any
    shift: Any


@dataclass(frozen=True)
class Optimiser:
    """Settings of the optimiser.

    Attributes
    ----------
    rate : float
        Learning rate.
    decay : float
        Decoupled weight decay, towards 0 at the first fit and towards the last fit at refits.
    penalty : float
        Weight of the explicit regulariser, half the squared distance in prior standard
        deviations, added to the log likelihood of all rows; 0: none, 1: that of the prior.
    """

    rate: float = 1e-3
    decay: float = 0.0
    penalty: float = 0.0


class Fits(NamedTuple):
    """State of draws in training: arrays of shape (n_draws, n_parameters), and number of steps."""

    parameters: Any
    momentum: Any
    square: Any
    steps: Any

    @classmethod
    def begin(cls, parameters: Any) -> Fits:
        """State at the beginning of training."""
        nothing = np.zeros(parameters.shape, np.float32)
        return cls(parameters, nothing, nothing, np.zeros(len(parameters), np.int32))

    def step_sizes(self) -> Array:
        """Denominators of Adam's steps, with a floor: the preconditioner of refits."""
        corrected = 1 - SLOW ** np.maximum(np.asarray(self.steps), 1)[:, None]
        root = np.sqrt(np.asarray(self.square) / corrected)
        floor = FLOOR * np.sqrt(np.mean(root**2, axis=1, keepdims=True))
        return np.asarray(np.maximum(root, floor + SMALLEST), np.float32)


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """One draw: parameters, noise and, until its path ends, the preconditioner of refits."""

    parameters: Array
    noise: float
    divisor: Array | None = None


@dataclass(frozen=True, eq=False)
class NetworkModels(Sequence[NetworkModel]):
    """Draws of a chunk: arrays of shape (n_draws, n_parameters), noise of shape (n_draws,)."""

    parameters: Array
    noise: Array
    divisor: Array

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, place: Any) -> Any:
        parts = self.parameters[place], self.noise[place], self.divisor[place]
        return NetworkModel(*parts) if np.ndim(parts[1]) == 0 else NetworkModels(*parts)


def finished(models: Sequence[NetworkModel]) -> list[NetworkModel]:
    """The part of draws to keep: parameters and noise."""
    return [NetworkModel(np.array(each.parameters), float(each.noise)) for each in models]


def network_schedule(
    outcomes: Outcomes, schedule: Schedule | None, n_refits: int | None
) -> Schedule:
    """The schedule with the best predictions and coverage in experiments/neural_*."""
    if schedule is not None and n_refits is None:
        return schedule
    refits = 4 if n_refits is None else n_refits
    if isinstance(outcomes, Classes) and refits > 0:
        return Schedule.arithmetic(horizon=1.0, block=1.0 / refits)
    return Schedule.optimal(refits=refits)


def trained_once_or_twice(train: Callable[[Any], Fits], keys: Any, others: Any) -> Fits:
    """Train; draws that diverge are trained once more with other keys, and fail after that.

    Parameters
    ----------
    train : callable
        ``train(keys)`` trains all draws of a chunk.
    keys, others : array of shape (n_draws, ...)
        Random keys of the draws, and those of the second attempt.
    """
    fits = train(keys)
    bad = ~np.isfinite(fits.parameters).all(axis=1)
    if bad.any():
        again = train(_where(bad, others, keys))
        fits = Fits(*(_where(bad, new, old) for new, old in zip(again, fits, strict=True)))
        bad = ~np.isfinite(fits.parameters).all(axis=1)
    if bad.any():
        errors = {int(k): FloatingPointError(DIVERGED) for k in np.flatnonzero(bad)}
        raise DrawsFailedError(errors)
    return fits


def examples_of(
    data: Sequence[Data], encode: Callable[[Table], Array], real_rows: int, n_outputs: int
) -> Examples:
    """Rows of every draw, padded to few shapes; inputs are shared if tables are.

    Parameters
    ----------
    data : sequence of Data
        With statistics of outcomes, shape (n_observations, n_statistics), as y.
    encode : callable
        ``encode(table)`` returns the inputs of networks.
    real_rows : int
        Number of real rows.
    n_outputs : int
    """
    tables = list({id(each.table): each.table for each in data}.values())
    sizes = [n_rows(table) for table in tables]
    starts = dict(zip(map(id, tables), np.cumsum([0, *sizes[:-1]]), strict=True))
    encoded = [encode(table) for table in tables]
    inputs = encoded[0] if len(encoded) == 1 else np.concatenate(encoded)
    size = padded_to_real(max(len(each.y) for each in data), real_rows)
    rows = [each.positions + starts[id(each.table)] for each in data]
    n_statistics = data[0].y.shape[1]
    return Examples(
        padded(inputs, padded_to_real(max(len(inputs), real_rows), real_rows)),
        np.stack([padded(each, size) for each in rows]).astype(np.int32),
        np.stack([padded(each.counts, size) for each in data]).astype(np.float32),
        np.stack([padded(each.y, size) for each in data])
        .astype(np.float32)
        .reshape(len(data), size, n_statistics),
        np.zeros((len(data), size, n_outputs), np.float32),
    )


def shares_of_new(
    data: Sequence[Data], new: Blocks, real_rows: int, merged: bool
) -> tuple[Array, Array]:
    """Share of new observations at each row of every draw, and their mean statistics."""
    size = padded_to_real(max(len(each.y) for each in data), real_rows)
    found = [_new_rows(each, block, merged) for each, block in zip(data, new, strict=True)]
    shares = np.stack([padded(share, size) for share, _ in found])
    means = np.stack([padded(mean, size) for _, mean in found])
    return shares.astype(np.float32), means.astype(np.float32)


def _new_rows(data: Data, block: Block, merged: bool) -> tuple[Array, Array]:
    """Share of new observations among those of each row, and their mean statistics."""
    if not merged:  # the observations of the block are the last ones
        share = np.zeros(len(data.y))
        share[len(data.y) - block.size :] = 1.0
        return share, data.y
    if block.x.table is data.table:
        places = block.x.positions
    else:  # its rows were added to the table
        places = n_rows(data.table) - block.size + np.arange(block.size)
    times = np.bincount(places, minlength=n_rows(data.table)).astype(np.float64)
    sums = np.stack(
        [np.bincount(places, weights=column, minlength=len(times)) for column in block.y.T], axis=1
    )
    means = sums / np.maximum(times, 1.0)[:, None]
    return times[data.positions] / data.counts, means[data.positions]


def padded_to_real(rows: int, real_rows: int) -> int:
    """Number of rows to pad to: that of the real data, plus steps of half as many.

    Examples
    --------
    >>> [padded_to_real(rows, 100) for rows in (30, 100, 101, 170)]
    [100, 100, 150, 200]
    """
    step = max(1, -(-real_rows // 2))
    return real_rows + max(0, -(-(rows - real_rows) // step)) * step


def padded(values: Array, size: int) -> Array:
    """Rows of zeros up to a size."""
    spare = size - len(values)
    return np.pad(values, ((0, spare), *[(0, 0)] * (values.ndim - 1))) if spare > 0 else values


def _where(bad: NDArray[np.bool_], new: Any, old: Any) -> Any:
    return np.where(bad.reshape(-1, *[1] * (np.ndim(old) - 1)), new, old)
