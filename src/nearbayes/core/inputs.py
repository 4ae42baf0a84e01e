"""Inputs: where the imputed x come from (the paper's Remark on supervised learning, section 2)."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.core.data import Data, Rows, RowsOfDraws
from nearbayes.core.protocols import Inputs, Rng
from nearbayes.tables.table import (
    Table,
    as_table,
    describe,
    like,
    n_rows,
    numeric_values,
    same_kind,
)

__all__ = ["KDE", "Callable", "Pool", "Uniform", "Urn", "as_inputs"]

Array = NDArray[np.float64]
MOST_BALLS = 2_000_000  # rows drawn at a time
FEW = 32  # with fewer draws at a time, it is faster to make draw after draw


@dataclass(frozen=True)
class Urn:
    """Polya urn over past inputs, the paper's choice: each drawn row is put back with a copy.

    Drawing a block one by one from a Polya urn is equivalent to drawing probabilities from a
    Dirichlet distribution with the current counts, then the block from those probabilities
    (de Finetti). Imputed inputs are old rows of any type, so data stay n rows with counts.

    Examples
    --------
    >>> data = Data.of(np.arange(3.0)[:, None], np.zeros(3))
    >>> x = Urn().sample(data, 5, np.random.default_rng(0))
    >>> len(x), x.table is data.table
    (5, True)
    """

    def prepare(self, data: Data) -> Data:
        """Nothing to do: an urn takes rows of any type."""
        return data

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` past input rows."""
        balls = rng.standard_gamma(data.row_counts())
        return Rows.repeated(data.table, rng.multinomial(size, balls / balls.sum()))

    def sample_for_draws(self, data: Data, size: int, n_draws: int, rng: Rng) -> RowsOfDraws:
        """Draw `size` past input rows for each of many draws that have the same data.

        Rows are drawn one by one, for many draws at once: row i is an old row or a copy of one of
        the i rows before it. This is faster than a Dirichlet distribution per draw.
        """
        counts = data.row_counts()
        at_once = min(MOST_BALLS // (size + len(counts)), n_draws)
        # draws last in memory, as they are read
        positions = np.empty((size, n_draws), dtype=np.int32).T
        if at_once < min(FEW, n_draws):
            for draw in positions:
                draw[:] = rng.permutation(self.sample(data, size, rng).positions)
            return RowsOfDraws(data.table, positions)
        for first in range(0, n_draws, at_once):
            part = positions[first : first + at_once]
            part[:] = _one_by_one(counts, size, len(part), rng)
        return RowsOfDraws(data.table, positions)


def _one_by_one(counts: Array, size: int, n_draws: int, rng: Rng) -> NDArray[np.int32]:
    """Rows that an urn gives to every draw, shape (n_draws, size)."""
    total, old = counts.sum(), len(counts)
    balls = rng.random((size, n_draws)) * (total + np.arange(size))[:, None]
    places = _rows_of_balls(balls, counts, total) * n_draws + np.arange(n_draws)
    rows = np.zeros((old + size, n_draws), dtype=np.int32)
    rows[:old] = np.arange(old)[:, None]
    for i, chosen in enumerate(places, start=old):
        rows[i] = rows.reshape(-1)[chosen]
    return rows[old:].T


def _rows_of_balls(balls: Array, counts: Array, total: float) -> NDArray[np.intp]:
    """Row number of a ball: the old rows by their counts, then one ball per new row."""
    if (counts == 1).all():
        return balls.astype(np.intp)
    old = np.minimum(np.searchsorted(np.cumsum(counts), balls, side="right"), len(counts) - 1)
    return np.where(balls < total, old, len(counts) + (balls - total).astype(np.intp))


@dataclass(frozen=True)
class Pool:
    """Unlabelled rows: imputed inputs are drawn from them with replacement.

    Parameters
    ----------
    X : table of shape (n_pool, n_columns)
        The same kind and columns as the training inputs.
    """

    X: Table

    def prepare(self, data: Data) -> Data:
        """Add the pool's rows to the table that observations refer to."""
        pool = as_table(self.X)
        if n_rows(pool) == 0 or not same_kind(pool, data.table):
            raise ValueError(
                f"Pool(X) must have rows, and the columns of the training X: got {describe(pool)} "
                f"for an X of {describe(data.table)}."
            )
        return data.with_unlabelled(pool)

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` rows of the pool."""
        counts = np.zeros(n_rows(data.table), dtype=np.intp)
        n_pool = n_rows(as_table(self.X))
        counts[-n_pool:] = rng.multinomial(size, np.full(n_pool, 1 / n_pool))
        return Rows.repeated(data.table, counts)


@dataclass(frozen=True)
class KDE:
    r"""Gaussian kernel density estimate of the real inputs, as in the paper's GP experiment.

    A real row plus normal noise of standard deviation :math:`h\,s_j` in column j, where
    :math:`s_j` is the column's standard deviation. Integer columns are rounded.

    Parameters
    ----------
    bandwidth : "scott", "silverman" or float
        The factor h: :math:`n^{-1/(d+4)}`, :math:`(n(d+2)/4)^{-1/(d+4)}`, or the number itself.

    Examples
    --------
    >>> data = Data.of(np.random.default_rng(0).normal(size=(50, 2)), np.zeros(50))
    >>> KDE().sample(data, 4, np.random.default_rng(1)).values.shape
    (4, 2)
    """

    bandwidth: Literal["scott", "silverman"] | float = "scott"

    def prepare(self, data: Data) -> Data:
        """Reject columns that are not numeric, and unknown bandwidth rules."""
        values = numeric_values(data.table, "inputs.KDE")
        self.factor(data.n, values.shape[1])
        return data

    def factor(self, n: float, d: int) -> float:
        """Bandwidth factor h for n rows of d columns."""
        if self.bandwidth == "scott":
            return float(n ** (-1 / (d + 4)))
        if self.bandwidth == "silverman":
            return float((n * (d + 2) / 4) ** (-1 / (d + 4)))
        number: object = self.bandwidth
        if isinstance(number, Real) and 0 < float(number) < np.inf:
            return float(number)
        raise ValueError(
            f"bandwidth must be 'scott', 'silverman' or a positive number, got {self.bandwidth!r}."
        )

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` rows near the real ones."""
        real = data.real or data
        table = numeric_values(real.x, "inputs.KDE")
        chosen = table[rng.choice(len(table), size=size, p=real.counts / real.size)]
        width = self.factor(real.size, table.shape[1]) * _column_sd(table, real.counts)
        return Rows.every(like(data.table, chosen + width * rng.standard_normal(chosen.shape)))


@dataclass(frozen=True)
class Uniform:
    """Uniform inputs in a box.

    Parameters
    ----------
    low, high : float or array of shape (n_columns,)
        Bounds, for all columns or per column.
    """

    low: ArrayLike
    high: ArrayLike

    def prepare(self, data: Data) -> Data:
        """Reject empty boxes and columns that are not numeric."""
        self._bounds(numeric_values(data.table, "inputs.Uniform").shape[1])
        return data

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` rows in the box."""
        low, high = self._bounds(data.table.shape[1])  # type: ignore[union-attr]
        return Rows.every(like(data.table, rng.uniform(low, high, size=(size, len(low)))))

    def _bounds(self, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        try:
            low, high = (
                np.broadcast_to(np.asarray(bound, dtype=np.float64), (d,))
                for bound in (self.low, self.high)
            )
        except ValueError:
            raise ValueError(
                f"Uniform(low, high) must be numbers or arrays of one bound per column: X has {d} "
                f"columns, got bounds of shape {np.shape(self.low)} and {np.shape(self.high)}."
            ) from None
        if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError(
                "Uniform(low, high) must have finite low below high in every column, "
                f"got low {self.low!r} and high {self.high!r}."
            )
        return low, high


@dataclass(frozen=True)
class Callable:
    """Inputs from any generative model.

    Parameters
    ----------
    function : callable
        ``function(size, rng)`` returns a table of `size` rows, of the same kind as the training
        inputs; `rng` is a `numpy.random.Generator`.

    Examples
    --------
    >>> inputs = Callable(lambda size, rng: rng.normal(size=(size, 1)))
    >>> data = Data.of(np.zeros((3, 1)), np.zeros(3))
    >>> len(inputs.sample(data, 7, np.random.default_rng(0)))
    7
    """

    function: Function[[int, Rng], Table]

    def prepare(self, data: Data) -> Data:
        """Nothing to do: the function is checked when it is called."""
        return data

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Call the function and check what it returns."""
        table = as_table(self.function(size, rng))
        if n_rows(table) != size or not same_kind(table, data.table):
            raise ValueError(
                f"inputs.Callable's function must return {size} rows of the same kind and columns "
                f"as X, {describe(data.table)}: got {describe(table)}."
            )
        return Rows.every(table)


def as_inputs(inputs: Any) -> Inputs:
    """Convert "urn" or "kde" to an `Inputs` object; return other objects unchanged.

    Examples
    --------
    >>> as_inputs("urn")
    Urn()
    """
    if inputs is None:
        return Urn()
    if isinstance(inputs, str):
        if inputs not in ("urn", "kde"):
            raise ValueError(
                f"inputs must be 'urn', 'kde' or an object of nearbayes.inputs, got {inputs!r}."
            )
        return Urn() if inputs == "urn" else KDE()
    if isinstance(inputs, Inputs) and not isinstance(inputs, type):
        return inputs
    raise TypeError(
        "inputs must be 'urn', 'kde' or an object with prepare and sample, such as "
        f"nearbayes.inputs.Pool(X), got {type(inputs).__name__}."
    )


def _column_sd(table: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted standard deviation of each column; missing values are ignored."""
    present = np.where(np.isnan(table), 0.0, weights[:, None])
    mass = np.maximum(present.sum(axis=0), np.finfo(float).tiny)
    filled = np.nan_to_num(table)
    mean = (present * filled).sum(axis=0) / mass
    return np.asarray(np.sqrt((present * (filled - mean) ** 2).sum(axis=0) / mass))
