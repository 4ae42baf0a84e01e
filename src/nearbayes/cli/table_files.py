"""Tables: reads and writes data files as pandas frames."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd

from nearbayes.cli.errors import UsageError
from nearbayes.cli.outputs import check_output

__all__ = ["check_table_output", "read_table", "write_table"]

COMPRESSED = ".gz"
BINARY = (".parquet", ".feather", ".arrow")
DELIMITERS = {".csv": None, ".tsv": "\t", ".txt": None}  # None: detected from the first lines
LIKELY = ",;\t|"
TYPED = {"\\t": "\t", "tab": "\t"}  # ways to write a tab in a shell
SAMPLE = 1 << 16  # characters used to detect the delimiter
MAKES_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_table(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8-sig"
) -> pd.DataFrame:
    """Read a CSV (gzipped or not), Parquet or Feather file.

    Columns hold numbers, dates or text. All cells of a CSV are read as text; `Schema` infers
    their kind.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        CSV delimiter; detected if None.
    encoding : str
        CSV encoding.
    """
    if not path.is_file():
        raise UsageError(f"{path} does not exist: check the path.")
    if path.stat().st_size == 0:
        raise UsageError(f"{path} is empty.")
    kind = _kind(path)
    if kind in BINARY:
        frame = _read_binary(path, kind)
    elif kind in DELIMITERS:
        frame = _read_csv(path, _one_mark(delimiter) or DELIMITERS[kind], encoding)
    else:
        known = ".csv, .csv.gz, .tsv, .txt, .parquet, .feather"
        raise UsageError(f"{path} must have one of the suffixes {known}, got {kind!r}.")
    if frame.empty:
        raise UsageError(f"{path} has a header but no rows.")
    return frame


def _kind(path: Path) -> str:
    """Suffix of a path, ignoring .gz."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == COMPRESSED else suffix


def _one_mark(delimiter: str | None) -> str | None:
    mark = TYPED.get(delimiter or "", delimiter)
    if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
        raise UsageError(f"--delimiter must be one character, such as ';', got {delimiter!r}.")
    return mark


def _read_binary(path: Path, kind: str) -> pd.DataFrame:
    read = pd.read_parquet if kind == ".parquet" else pd.read_feather
    try:
        frame = read(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise UsageError(f"{path} cannot be read as a {kind[1:]} file: {error}") from error
    if frame.index.names != [None]:  # a column that pandas turned into an index
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_names(path, names)
    columns = {name: _plain(frame.iloc[:, k]) for k, name in enumerate(names)}
    return pd.DataFrame(columns).reset_index(drop=True)


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


def _read_csv(path: Path, delimiter: str | None, encoding: str) -> pd.DataFrame:
    with _text_of(path, encoding) as file:
        head = file.read(SAMPLE)
    if "\0" in head:
        raise UsageError(f"{path} is not a text file: use the suffix of its format, e.g. .parquet.")
    if not head.strip():
        raise UsageError(f"{path} is empty.")
    style: dict[str, Any] = {"delimiter": delimiter or _delimiter(head), "skipinitialspace": True}
    with _text_of(path, encoding) as file:
        _check_cells(path, csv.reader(file, **style))
    with _text_of(path, encoding) as file:
        return pd.read_csv(file, dtype=str, index_col=False, **style)


@contextmanager
def _text_of(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open the file as text; errors while reading become a `UsageError`."""
    opened: Any = gzip.open if path.suffix.lower() == COMPRESSED else open
    try:
        with opened(path, "rt", encoding=encoding, newline="") as file:
            yield file
    except UnicodeError as error:
        raise UsageError(
            f"{path} is not {encoding} text ({error}): set --encoding, for example to latin-1, "
            "cp1252 or utf-16."
        ) from error
    except LookupError as error:
        raise UsageError(
            f"--encoding must be an encoding of Python, such as utf-8, got {encoding!r}."
        ) from error
    except (csv.Error, pd.errors.ParserError, OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read as a table: {error}") from error


def _delimiter(head: str) -> str:
    """The candidate whose count per line is the same in most of the first lines."""
    lines = [line for line in head.splitlines()[:50] if line.strip()]

    def regularity(mark: str) -> tuple[int, int]:
        [(times, _)] = Counter(line.count(mark) for line in lines).most_common(1)
        return (sum(line.count(mark) == times for line in lines) if times else 0, times)

    return max(LIKELY, key=regularity)


def _check_cells(path: Path, rows: Any) -> None:
    """Refuse lines with more or fewer cells than the header; blank lines are skipped."""
    names: list[str] = []
    for row in rows:
        if len(row) <= 1 and not "".join(row).strip():
            continue
        if not names:
            names = row
            if len(names) == 1:
                raise UsageError(
                    f"{path} has only one column, {names[0][:40]!r}: set the column separator with "
                    "--delimiter."
                )
            _check_names(path, names)
        elif len(row) != len(names):
            raise UsageError(
                f"{path} has {len(row)} cells in line {rows.line_num}, but {len(names)} in its "
                "header: correct the line, or set the column separator with --delimiter."
            )


def _check_names(path: Path, names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} more than once: rename one of them.")


def check_table_output(path: Path) -> None:
    """Refuse a path that `write_table` cannot write, before any work is done."""
    if _kind(path) not in (".csv", *BINARY):
        raise UsageError(f"cannot write {path}: use .csv, .csv.gz, .parquet or .feather.")
    check_output(path)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format of the path's suffix; CSV cells cannot become formulas.

    Spreadsheets run text that starts with "=", "+", "-" or "@" as a formula. An apostrophe before
    it prevents that.
    """
    check_table_output(path)
    kind = _kind(path)
    if kind == ".parquet":
        frame.to_parquet(path)
    elif kind in BINARY:
        frame.to_feather(path)
    else:
        safe = frame.rename(columns=harmless)
        text = safe.select_dtypes(exclude="number").columns
        safe[text] = safe[text].map(harmless)
        safe.to_csv(path, index=False)


def harmless(cell: Any) -> Any:
    """Escape text that a spreadsheet would read as a formula; numbers stay unchanged.

    Examples
    --------
    >>> harmless("=1+1"), harmless("a=1"), harmless("-1"), harmless(-3)
    ("'=1+1", 'a=1', '-1', -3)
    """
    risky = isinstance(cell, str) and cell.startswith(MAKES_A_FORMULA)
    return f"'{cell}" if risky and not NUMBER.fullmatch(cell) else cell
