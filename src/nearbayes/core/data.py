"""Data: real and imputed observations, kept as counts where inputs repeat.

With urn inputs the imputed x are old rows, so real and imputed data together are the table of n
real rows with counts, for any horizon. An algorithm whose traits declare `counts` gets this short
form; every other algorithm gets the plain repeated rows. Both are read in the same way:
``data.x``, ``data.y`` and ``data.count``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.tables.table import Table, as_table, is_mapped, n_rows, stack, take

__all__ = [
    "Block",
    "Blocks",
    "Counts",
    "Data",
    "Repeated",
    "Rows",
    "RowsOfDraws",
    "as_data",
    "finite",
    "parts_of",
]

Counts = Literal[False, "labels", "means"]
Item = TypeVar("Item")
PIECE = 50_000  # rows of a table that are copied at a time
MANY = 4_000  # with more numbers, the sum of squares is checked first


@dataclass(frozen=True)
class Repeated(Sequence[Item], Generic[Item]):
    """The same item for every draw of a chunk.

    Examples
    --------
    >>> list(Repeated("rows", 3))
    ['rows', 'rows', 'rows']
    """

    item: Item
    times: int

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, place: Any) -> Any:
        if place == 0 < self.times:  # the place that every step asks for
            return self.item
        chosen = range(self.times)[place]
        return self.item if isinstance(chosen, int) else Repeated(self.item, len(chosen))

    def __iter__(self) -> Iterator[Item]:
        return repeat(self.item, self.times)


@dataclass(frozen=True, eq=False)
class Rows:
    r"""Input rows :math:`\hat x` of one block: distinct rows of a table and how often each occurs.

    Attributes
    ----------
    table : table or None
        Where the rows are; None for data without inputs (density estimation).
    index : array of shape (n_distinct,) or None
        Position in `table` of each distinct row; None: every row of it, in order.
    count : array of shape (n_distinct,) or None
        How often each distinct row occurs; None: once.
    size : int
        Number of rows, repeats included.

    Examples
    --------
    >>> table = np.array([[0.0], [1.0], [2.0]])
    >>> x = Rows.repeated(table, counts=np.array([2, 0, 1]))
    >>> x.values.ravel().tolist(), x.distinct.ravel().tolist(), len(x)
    ([0.0, 0.0, 2.0], [0.0, 2.0], 3)
    """

    table: Table | None
    index: NDArray[np.intp] | None
    count: NDArray[np.intp] | None
    size: int

    @classmethod
    def every(cls, table: Table) -> Rows:
        """Every row of a table, once."""
        return cls(table, None, None, n_rows(table))

    @classmethod
    def repeated(cls, table: Table, counts: NDArray[np.intp]) -> Rows:
        """Rows of a table, the i-th `counts[i]` times."""
        index = np.flatnonzero(counts)
        return cls(table, index, counts[index], int(counts.sum()))

    @classmethod
    def without_inputs(cls, size: int) -> Rows:
        """No inputs: only the number of observations."""
        return cls(None, None, None, size)

    def __len__(self) -> int:
        return self.size

    @property
    def positions(self) -> NDArray[np.intp]:
        """Position in `table` of each row, repeats included, shape (size,)."""
        index = np.arange(n_rows(self.table)) if self.index is None else self.index
        return index if self.count is None else np.repeat(index, self.count)

    @property
    def values(self) -> Table:
        """The rows as a plain table of `size` rows, repeats included."""
        return self.table if self.index is None else take(self.table, self.positions)

    @property
    def distinct(self) -> Table:
        """The rows without repeats; models predict here, then labels are drawn `count` times."""
        return self.table if self.index is None else take(self.table, self.index)

    def pieces(self) -> Iterator[Rows]:
        """The same rows, in parts if there are many, so that few are copied at a time.

        Examples
        --------
        >>> x = Rows.repeated(np.zeros((120_000, 1)), counts=np.full(120_000, 2))
        >>> [len(part.distinct) for part in x.pieces()], sum(len(part) for part in x.pieces())
        ([50000, 50000, 20000], 240000)
        """
        if self.index is None or len(self.index) <= PIECE:
            yield self
            return
        for start in range(0, len(self.index), PIECE):
            part = slice(start, start + PIECE)
            index, count = self.index[part], None if self.count is None else self.count[part]
            yield Rows(self.table, index, count, len(index) if count is None else int(count.sum()))

    def repeat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat an array given per distinct row (first axis), so that it matches `values`."""
        return values if self.count is None else np.repeat(values, self.count, axis=0)

    def head(self, size: int) -> Rows:
        """Take the first rows, each once."""
        if self.table is None:
            return Rows.without_inputs(min(size, self.size))
        index = np.unique(self.positions[:size])
        return Rows(self.table, index, None, len(index))


