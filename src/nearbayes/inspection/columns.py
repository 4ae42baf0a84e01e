"""Columns of any kind of table: read one, replace one, and choose values that show its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearbayes.core.schedule import is_whole
from nearbayes.tables.table import Table, as_table, is_frame, take

__all__ = ["Column", "column_names", "column_of", "column_values", "known_values", "with_column"]

Index = NDArray[np.intp]
NUMBERS, ORDERED = "iuf", "iufM"  # dtype kinds; dates are ordered, but not numbers


@dataclass(frozen=True)
class Column:
    """One column of a table, and rows that show its range.

    Attributes
    ----------
    values : array of shape (n_known,)
        Values that are not missing: numbers, dates or text.
    n_distinct : int
        Number of distinct values.
    shown, grid : arrays of shape (n_shown,)
        Rows of the table whose values are shown, and these values, sorted. Values always come from
        the table, so a column keeps its type and categories.
    """

    table: Table
    place: int
    name: str
    values: NDArray[Any]
    n_distinct: int
    shown: Index
    grid: NDArray[Any]

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return len(self.values) > 0 and self.values.dtype.kind in NUMBERS

    @property
    def is_ordered(self) -> bool:
        """Whether values are numbers or dates, not text."""
        return self.values.dtype.kind in ORDERED

    def imposed_on(self, rows: Index) -> Table:
        """All rows with the first shown value, then all rows with the second, and so on."""
        repeated = take(self.table, np.tile(rows, len(self.shown)))
        return with_column(repeated, self.place, self.table, np.repeat(self.shown, len(rows)))


def column_of(
    X: Any, feature: str | int, names: Any = None, *, most: int = 30, trim: float = 0.0
) -> Column:
    """Find a column by name or index, and the rows that show its range.

    Shows all distinct values. If there are more than `most`, shows that many quantiles of numbers
    and dates, leaving out a share `trim` of the rows at each end, or the most frequent texts.

    Examples
    --------
    >>> column = column_of(np.array([[5.0], [np.nan], [2.0], [5.0]]), 0)
    >>> column.name, column.grid.tolist(), column.shown.tolist()
    ('x0', [2.0, 5.0], [2, 0])
    """
    table = as_table(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {table.shape}.")
    place = _place(table, feature)
    known, values = known_values(table, place)
    distinct, first, count = np.unique(values, return_index=True, return_counts=True)
    if len(distinct) > most and values.dtype.kind in ORDERED:
        spaced = np.argsort(values, kind="stable")[evenly_spaced(len(values), most, trim)]
        first = spaced[np.unique(values[spaced], return_index=True)[1]]
    else:
        first = first[np.sort(np.argsort(-count, kind="stable")[:most])]
    name = column_names(table, names)[place]
    return Column(table, place, name, values, len(distinct), known[first], values[first])


def _place(table: Table, feature: str | int) -> int:
    names = list(table.columns) if is_frame(table) else []
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and 0 <= int(feature) < table.shape[1]:
        return int(feature)
    choice = f", or one of {names}" if names else ""
    raise ValueError(
        f"feature must be an integer from 0 to {table.shape[1] - 1}{choice}, got {feature!r}."
    )


def evenly_spaced(n: int, most: int, trim: float = 0.0) -> Index:
    """At most `most` positions from 0 to n - 1, leaving out a share `trim` at each end.

    Examples
    --------
    >>> evenly_spaced(3, 10).tolist(), evenly_spaced(101, 3).tolist()
    ([0, 1, 2], [0, 50, 100])
    """
    ends = trim * (n - 1), (1 - trim) * (n - 1)
    return np.linspace(*ends, min(n, most)).round().astype(np.intp)


def column_names(table: Table, names: Any = None) -> list[str]:
    """Names to show: the given names, those of the frame, or x0, x1, ..."""
    n_columns = table.shape[1]
    if names is None:
        names = table.columns if is_frame(table) else [f"x{j}" for j in range(n_columns)]
    shown = [str(name) for name in names]
    if len(shown) != n_columns:
        raise ValueError(
            f"feature_names must name the {n_columns} columns of X, got {len(shown)} names."
        )
    return shown


def column_values(table: Table, j: int) -> NDArray[Any]:
    """Values of one column, shape (n_rows,)."""
    if sparse.issparse(table):
        return np.asarray(table[:, [j]].toarray()[:, 0])
    if is_frame(table):
        return np.asarray(nw.from_native(table, eager_only=True)[:, int(j)].to_numpy())
    return np.asarray(table[:, j])


def known_values(table: Table, j: int) -> tuple[Index, NDArray[Any]]:
    """Rows where a column is not missing, and its values there: numbers, dates or text."""
    values = column_values(table, j)
    known = np.flatnonzero(is_present(values))
    there = values[known]
    if there.dtype.kind == "O":
        there = np.array(there.tolist())
    return known, there.astype(str) if there.dtype.kind == "O" else there


def is_present(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of values that are not None, NaN, NaT or pandas.NA."""
    if values.dtype.kind == "O":
        return np.array([not _is_missing(value) for value in values], dtype=bool)
    return np.asarray(values == values)  # NaN and NaT do not equal themselves


def _is_missing(value: Any) -> bool:
    # pandas.NA has no truth value
    if isinstance(value, np.ndarray):
        return False
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def with_column(table: Table, j: int, source: Table, rows: Index) -> Table:
    """The table with column j replaced by that column of `source` at `rows`.

    Values are taken from existing rows, so types and categories stay the same.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> with_column(table, 1, table, np.array([1, 0])).tolist()
    [[1.0, 4.0], [3.0, 2.0]]
    """
    if sparse.issparse(table):
        changed = table.tolil(copy=True)
        changed[:, [j]] = source[:, [j]].toarray()[rows]
        return changed.tocsr()
    if is_frame(table):
        new = nw.from_native(source, eager_only=True)[:, int(j)][rows.tolist()]
        return nw.to_native(nw.from_native(table, eager_only=True).with_columns(new))
    changed = table.copy()
    changed[:, j] = source[rows, j]
    return changed
