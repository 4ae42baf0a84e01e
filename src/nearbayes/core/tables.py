"""Tables of inputs: the few things the engine does to them, whatever their kind.

A table is a 2-D NumPy array, a SciPy sparse matrix, or a pandas or polars data frame. It is never
converted: a frame that comes in reaches the user's estimator as the same kind of frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

__all__ = ["Table", "as_table", "like", "n_rows", "numeric_values", "stack", "take"]

Table = Any


def as_table(x: Any) -> Table:
    """Leave arrays, sparse matrices and frames as they are; make an array of anything else.

    Examples
    --------
    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    """
    if sparse.issparse(x):
        return x.tocsr()  # the only sparse format whose rows can be taken
    return x if isinstance(x, np.ndarray) or is_frame(x) else np.asarray(x)


def is_frame(x: Any) -> bool:
    """Tell whether `x` is a data frame of a library that narwhals knows."""
    return nw.dependencies.is_into_dataframe(x)


def n_rows(table: Table) -> int:
    """Count rows; a scalar has none."""
    shape: tuple[int, ...] = table.shape
    return shape[0] if shape else 0


def take(table: Table, index: NDArray[np.intp]) -> Table:
    """Take rows by position, with repeats, keeping the kind of table and its dtypes."""
    return table[index] if isinstance(table, np.ndarray) else _safe_indexing(table, index)


def stack(tables: Sequence[Table]) -> Table:
    """Put tables of one kind below each other."""
    first = tables[0]
    if sparse.issparse(first):
        return sparse.vstack(tables, format="csr")
    if is_frame(first):
        return nw.to_native(nw.concat([nw.from_native(table) for table in tables]))
    return np.concatenate(tables)


def numeric_values(table: Table, purpose: str) -> NDArray[np.float64]:
    """Give the table as floats, or say which column is not a number.

    Parameters
    ----------
    table : array or frame of shape (n_rows, n_columns)
    purpose : str
        Who asks, for the error message.
    """
    if sparse.issparse(table):
        raise TypeError(f"{purpose} needs a dense table, got a sparse matrix: use inputs.Urn().")
    if is_frame(table):
        frame = nw.from_native(table)
        for name, dtype in frame.schema.items():
            if not dtype.is_numeric():
                raise TypeError(
                    f"{purpose} needs numeric columns, but column {name!r} has type {dtype}: "
                    "use inputs.Urn(), which takes rows of any type."
                )
        return np.asarray(frame.to_numpy(), dtype=np.float64)
    if not (np.issubdtype(table.dtype, np.number)):
        raise TypeError(
            f"{purpose} needs numeric columns, but the array has type {table.dtype}: "
            "use inputs.Urn(), which takes rows of any type."
        )
    return np.asarray(table, dtype=np.float64)


def like(table: Table, values: NDArray[np.float64]) -> Table:
    """Make a table of `values` with the kind, column names and dtypes of `table`.

    Integer columns are rounded, so that their dtype survives.
    """
    if not is_frame(table):
        return _as_dtype(values, table.dtype)
    frame = nw.from_native(table)
    columns = {
        name: nw.new_series(
            name, _rounded(values[:, j], dtype), dtype, backend=frame.implementation
        )
        for j, (name, dtype) in enumerate(frame.schema.items())
    }
    return nw.to_native(nw.from_dict(columns))


def _rounded(column: NDArray[np.float64], dtype: nw.dtypes.DType) -> NDArray[Any]:
    return np.rint(column).astype(np.int64) if dtype.is_integer() else column


def _as_dtype(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    return (np.rint(values) if np.issubdtype(dtype, np.integer) else values).astype(dtype)
