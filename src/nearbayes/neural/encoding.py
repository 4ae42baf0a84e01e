"""Encoding: converts a table of any kind to the numeric inputs of a network.

Numeric columns are standardised; a missing value becomes the mean, and an extra column marks it as
missing. Columns of categories, text and booleans become one column per value: the first layer
learns an embedding of them. The real rows determine these columns; other values become zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearbayes.tables.table import Table, as_table, is_frame, n_rows

__all__ = ["Categories", "Encoding", "Numeric"]

Array = NDArray[Any]
MOST_CATEGORIES = 1_000
CONSTANT = 1e-7  # share of the mean: a smaller sd is rounding
LARGEST = 1e6  # standard deviations


@dataclass(frozen=True, eq=False)
class Numeric:
    """Columns of numbers, by place, with the mean and standard deviation of each.

    Attributes
    ----------
    places : array of shape (n_columns,)
    mean, sd : array of shape (n_columns,)
    gaps : array of shape (n_columns,)
        Whether values were missing.
    """

    places: Array
    mean: Array
    sd: Array
    gaps: Array


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of categories, by place, with its known values as text."""

    place: int
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Converts columns to inputs of a network; learned from the real rows.

    Attributes
    ----------
    n_columns : int
    numeric : Numeric
    categories : tuple of Categories
    names : tuple of str, optional
        Names of the columns, if all are text.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 3.0, None], "colour": ["red", "blue", "red"]})
    >>> Encoding.of(frame).encode(frame).tolist()  # size, missing, blue, red
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    n_columns: int
    numeric: Numeric
    categories: tuple[Categories, ...] = ()
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, table: Table, counts: Array | None = None) -> Encoding:
        """Learn the encoding of a table whose rows have counts."""
        columns = _columns(table)
        weights = np.ones(n_rows(table)) if counts is None else counts
        names = [place for place, column in enumerate(columns) if column.dtype.kind == "O"]
        plain = [place for place in range(len(columns)) if place not in names]
        categories = tuple(Categories(place, _seen(columns[place], place)) for place in names)
        return cls(len(columns), _numeric(columns, plain, weights), categories, _names(table))

    @property
    def n_inputs(self) -> int:
        """Inputs of the network, at least 1."""
        found = len(self.numeric.places) + int(self.numeric.gaps.sum())
        return max(1, found + sum(len(each.values) for each in self.categories))

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Inputs of the network, shape (n_rows, n_inputs)."""
        columns, rows = _columns(table), n_rows(table)
        if len(columns) != self.n_columns:
            raise ValueError(f"X must have {self.n_columns} columns, got {len(columns)}.")
        parts = [self._numbers(columns, rows)]
        for each in self.categories:
            column = columns[each.place]
            text = np.array([_text(value) for value in column], dtype=object)
            parts.append((text[:, None] == np.array(each.values, dtype=object)).astype(np.float32))
        encoded = np.concatenate(parts, axis=1)
        return encoded if encoded.shape[1] else np.zeros((rows, 1), np.float32)

    def _numbers(self, columns: Sequence[Array], rows: int) -> NDArray[np.float32]:
        """Standardised numbers, and which are missing."""
        known = self.numeric
        if not len(known.places):
            return np.zeros((rows, 0), np.float32)
        values = np.stack([_as_numbers(columns[place], place) for place in known.places], axis=1)
        missing = np.isnan(values)
        standard = np.where(missing, 0.0, (values - known.mean) / known.sd)
        # a constant column may have any size, and a new row any value
        standard = np.clip(standard, -LARGEST, LARGEST)
        return np.hstack([standard, missing[:, known.gaps]]).astype(np.float32)


def _numeric(columns: Sequence[Array], places: list[int], weights: Array) -> Numeric:
    """Mean and sd of the numbers that are not missing; a constant column keeps its units."""
    mean, sd, gaps = [], [], []
    for place in places:
        values = _as_numbers(columns[place], place)
        there = ~np.isnan(values)
        centre = np.average(values[there], weights=weights[there]) if there.any() else 0.0
        with np.errstate(over="ignore"):
            square = (values[there] - centre) ** 2
        spread = np.sqrt(np.average(square, weights=weights[there])) if there.any() else 0.0
        if not np.isfinite(spread):
            raise ValueError(
                f"X must have squares that are finite, got up to {np.abs(values[there]).max():.3g} "
                f"in column {place}: rescale it."
            )
        mean.append(centre)
        sd.append(spread if spread > CONSTANT * abs(centre) and spread > 0 else 1.0)
        gaps.append(not there.all())
    return Numeric(
        np.array(places, dtype=np.intp), np.array(mean), np.array(sd), np.array(gaps, dtype=bool)
    )


def _names(table: Table) -> tuple[str, ...] | None:
    if not is_frame(table):
        return None
    names = tuple(nw.from_native(table, eager_only=True).columns)
    return names if all(isinstance(name, str) for name in names) else None


def _seen(column: Array, place: int) -> tuple[str, ...]:
    """Values of a column of categories, in order."""
    values = sorted({_text(value) for value in column})
    if len(values) > MOST_CATEGORIES:
        raise ValueError(
            f"X must have at most {MOST_CATEGORIES} different values in a column of categories, "
            f"got {len(values)} in column {place}: drop the column, or group its values."
        )
    return tuple(values)


def _text(value: Any) -> str:
    """A category as text; None and NaN are the same category of missing values."""
    return "" if value is None or value != value else str(value)


def _as_numbers(column: Array, place: int) -> Array:
    if column.dtype.kind == "O":
        raise ValueError(
            f"X has text or categories in column {place}, which had numbers when the model was "
            "fitted: use numbers."
        )
    numbers = column.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"X contains infinity in column {place}: drop those rows or fill them in.")
    return np.asarray(numbers)


def _columns(table: Table) -> list[Array]:
    """Columns as arrays of numbers, or of objects for categories, text or booleans."""
    if is_frame(table := as_table(table)):
        frame = nw.from_native(table, eager_only=True)
        return [_column(series) for series in frame.iter_columns()]
    values = table.toarray() if sparse.issparse(table) else np.asarray(table)
    if values.dtype.kind in "OUS":
        return [_parsed(column) for column in values.astype(object).T]
    return list(values.T)


def _column(series: Any) -> Array:
    if series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if isinstance(series.dtype, nw.Datetime | nw.Date):
        return np.asarray(series.dt.timestamp("ms").cast(nw.Float64).to_numpy(), dtype=np.float64)
    if isinstance(series.dtype, nw.Duration):
        seconds = series.dt.total_milliseconds().cast(nw.Float64)
        return np.asarray(seconds.to_numpy(), dtype=np.float64)
    return np.array(series.to_list(), dtype=object)


def _parsed(column: Array) -> Array:
    """A column of objects as numbers, if all of its values are numbers."""
    if any(isinstance(value, str | bytes | bool) for value in column):
        return column
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return column
