"""Tables: data files as pandas frames, or a sentence that says why not."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from nearbayes.cli.errors import UsageError

__all__ = ["read_table", "write_table"]

COMPRESSED = ".gz"
DELIMITERS = {".csv": None, ".tsv": "\t", ".txt": None}  # None: found out from the first lines
LIKELY = ",;\t|"
SAMPLE = 1 << 16  # characters that the delimiter is found out from
MAKES_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_table(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8-sig"
) -> pd.DataFrame:
    """Read a CSV (gzipped or not), Parquet or Feather file.

    Cells of a CSV come as text, so that nothing is guessed before `schema` looks at them.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        Of a CSV file; found out if not given.
    encoding : str
        Of a CSV file.
    """
    if not path.is_file():
        raise UsageError(f"{path} is not there: check the path.")
    if path.stat().st_size == 0:
        raise UsageError(f"{path} is empty.")
    kind = Path(path.stem).suffix if path.suffix == COMPRESSED else path.suffix
    if kind in (".parquet", ".feather", ".arrow"):
        frame = _read_binary(path, kind)
    elif kind in DELIMITERS:
        frame = _read_csv(path, delimiter or DELIMITERS[kind], encoding)
    else:
        known = ".csv, .csv.gz, .tsv, .txt, .parquet, .feather"
        raise UsageError(f"{path} has the suffix {kind!r}, which says nothing: use one of {known}.")
    _check_columns(path, [str(name) for name in frame.columns])
    if frame.empty:
        raise UsageError(f"{path} has a header but no rows.")
    return frame.rename(columns=str)


def _read_binary(path: Path, kind: str) -> pd.DataFrame:
    read = pd.read_parquet if kind == ".parquet" else pd.read_feather
    try:
        return read(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise UsageError(f"{path} is no {kind[1:]} file, or a damaged one: {error}") from error


def _read_csv(path: Path, delimiter: str | None, encoding: str) -> pd.DataFrame:
    head = _first_lines(path, encoding)
    delimiter = delimiter or _delimiter(head)
    names = next(csv.reader(head.splitlines(), delimiter=delimiter), [])
    if len(names) < 2:
        raise UsageError(
            f"{path} has one column only, {names[0][:40]!r}: name what separates the columns with "
            "--delimiter."
        )
    _check_columns(path, names)
    try:
        return pd.read_csv(
            path,
            sep=delimiter,
            encoding=encoding,
            dtype=str,
            skipinitialspace=True,
            index_col=False,
        )
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError, OSError) as error:
        raise UsageError(f"{path} cannot be read as a table: {error}") from error


def _first_lines(path: Path, encoding: str) -> str:
    opened: Any = gzip.open if path.suffix == COMPRESSED else open
    try:
        with opened(path, "rt", encoding=encoding, newline="") as file:
            head: str = file.read(SAMPLE)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not {encoding} text (byte {error.object[error.start]:#x}): give "
            "--encoding, such as latin-1 or cp1252."
        ) from error
    except (OSError, EOFError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except LookupError as error:
        raise UsageError(f"--encoding {encoding!r} is none that Python knows.") from error
    if "\0" in head:
        raise UsageError(f"{path} is not text: use the suffix of its kind, such as .parquet.")
    return head


def _delimiter(head: str) -> str:
    """The likely delimiter that is in most of the first lines equally often."""
    lines = [line for line in head.splitlines()[:50] if line.strip()]

    def regularity(mark: str) -> tuple[int, int]:
        [(times, _)] = Counter(line.count(mark) for line in lines).most_common(1)
        return (sum(line.count(mark) == times for line in lines) if times else 0, times)

    return max(LIKELY, key=regularity)


def _check_columns(path: Path, names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} more than once: rename one of them.")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format of the path's suffix; CSV cells cannot become formulas.

    A spreadsheet runs text that starts with "=", "+", "-" or "@"; an apostrophe before it stops
    that.
    """
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix in (".feather", ".arrow"):
        frame.to_feather(path)
    elif path.suffix == ".csv" or path.suffixes[-2:] == [".csv", COMPRESSED]:
        safe = frame.rename(columns=harmless)
        text = safe.select_dtypes(exclude="number").columns
        safe[text] = safe[text].map(harmless)
        safe.to_csv(path, index=False)
    else:
        raise UsageError(f"cannot write {path}: use .csv, .csv.gz, .parquet or .feather.")


def harmless(cell: Any) -> Any:
    """Text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("a=1"), harmless(-3)
    ("'=1+1", 'a=1', -3)
    """
    risky = isinstance(cell, str) and cell.startswith(MAKES_A_FORMULA)
    return f"'{cell}" if risky else cell