@dataclass(frozen=True, eq=False)
class RowsOfDraws(Sequence[Rows]):
    """Input rows of one block of every draw of a chunk, all from one table, in one array.

    Attributes
    ----------
    table : table
    positions : array of shape (n_draws, size)
        Position in `table` of each row.

    Examples
    --------
    >>> x = RowsOfDraws(np.array([[0.0], [1.0]]), np.array([[1, 0, 1], [0, 0, 0]]))
    >>> len(x), x[0].values.ravel().tolist()
    (2, [1.0, 0.0, 1.0])
    """

    table: Table
    positions: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return RowsOfDraws(self.table, self.positions[place])
        index = self.positions[place].astype(np.intp)
        return Rows(self.table, index, None, len(index))


@dataclass(frozen=True, eq=False)
class Block:
    r"""Imputed observations that one refit adds (the paper's :math:`\hat z_{n_j:n_j+\Delta n}`).

    Attributes
    ----------
    x : Rows
        The imputed inputs.
    y : array of shape (size, ...)
        What the algorithm sampled there. A chunk algorithm may return sufficient statistics.
    total : float
        Number of observations, real and imputed, with this block.
    """

    x: Rows
    y: NDArray[Any]
    total: float

    @property
    def size(self) -> int:
        """Number of imputed observations."""
        return self.x.size


@dataclass(frozen=True, eq=False)
class Blocks(Sequence[Block]):
    """The imputed observations of every draw of a chunk; item k is the block of draw k.

    Attributes
    ----------
    x : sequence of Rows
    y : array of shape (n_draws, size, ...), or a list of arrays
    total : float
        As in `Block`; the same for all draws.
    """

    x: Sequence[Rows]
    y: Sequence[NDArray[Any]] | NDArray[Any]
    total: float

    @property
    def size(self) -> int:
        """Number of imputed observations per draw."""
        return self.x[0].size

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, place: Any) -> Any:
        return Block(self.x[place], self.y[place], self.total)

    def __iter__(self) -> Iterator[Block]:
        for x, y in zip(self.x, self.y, strict=True):
            yield Block(x, y, self.total)


