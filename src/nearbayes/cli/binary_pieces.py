"""Binary pieces: Parquet, Feather and Stata files as frames of some rows each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from nearbayes.cli.errors import UsageError
from nearbayes.cli.text_pieces import check_names

__all__ = ["binary_pieces", "plain_columns"]

OWN_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls row names without a name
BUFFER = 1 << 20  # bytes that are read of a column at a time
MARK = b"ARROW1"  # of a Feather file since version 2


def binary_pieces(
    path: Path, kind: str, n_rows: int, columns: Collection[str] | None = None, name: str = ""
) -> Iterator[pd.DataFrame]:
    """Frames of at most `n_rows` rows; none of a file without rows.

    Parameters
    ----------
    path : Path
    kind : ".parquet", ".feather", ".arrow" or ".dta"
    n_rows : int
    columns : collection of str, optional
        Columns that are needed; others come without their cells, as missing.
    name : str
        Column that names the rows: its integers stay integers where some are missing.
    """
    with _readable(path, kind):
        if kind == ".dta":
            yield from _stata(path, n_rows)
            return
        for batch, names in _batches(path, kind, n_rows, columns):
            if batch.num_rows:
                yield _frame(batch, names, name)


def _stata(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    with pd.read_stata(path, chunksize=n_rows) as frames:
        for frame in frames:
            check_names(path, list(frame.columns))
            yield plain_columns(frame.reset_index(drop=True))


def _batches(
    path: Path, kind: str, n_rows: int, columns: Collection[str] | None
) -> Iterator[tuple[Any, list[str]]]:
    """Record batches, with the names of all columns of the file."""
    if kind == ".parquet":
        with parquet.ParquetFile(path, buffer_size=BUFFER) as file:
            names = _checked_names(path, file.schema_arrow)
            wanted = [name for name in names if columns is None or name in columns]
            for batch in file.iter_batches(batch_size=n_rows, columns=wanted):
                yield batch, names
        return
    with path.open("rb") as start:
        old = start.read(len(MARK)) != MARK
    if old:  # Feather 1, which has no batches
        table = pa.Table.from_pandas(pd.read_feather(path), preserve_index=False)
        names = _checked_names(path, table.schema)
        yield from ((batch, names) for batch in table.to_batches(n_rows))
        return
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        names = _checked_names(path, file.schema)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            for place in range(0, batch.num_rows, n_rows):
                yield batch.slice(place, n_rows), names


def _checked_names(path: Path, schema: Any) -> list[str]:
    names = [str(name) for name in schema.names if not OWN_INDEX.fullmatch(str(name))]
    check_names(path, names)
    return names


def _frame(batch: Any, names: list[str], naming: str) -> pd.DataFrame:
    """The batch as a frame of plain columns; columns that were not read are all missing."""
    read = {}
    for name in set(names) & set(batch.schema.names):
        column = batch.column(name)
        if name == naming and pa.types.is_integer(column.type):
            read[name] = pd.Series(pd.array(column.to_pylist(), dtype="Int64"))
        else:
            read[name] = _plain(column.to_pandas())
    lacking = pd.Series(np.nan, range(batch.num_rows))
    return pd.DataFrame({name: read.get(name, lacking) for name in names})


def plain_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of numbers, dates or text, whatever types a frame has."""
    return pd.DataFrame({name: _plain(frame[name]) for name in frame})


def _plain(values: pd.Series) -> pd.Series:
    """Keep numbers and dates; convert the rest, also booleans, to text as in a CSV."""
    types = pd.api.types
    if types.is_datetime64_any_dtype(values):
        return pd.to_datetime(values, utc=True).dt.tz_localize(None)
    if types.is_timedelta64_dtype(values):
        return values.dt.total_seconds()
    if types.is_numeric_dtype(values) and not types.is_bool_dtype(values):
        return values if isinstance(values.dtype, np.dtype) else values.astype(float)
    return values.astype(str).astype(object).where(values.notna(), None)


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise UsageError(f"{path} cannot be read as a {kind[1:]} file: {error}") from error
