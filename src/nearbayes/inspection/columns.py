"""Columns of any kind of table: read one, or replace it by values it has elsewhere."""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearbayes.core.tables import Table, is_frame

__all__ = ["column_names", "column_values", "is_number", "is_present", "with_column"]


def column_names(table: Table, names: Any = None) -> list[str]:
    """Names to show: those given, those of the frame, or x0, x1, ..."""
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


def is_present(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are not missing: neither None nor NaN."""
    if values.dtype.kind in "fc":
        return np.asarray(~np.isnan(values))
    if values.dtype.kind != "O":
        return np.ones(values.shape, dtype=bool)
    return np.array([not _is_missing(value) for value in values], dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas.NA refuses to be a truth value; NaN and NaT do not equal themselves
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def is_number(values: NDArray[Any]) -> bool:
    """Tell whether a column holds numbers that have an order."""
    if values.dtype.kind == "O":
        known = values[is_present(values)].tolist()
        return bool(known) and all(isinstance(v, Real) and not isinstance(v, bool) for v in known)
    return values.dtype.kind in "iuf"


def with_column(table: Table, j: int, source: Table, rows: NDArray[np.intp]) -> Table:
    """The table with column j replaced by that column of `source` at `rows`.

    Values are taken from rows that exist, so that types and categories stay what they are.

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
    if hasattr(table, "isetitem"):  # pandas, whose columns may have any names
        changed = table.copy()
        changed.isetitem(j, source.iloc[rows, j].array)
        return changed
    if is_frame(table):
        new = nw.from_native(source, eager_only=True)[:, int(j)][rows.tolist()]
        return nw.to_native(nw.from_native(table, eager_only=True).with_columns(new))
    changed = table.copy()
    changed[:, j] = source[rows, j]
    return changed
