r"""Basis: columns of a table as smooth functions, for a ridge regression with a few variances.

A number x becomes a straight line and, if it has enough values, curves: cubic radial functions
:math:`|x - k_j|^3` around ten quantiles, without their linear part, rotated so that the first
curves vary most and are therefore the smoothest. Pairs of numbers become products. A category
becomes one column per level. Missing numbers are replaced by the mean, with a column that marks
them. Beyond the range seen in training, functions are constant, as those of trees are.

Columns are in groups, which share a prior variance: the line of a number, its curves, the levels of
a category, all products.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from nearbayes.tables.table import Table, is_frame, n_rows

__all__ = ["Basis", "Levels", "Number"]

Array = NDArray[np.float64]
N_KNOTS, MOST_CURVES, FEWEST_VALUES = 10, 6, 5
FARTHEST = 5.0  # standard deviations: values beyond would have too much leverage
MOST_LEVELS = 30
MOST_COLUMNS = 600  # of lines, or of curves
MOST_PAIRS = 200  # more would take longer than the trees
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Number:
    """A column of numbers: its line, its curves and whether values were missing."""

    mean: float
    scale: float
    low: float
    high: float
    has_missing: bool
    knots: Array
    straight: Array
    turn: Array

    @classmethod
    def of(cls, values: Array, curved: bool) -> Number | None:
        """Learn from training values; None if there is nothing to learn from."""
        known = values[np.isfinite(values)]
        missing = bool(np.isnan(values).any())
        if not len(known) or (known.min() == known.max() and not missing):
            return None
        low, high = float(known.min()), float(known.max())
        with np.errstate(over="ignore"):
            scale = float(known.std())
        none = np.zeros(0)
        plain = cls(float(known.mean()), scale, low, high, missing, none, none, none)
        if not np.isfinite([plain.mean, scale]).all() or scale <= NEGLIGIBLE * abs(plain.mean):
            return None
        line = plain.line(known)
        if not curved or len(np.unique(line)) < FEWEST_VALUES:
            return plain
        knots = np.unique(np.quantile(line, np.linspace(0, 1, N_KNOTS)))
        raw, flat = _radial(line, knots), _with_constant(line)
        straight: Array = np.linalg.lstsq(flat, raw, rcond=None)[0].astype(np.float64)
        _, sizes, axes = np.linalg.svd(raw - flat @ straight, full_matrices=False)
        kept = int(np.sum(sizes > NEGLIGIBLE * sizes[0]) if sizes[0] > 0 else 0)
        turn = axes[: min(kept, MOST_CURVES)].T * np.sqrt(len(line)) / max(sizes[0], NEGLIGIBLE)
        return cls(plain.mean, scale, low, high, missing, knots, straight, turn)

    def line(self, values: Array) -> Array:
        """Standardised values within the range seen; missing ones are 0."""
        inside = (np.clip(values, self.low, self.high) - self.mean) / self.scale
        return np.nan_to_num(np.clip(inside, -FARTHEST, FARTHEST), nan=0.0)

    def lines(self, values: Array) -> Array:
        """The line and, if values were missing in training, a mark; shape (n_rows, 1 or 2)."""
        line = self.line(values)[:, None]
        return np.hstack([line, np.isnan(values)[:, None]]) if self.has_missing else line

    def curves(self, values: Array) -> Array:
        """Curves, shape (n_rows, n_curves)."""
        line = self.line(values)
        if not len(self.knots):
            return np.zeros((len(line), 0))
        bent = _radial(line, self.knots) - _with_constant(line) @ self.straight
        return np.asarray(bent @ self.turn)


@dataclass(frozen=True)
class Levels:
    """A column of categories: its most frequent levels."""

    levels: list[Any]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Levels:
        """Learn the levels from training values."""
        seen = values.tolist()
        counts = Counter(value for value in seen if value is not None and value == value)
        ranked = sorted(counts, key=lambda value: (-counts[value], str(value)))
        return cls(ranked[:MOST_LEVELS])

    def marks(self, values: NDArray[Any]) -> Array:
        """One column per level; zeros for a level that is not known."""
        place = {level: j for j, level in enumerate(self.levels)}
        codes = np.array([place.get(value, -1) for value in values.tolist()], dtype=np.intp)
        return np.asarray(codes[:, None] == np.arange(len(self.levels)), dtype=np.float64)


@dataclass(frozen=True)
class Basis:
    """Smooth functions of a table.

    Attributes
    ----------
    numbers : dict of int to Number
        Columns of numbers by their place in the table.
    categories : dict of int to Levels
    pairs : array of shape (n_pairs, 2)
        Positions of the numbers to multiply.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> basis = Basis.of(X)
    >>> basis.functions(X).shape, np.bincount(basis.groups).tolist()
    ((50, 15), [1, 6, 1, 6, 1])
    """

    numbers: dict[int, Number]
    categories: dict[int, Levels]
    pairs: NDArray[np.intp]

    @classmethod
    def of(cls, table: Table) -> Basis:
        """Learn from the rows of a table; empty if it has too many columns."""
        columns = _columns(table) if table.shape[1] <= MOST_COLUMNS else []
        curved = MOST_CURVES * len(columns) <= MOST_COLUMNS
        found = {
            j: Number.of(values, curved)
            for j, values in enumerate(columns)
            if values.dtype.kind == "f"
        }
        numbers = {j: each for j, each in found.items() if each is not None}
        categories = {j: Levels.of(each) for j, each in enumerate(columns) if each.dtype == object}
        places = np.array(sorted(numbers), dtype=np.intp)
        pairs = np.stack(np.triu_indices(len(places), 1), axis=1)
        kept = pairs if len(pairs) <= MOST_PAIRS else pairs[:0]
        return cls(numbers, categories, places[kept])

    @property
    def groups(self) -> NDArray[np.intp]:
        """Group of each function."""
        sizes = []
        for number in self.numbers.values():
            sizes += [1 + number.has_missing, number.turn.shape[-1]]
        sizes += [len(each.levels) for each in self.categories.values()] + [len(self.pairs)]
        sizes = [size for size in sizes if size]
        return np.repeat(np.arange(len(sizes)), sizes)

    def functions(self, table: Table) -> Array:
        """Functions at the rows of a table, shape (n_rows, n_functions)."""
        columns = _columns(table) if self.numbers or self.categories else []
        parts = [np.zeros((n_rows(table), 0))]
        for j, number in self.numbers.items():
            parts += [number.lines(columns[j]), number.curves(columns[j])]
        parts += [each.marks(columns[j]) for j, each in self.categories.items()]
        if len(self.pairs):
            line = {j: number.line(columns[j]) for j, number in self.numbers.items()}
            parts.append(np.stack([line[i] * line[j] for i, j in self.pairs.tolist()], axis=1))
        return np.hstack(parts)


def _columns(table: Table) -> list[NDArray[Any]]:
    """Columns as floats, or as objects if they are categories."""
    if not is_frame(table):
        return list(np.asarray(table, dtype=np.float64).T)
    frame = nw.from_native(table, eager_only=True)
    return [_values(frame.get_column(name)) for name in frame.columns]


def _values(column: nw.Series[Any]) -> NDArray[Any]:
    if isinstance(column.dtype, nw.Categorical | nw.Enum):
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_list()
        return values
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _radial(line: Array, knots: Array) -> Array:
    return np.asarray(np.abs(line[:, None] - knots) ** 3)


def _with_constant(line: Array) -> Array:
    return np.stack([np.ones(len(line)), line], axis=1)