@dataclass(frozen=True, eq=False)
class Data:
    r"""Observations :math:`D_j`: real ones, then imputed ones, each with a count.

    Attributes
    ----------
    table : table or None
        Input rows that observations refer to; None for data without inputs.
    index : array of shape (n_observations,) or None
        Row of `table` of each observation; None: the i-th observation has the i-th row.
    y : array of shape (n_observations, ...)
        Outcomes; for data without inputs, the observations themselves.
    count : array of shape (n_observations,) or None
        How often each observation counts (a sample weight: 2 means twice); None: once.
    real : Data or None
        The real observations that these data extend; None if all are real.

    Examples
    --------
    >>> data = Data.of(np.array([[0.0], [1.0]]), np.array([0, 1]))
    >>> block = Block(Rows.repeated(data.table, np.array([3, 0])), np.array([0, 0, 1]), total=5)
    >>> grown = data.extend(block, counts="labels")
    >>> grown.x.ravel().tolist(), grown.y.tolist(), grown.count.tolist()
    ([0.0, 0.0, 1.0], [0, 1, 1], [3.0, 1.0, 1.0])
    >>> grown.n, grown.size
    (2.0, 5.0)
    """

    table: Table | None
    index: NDArray[np.intp] | None
    y: NDArray[Any]
    count: NDArray[np.float64] | None = None
    real: Data | None = None

    @classmethod
    def of(cls, x: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Data:
        """Make data from inputs and outcomes, or from observations alone, and check them.

        Parameters
        ----------
        x : table of shape (n_rows, n_columns), or array of observations if `y` is None
        y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        sample_weight : array of shape (n_rows,), optional
            Counts of rows: weight 2 means that the row occurs twice, weight 0 that it is absent.
        """
        table = None if y is None else as_table(x)
        outcomes = np.asarray(x if y is None else y)
        rows = n_rows(outcomes) if table is None else n_rows(table)
        if rows != n_rows(outcomes):
            raise ValueError(
                f"X and y must have the same length, got {rows} rows of X and "
                f"{n_rows(outcomes)} of y: drop or add rows until they match."
            )
        _check_outcomes(outcomes, "data" if y is None else "y")
        count = None if sample_weight is None else _checked_weight(sample_weight, rows)
        if rows < 2 or (count is not None and count.sum() < 2):
            got = f"n_samples={rows}" if rows < 2 else f"weights that sum to {count.sum():.3g}"  # type: ignore[union-attr]
            raise ValueError(
                f"a posterior needs at least 2 rows, got {got}: add rows, or scale sample_weight "
                "so that it counts rows (weight 2 means the row twice)."
            )
        if count is not None and (count == 0).any():
            return cls(table, None, outcomes, count).select(np.flatnonzero(count))
        return cls(table, None, outcomes, count)

    @cached_property
    def x(self) -> Table:
        """Input row of each observation."""
        return self.table if self.index is None else take(self.table, self.index)

    @cached_property
    def size(self) -> float:
        """Number of observations, counts included: n + imputed."""
        return float(len(self.y) if self.count is None else self.count.sum())

    @property
    def n(self) -> float:
        """Number of real observations."""
        return self.size if self.real is None else self.real.size

    @property
    def counts(self) -> NDArray[np.float64]:
        """Count of each observation, shape (n_observations,)."""
        return np.ones(len(self.y)) if self.count is None else self.count

    @property
    def positions(self) -> NDArray[np.intp]:
        """Row of `table` of each observation, shape (n_observations,)."""
        return np.arange(len(self.y)) if self.index is None else self.index

    def row_counts(self) -> NDArray[np.float64]:
        """Count of observations at each row of `table`, shape (n_table_rows,)."""
        return _tally(self.positions, self.counts, n_rows(self.table))

    def rows(self) -> Rows:
        """Input rows of the observations, or their number if there are no inputs."""
        if self.table is None:
            return Rows.without_inputs(len(self.y))
        return Rows(self.table, self.positions, None, len(self.y))

    def select(self, index: NDArray[np.intp]) -> Data:
        """Keep some observations, as real ones, with their own table.

        A table that is mapped from a file may be larger than memory, so it is shared.
        """
        count = None if self.count is None else self.count[index]
        if is_mapped(self.table):
            return Data(self.table, self.positions[index], self.y[index], count)
        table = None if self.table is None else take(self.table, self.positions[index])
        return Data(table, None, self.y[index], count)

    def with_unlabelled(self, rows: Table) -> Data:
        """Add input rows without outcomes, for imputed observations to refer to."""
        return replace(self, table=stack([self.table, rows]), index=self.positions)

    def extend(self, block: Block, counts: Counts = False) -> Data:
        r"""Add imputed observations: :math:`D_{j+1} = D_j \cup \hat z` (Algorithm 1, step 2a).

        Parameters
        ----------
        block : Block
        counts : False, "labels" or "means"
            False keeps one row per observation. "labels" merges observations with the same input
            row and the same label (exact for any weighted loss). "means" keeps one observation per
            input row, with the mean outcome and the count (exact for squared and other
            exponential-family losses).
        """
        table, new_index = self._with_inputs(block.x)
        if counts and table is not None:
            grown = replace(self, table=table, real=self.real or self)
            return grown._merged_with(block.y, new_index, counts)
        index = None if new_index is None else np.concatenate([self.positions, new_index])
        y = np.concatenate([self.y, block.y])
        counted = self.count is not None or counts
        count = np.concatenate([self.counts, np.ones(block.size)]) if counted else None
        return Data(table, index, y, count, real=self.real or self)

    def replaced_by(self, block: Block, counts: Counts = False) -> Data:
        """Keep only imputed observations: the data of a parametric bootstrap (section 4)."""
        table, index = self._with_inputs(block.x)
        imputed = Data(table, index, block.y, None, real=self.real or self)
        return imputed.merge(counts) if counts and table is not None else imputed

    def _with_inputs(self, x: Rows) -> tuple[Table | None, NDArray[np.intp] | None]:
        """The table with new input rows, and the positions of a block's rows in it."""
        if self.table is None or x.table is self.table:  # old rows, as from an urn or a pool
            return self.table, None if self.table is None else x.positions
        return stack([self.table, x.values]), n_rows(self.table) + np.arange(x.size)

    def merge(self, counts: Literal["labels", "means"]) -> Data:
        """Merge observations that an algorithm need not distinguish (see `extend`)."""
        return self._merged_with(self.y[:0], np.empty(0, dtype=np.intp), counts)

    def _merged_with(self, y: NDArray[Any], index: Any, counts: Literal["labels", "means"]) -> Data:
        """Merge these observations with others, each of count 1, without concatenating them."""
        if counts == "labels":
            n_labels = int(max(self.y.max(), y.max(initial=0))) + 1
            size = n_rows(self.table) * n_labels
            times = _tally(self.positions * n_labels + self.y, self.counts, size)
            np.add.at(times, index * n_labels + y, 1.0)
            seen = np.flatnonzero(times)
            return replace(self, index=seen // n_labels, y=seen % n_labels, count=times[seen])
        times, positions = self.row_counts(), self.positions
        np.add.at(times, index, 1.0)
        seen = np.flatnonzero(times)
        sums = []
        for old, new in zip(_columns(self.y), _columns(y), strict=True):
            total = _tally(positions, old * self.counts, len(times))
            np.add.at(total, index, new)
            sums.append(total[seen])
        mean = (np.stack(sums, axis=1) / times[seen, None]).reshape(len(seen), *self.y.shape[1:])
        return replace(self, index=seen, y=mean, count=times[seen])

    def resampled(self, rng: np.random.Generator, counts: Counts = False) -> Data:
        """Resample n observations with replacement: as counts, or as repeated rows."""
        times = rng.multinomial(round(self.n), self.counts / self.size)
        chosen = np.flatnonzero(times)
        index = None if self.table is None else self.positions[chosen]
        count = times[chosen].astype(np.float64)
        counted = replace(self, index=index, y=self.y[chosen], count=count)
        return counted if counts else counted.repeat()

    def repeat(self) -> Data:
        """Convert counts to repeated rows; they must be whole numbers."""
        times = self.counts.astype(np.intp)
        if not np.array_equal(times, self.counts):
            raise ValueError(
                "sample_weight must be whole numbers for an algorithm that takes no weights, "
                "got fractions: round them, or use an estimator whose fit takes sample_weight."
            )
        index = None if self.table is None else np.repeat(self.positions, times)
        return replace(self, index=index, y=np.repeat(self.y, times, axis=0), count=None)


def parts_of(data: Data) -> list[Any]:
    """The data and their arrays, which data extended from them share."""
    parts = [data, data.table, data.index, data.y, data.count]
    return [each for each in parts if each is not None]


def as_data(data: Any) -> Data:
    """Convert `Data`, a pair (X, y) or an array of observations to `Data`.

    Examples
    --------
    >>> as_data(([[0.0], [1.0]], [0, 1])).n
    2.0
    """
    if isinstance(data, Data):
        return data
    if isinstance(data, tuple):
        if len(data) != 2:
            raise ValueError(f"data must be a pair (X, y), got a tuple of {len(data)}.")
        return Data.of(data[0], data[1])
    return Data.of(data)


def finite(y: NDArray[Any]) -> bool:
    """Whether no outcome is NaN or infinite."""
    if y.dtype.kind != "f":
        return True
    if y.size > MANY:
        flat = y.ravel()
        if math.isfinite(np.dot(flat, flat)):  # faster than checking each, and usually enough
            return True
    return bool(np.isfinite(y).all())


def _tally(
    index: NDArray[np.intp], weights: NDArray[np.float64], size: int = 0
) -> NDArray[np.float64]:
    """Sum weights by index."""
    return np.asarray(np.bincount(index, weights=weights, minlength=size), dtype=np.float64)


def _columns(y: NDArray[Any]) -> NDArray[Any]:
    """One row per output."""
    return y.reshape(len(y), math.prod(y.shape[1:])).T


def _check_outcomes(outcomes: NDArray[Any], name: str) -> None:
    if outcomes.dtype.kind in "fc":
        bad = ~np.isfinite(outcomes)
    elif outcomes.dtype.kind == "O":
        bad = np.array([value is None or value != value for value in outcomes.ravel()])
    else:
        return
    if bad.any():
        raise ValueError(
            f"{name} contains NaN, missing or infinity in {int(bad.sum())} places: "
            "drop those rows or fill them in."
        )


def _checked_weight(sample_weight: ArrayLike, rows: int) -> NDArray[np.float64]:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight must have one weight per row: got sample_weight.shape "
            f"{weight.shape}, expected ({rows},)."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            "sample_weight must be finite and not negative, "
            f"got a minimum of {weight.min():.3g}: weight 0 leaves a row out."
        )
    if not weight.any():
        raise ValueError("sample_weight is all zero: leave at least 2 rows with a positive weight.")
    return weight
