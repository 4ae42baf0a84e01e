"""Writing tables: data frames as CSV, Parquet or Feather files, all at once or piece by piece."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa

from nearbayes.cli.errors import UsageError
from nearbayes.cli.outputs import check_output, writing
from nearbayes.cli.table_kinds import WRITTEN, kind_of
from nearbayes.files.atomic import replacing

__all__ = ["check_table_output", "harmless", "table_writer", "write_table"]

MAKES_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class _Writes(Protocol):
    """Takes frames of the same columns, one after the other."""

    def add(self, frame: pd.DataFrame) -> None: ...


def check_table_output(path: Path) -> None:
    """Refuse a path that `table_writer` cannot write, before any work is done."""
    if _output_kind(path) not in WRITTEN or path.suffix.lower() in (".bz2", ".xz"):
        raise UsageError(f"cannot write {path}: use .csv, .csv.gz, .parquet or .feather.")
    check_output(path)


def _output_kind(path: Path) -> str:
    """Kind of file to write; a pipe or terminal without a suffix gets CSV."""
    no_file = path.exists() and not path.is_file() and not path.is_dir()
    return ".csv" if no_file and not path.suffix else kind_of(path)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format of the path's suffix; see `table_writer`."""
    with table_writer(path) as writer:
        writer.add(frame)


@contextmanager
def table_writer(path: Path) -> Iterator[_Writes]:
    """Write frames below each other, in the format of the path's suffix, whole or not at all.

    CSV cells cannot become formulas: spreadsheets run text that starts with "=", "+", "-" or "@" as
    one, which an apostrophe before it prevents.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder) / "table.csv"
    ...     with table_writer(place) as writer:
    ...         writer.add(pd.DataFrame({"a": [1]}))
    ...         writer.add(pd.DataFrame({"a": [2]}))
    ...     place.read_text().split()
    ['a', '1', '2']
    """
    check_table_output(path)
    kind = _output_kind(path)
    with writing(path), replacing(path) as draft, ExitStack() as stack:
        if kind == ".csv":
            opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
            yield _Text(stack.enter_context(opened(draft, "wt", encoding="utf-8", newline="")))
        else:
            yield stack.enter_context(closing(_Columns(draft, kind)))


class _Text:
    """CSV; the first frame brings the header."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._empty = stream, True

    def add(self, frame: pd.DataFrame) -> None:
        """Append rows."""
        safe = frame.rename(columns=harmless)
        text = safe.select_dtypes(exclude="number").columns
        safe[text] = safe[text].map(harmless)
        safe.to_csv(self._stream, index=False, header=self._empty)
        self._empty = False


class _Columns:
    """Parquet or Feather; the first frame says the types of columns."""

    def __init__(self, path: Path, kind: str) -> None:
        self._path, self._kind = path, kind
        self._writer: Any = None

    def add(self, frame: pd.DataFrame) -> None:
        """Append rows."""
        if self._writer is None:
            self._schema = _with_text(pa.Schema.from_pandas(frame, preserve_index=False))
            self._writer = _opened(self._path, self._kind, self._schema)
        self._writer.write_table(pa.Table.from_pandas(frame, self._schema, preserve_index=False))

    def close(self) -> None:
        """Write what is at the end of such files."""
        if self._writer is not None:
            self._writer.close()


def _opened(path: Path, kind: str, schema: pa.Schema) -> Any:
    if kind == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema)
    return pa.ipc.new_file(str(path), schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def _with_text(schema: pa.Schema) -> pa.Schema:
    """Text for columns that are empty in the first rows: numbers keep their type when empty."""
    fields = [
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)


def harmless(cell: Any) -> Any:
    """Escape text that a spreadsheet would read as a formula; numbers stay unchanged.

    Examples
    --------
    >>> harmless("=1+1"), harmless("a=1"), harmless("-1"), harmless(-3)
    ("'=1+1", 'a=1', '-1', -3)
    """
    risky = isinstance(cell, str) and cell.startswith(MAKES_A_FORMULA)
    return f"'{cell}" if risky and not NUMBER.fullmatch(cell) else cell
