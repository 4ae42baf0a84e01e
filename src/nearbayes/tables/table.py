"""Tables of inputs: the few operations of the engine on them, for any kind of table.

A table is a 2-D NumPy array, a SciPy sparse matrix, or a pandas or polars data frame. It is never
converted: the user's estimator gets the same kind of frame that the user passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

__all__ = [
    "Table",
    "TablePrint",
    "as_table",
    "categories",
    "check_categories",
    "describe",
    "is_frame",
    "is_mapped",
    "like",
    "n_rows",
    "numeric_values",
    "same_kind",
    "same_rows",
    "stack",
    "take",
    "unseen_categories",
]

Table = Any


def as_table(x: Any) -> Table:
    """Return arrays, sparse matrices and frames unchanged; convert anything else to an array.

    Rows that are neither numbers nor texts, such as dictionaries or sequences of different lengths,
    are the items of an array of objects.

    Examples
    --------
    >>> as_table([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    >>> as_table([[1.0], [2.0, 3.0]]).shape
    (2,)
    """
    if sparse.issparse(x):
        return x.tocsr()  # the only sparse format with access to rows
    return x if isinstance(x, np.ndarray) or is_frame(x) else _array_of(x)


def _array_of(x: Any) -> NDArray[Any]:
    try:
        return np.asarray(x)
    except ValueError:  # sequences of different lengths
        items = np.empty(len(x), dtype=object)
        items[:] = list(x)
        return items


def is_frame(x: Any) -> bool:
    """Whether `x` is a data frame of a library that narwhals supports."""
    # narwhals checks all its libraries in a tenth of a millisecond: too long for every block
    return not isinstance(x, np.ndarray) and nw.dependencies.is_into_dataframe(x)


def is_mapped(table: Table) -> bool:
    """Whether a table is mapped from a file, so that it may be larger than memory.

    Examples
    --------
    >>> is_mapped(np.zeros((2, 1)))
    False
    """
    return isinstance(table, np.memmap) and table.filename is not None


def categories(table: Table) -> dict[str, set[Any]]:
    """Possible values of each categorical column of a frame, by name.

    Examples
    --------
    >>> import pandas as pd
    >>> sorted(categories(pd.DataFrame({"c": pd.Categorical(["a", "b"]), "x": [1, 2]}))["c"])
    ['a', 'b']
    """
    if not is_frame(table):
        return {}
    frame = nw.from_native(table, eager_only=True)
    kinds = (nw.Categorical, nw.Enum)
    return {
        name: set(frame[name].cat.get_categories().to_list())
        for name, kind in frame.schema.items()
        if isinstance(kind, kinds)
    }


def unseen_categories(table: Table, known: Mapping[str, set[Any]]) -> dict[str, list[Any]]:
    """Values of categorical columns that are not among the known ones, by column."""
    unseen = {}
    for name, possible in categories(table).items():
        if name in known and not possible <= known[name]:  # may contain others, but does it?
            column = nw.from_native(table, eager_only=True)[name]
            values = set(column.drop_nulls().unique().to_list()) - known[name]
            if values:
                unseen[name] = sorted(values, key=str)
    return unseen


def check_categories(table: Table, known: Mapping[str, set[Any]]) -> None:
    """Reject values of categorical columns that are not among the known ones."""
    for name, values in unseen_categories(table, known).items():
        raise ValueError(
            f"X has categories in column {name!r} that were not in training: {values[:5]}: "
            "make them missing, or train on rows that have them."
        )


def n_rows(table: Table) -> int:
    """Number of rows; 0 for a scalar."""
    shape: tuple[int, ...] = table.shape
    return shape[0] if shape else 0


def take(table: Table, index: NDArray[np.intp]) -> Table:
    """Take rows by position, with repeats, keeping the kind of table and its dtypes."""
    return table[index] if isinstance(table, np.ndarray) else _safe_indexing(table, index)


def stack(tables: Sequence[Table]) -> Table:
    """Stack tables of one kind vertically."""
    first = tables[0]
    if sparse.issparse(first):
        return sparse.vstack(tables, format="csr")
    if is_frame(first):
        return nw.to_native(nw.concat([nw.from_native(table) for table in tables]))
    return np.concatenate(tables)


def numeric_values(table: Table, purpose: str) -> NDArray[np.float64]:
    """Return the table as floats, or raise an error that names a non-numeric column.

    Parameters
    ----------
    table : array or frame of shape (n_rows, n_columns)
    purpose : str
        Name of the caller, for the error message.
    """
    if sparse.issparse(table):
        raise TypeError(f"{purpose} needs a dense table, got a sparse matrix: use inputs.Urn().")
    if is_frame(table):
        frame = nw.from_native(table)
        for name, dtype in frame.schema.items():
            if not dtype.is_numeric():
                raise TypeError(
                    f"{purpose} needs numeric columns, but column {name!r} has type {dtype}: "
                    "use inputs.Urn(), which accepts rows of any type."
                )
        return np.asarray(frame.to_numpy(), dtype=np.float64)
    if not (np.issubdtype(table.dtype, np.number)):
        raise TypeError(
            f"{purpose} needs numeric columns, but the array has type {table.dtype}: "
            "use inputs.Urn(), which accepts rows of any type."
        )
    return np.asarray(table, dtype=np.float64)


def same_kind(a: Table, b: Table) -> bool:
    """Whether two tables have the same kind, columns and column types; rows may differ."""
    if type(a) is not type(b) or a.shape[1:] != b.shape[1:]:
        return False
    if not is_frame(a):
        return True
    return bool(nw.from_native(a).schema == nw.from_native(b).schema)


def same_rows(a: Table, b: Table) -> bool:
    """Whether two tables have the same rows in the same order; missing values are equal.

    Examples
    --------
    >>> same_rows(np.array([[1.0, np.nan]]), np.array([[1.0, np.nan]]))
    True
    """
    if isinstance(b, TablePrint):
        return TablePrint.of(a) == b
    if a is b:
        return True
    if not same_kind(a, b) or a.shape != b.shape:
        return False
    if sparse.issparse(a):
        return bool((a != b).nnz == 0)
    if is_frame(a):
        # only the values of rows matter
        plain = [
            table.reset_index(drop=True) if hasattr(table, "iloc") else table for table in (a, b)
        ]
        return bool(plain[0].equals(plain[1]))
    if a.dtype.kind == "O":  # rows may be arrays, for which == has no single answer
        return TablePrint.of(a).digest == TablePrint.of(b).digest
    return bool(((a == b) | ((a != a) & (b != b))).all())


@dataclass(frozen=True)
class TablePrint:
    """Replaces a table whose rows only need to be recognised: a hash, and a description.

    Examples
    --------
    >>> same_rows(np.zeros((2, 1)), TablePrint.of(np.zeros((2, 1))))
    True
    >>> same_rows(np.ones((2, 1)), TablePrint.of(np.zeros((2, 1))))
    False
    """

    digest: str
    words: str

    @classmethod
    def of(cls, table: Table) -> TablePrint:
        """Hash the values of a table; all missing values are equal, and so are 0 and -0."""
        digest = hashlib.sha256()
        if sparse.issparse(table):
            plain = sparse.csr_array(table, copy=True)
            plain.sum_duplicates()
            plain.eliminate_zeros()
            columns = [plain.data, plain.indices, plain.indptr]
        elif is_frame(table):
            frame = nw.from_native(table, eager_only=True)
            digest.update(repr(frame.schema).encode())
            columns = [_hashable(frame.get_column(name)) for name in frame.columns]
        else:
            columns = [table]
        for values in columns:
            digest.update(_bytes_of(values))
        return cls(digest.hexdigest(), describe(table))


def _hashable(column: nw.Series[Any]) -> Any:
    """Numbers as an array; anything else, and numbers among missing values, as a list."""
    if column.dtype.is_numeric() and not column.is_null().any():
        return column.to_numpy()
    return np.array(column.to_list(), dtype=object)


def _bytes_of(values: NDArray[Any]) -> bytes:
    if values.dtype.kind == "O":
        kept = [_hashable_item(each) for each in values.ravel().tolist()]
        return repr((values.shape, kept)).encode()
    if values.dtype.kind in "biuf":  # equal numbers are the same rows, whatever their dtype
        floats = values.astype(np.float64)
        values = np.where(np.isnan(floats), np.nan, floats) + 0.0
    return str((values.dtype, values.shape)).encode() + np.ascontiguousarray(values).tobytes()


def _hashable_item(item: Any) -> Any:
    """An item with a unique `repr`; all missing ones are equal."""
    if isinstance(item, np.ndarray):
        return _bytes_of(item)
    if isinstance(item, list | tuple | dict):
        return item
    return None if item is None or item != item else item


def describe(table: Table | TablePrint) -> str:
    """Describe a table, for error messages."""
    if isinstance(table, TablePrint):
        return table.words
    names = f", columns {list(table.columns)}" if is_frame(table) else ""
    return f"{type(table).__name__} of shape {table.shape}{names}"


def like(table: Table, values: NDArray[np.float64]) -> Table:
    """Make a table of `values` with the kind, column names and dtypes of `table`.

    Integer columns are rounded and kept in their range, so that their dtype survives.
    """
    if not is_frame(table):
        return _as_dtype(values, table.dtype)
    frame = nw.from_native(table)
    floats = nw.from_dict(
        {name: values[:, j] for j, name in enumerate(frame.columns)},
        backend=frame.implementation,
    )
    whole = [_whole(name, dtype) for name, dtype in frame.schema.items() if dtype.is_integer()]
    rounded = nw.to_native(floats.with_columns(*whole) if whole else floats)
    if hasattr(table, "astype"):  # pandas has types that narwhals does not distinguish
        return rounded.astype(dict(zip(table.columns, table.dtypes, strict=True)))
    return nw.to_native(
        nw.from_native(rounded).select(
            *(nw.col(name).cast(dtype) for name, dtype in frame.schema.items())
        )
    )


def _whole(name: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Round a column of floats into the range of an integer type; missing values stay missing."""
    low, high = _integer_range(str(dtype).lower())
    column = nw.col(name)
    return nw.when(~column.is_nan()).then(column.round().clip(low, high))


def _as_dtype(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    if np.issubdtype(dtype, np.integer):
        return np.rint(values).clip(*_integer_range(dtype)).astype(dtype)
    return values.astype(dtype)


def _integer_range(dtype: Any) -> tuple[float, float]:
    limits = np.iinfo(dtype)
    high = float(limits.max)
    # the largest 64-bit integers are not floats; the next float is just above them
    return float(limits.min), high if int(high) <= limits.max else float(np.nextafter(high, 0.0))
