"""Columns: one column of a table of any kind, and tables that have its values in every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearbayes.core.schedule import is_whole
from nearbayes.core.tables import Table, as_table, is_frame, n_rows, take

__all__ = ["Column", "column_of"]

MOST_VALUES = 30


@dataclass(frozen=True)
class Column:
    """One column of a table, and rows that show its range.

    Attributes
    ----------
    table : table of shape (n_rows, n_columns)
    place : int
    name : str
    values : array
        The values that are not missing.
    shown : array of int
        Rows of the table whose values are shown, sorted by value: all distinct values, or 30
        quantiles. Only values that there are: no column gets a type or a number it never had.
    """

    table: Table
    place: int
    name: str
    values: NDArray[Any]
    shown: NDArray[np.intp]
    grid: NDArray[Any]

    @property
    def is_ordered(self) -> bool:
        """Whether values are numbers or dates, and not names."""
        return self.values.dtype.kind in "iufM"

    def imposed_on(self, rows: NDArray[np.intp]) -> Table:
        """Rows of the table, all of them with the first value shown, then with the second, ...

        Returns
        -------
        table of shape (n_shown * n_rows, n_columns), of the kind of the table
        """
        imposed = take(self.table, np.tile(rows, len(self.shown)))
        source = np.repeat(self.shown, len(rows))
        if not is_frame(imposed):
            imposed[:, self.place] = self.table[source, self.place]
            return imposed
        column = nw.from_native(self.table, eager_only=True)[self.name][source.tolist()]
        return nw.to_native(nw.from_native(imposed, eager_only=True).with_columns(column))


def column_of(X: Any, feature: str | int) -> Column:
    """Find a column by its name or its number, and the rows that show its range."""
    table = as_table(X)
    if sparse.issparse(table) or len(table.shape) != 2:
        raise ValueError(
            f"X must be a dense table with rows and columns, got {type(table).__name__} of shape "
            f"{table.shape}: use X.toarray() for a sparse matrix."
        )
    place, name = _found(table, feature)
    known, values = _known(table, place)
    if len(known) == 0:
        raise ValueError(f"feature {feature!r} has no value in X that is not missing.")
    distinct, first = np.unique(values, return_index=True)
    if len(distinct) > MOST_VALUES:
        if values.dtype.kind not in "iufM":
            raise ValueError(
                f"feature {feature!r} has {len(distinct)} different names, more than the "
                f"{MOST_VALUES} that can be read: give rows of X with fewer."
            )
        first = _quantile_places(values)
    return Column(table, place, name, values, known[first], values[first])


def _found(table: Table, feature: str | int) -> tuple[int, str]:
    names = list(table.columns) if is_frame(table) else []
    if isinstance(feature, str) and feature in names:
        return names.index(feature), feature
    if is_whole(feature) and 0 <= int(feature) < table.shape[1]:
        place = int(feature)
        return place, str(names[place]) if names else f"feature {place}"
    choice = f", or one of {names}" if names else ""
    raise ValueError(
        f"feature must be a number from 0 to {table.shape[1] - 1}{choice}, got {feature!r}."
    )


def _known(table: Table, place: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Rows where the column is not missing, and its values there."""
    if is_frame(table):
        column = nw.from_native(table, eager_only=True)[:, place]
        known = np.flatnonzero(~column.is_null().to_numpy())
        values = np.array(column[known.tolist()].to_list())
    else:
        known, values = np.arange(n_rows(table)), np.asarray(table[:, place])
    if values.dtype.kind == "O":
        there = np.array([value is not None and value == value for value in values], dtype=bool)
    else:
        there = values == values  # NaN is not equal to itself
    return known[there], values[there]


def _quantile_places(values: NDArray[Any]) -> NDArray[np.intp]:
    """Where the quantiles of a column are, from its smallest to its largest value."""
    order = np.argsort(values, kind="stable")
    spaced = order[np.linspace(0, len(values) - 1, MOST_VALUES).round().astype(np.intp)]
    return spaced[np.unique(values[spaced], return_index=True)[1]]
