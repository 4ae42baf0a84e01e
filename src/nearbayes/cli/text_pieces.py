"""Text pieces: a CSV file, compressed or not, as frames of some rows each; all cells are text."""

from __future__ import annotations

import csv
import io
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from nearbayes.cli.errors import UsageError
from nearbayes.cli.table_kinds import COMPRESSED

__all__ = ["LARGEST_RATIO", "SMALL", "check_names", "delimiter_of", "has_lines", "text_pieces"]

LIKELY = ",;\t| "
TYPED = {"\\t": "\t", "tab": "\t"}  # ways to write a tab in a shell
SAMPLE = 1 << 16  # characters used to detect the delimiter
# Deflate reaches 1000:1 on zeros; tables that people measure stay far below.
LARGEST_RATIO, SMALL, PIECE = 200, 100_000_000, 1 << 20
DAMAGED = (zlib.error, lzma.LZMAError)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
BYTES = r"b'[^']*'"  # texts that Python has written as bytes, as scipy.io.arff gives them


def delimiter_of(given: str | None) -> str | None:
    """The delimiter that the user typed, checked."""
    mark = TYPED.get(given or "", given)
    if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
        raise UsageError(f"--delimiter must be one character, such as ';', got {given!r}.")
    return mark


def text_pieces(
    path: Path, delimiter: str | None, encoding: str, n_rows: int, header: bool = True
) -> Iterator[pd.DataFrame]:
    """Frames of at most `n_rows` rows, with the columns of the header; none without rows.

    Every line is looked at once, by a reader that knows its number, before pandas parses it.

    Parameters
    ----------
    path : Path
    delimiter : str or None
        Detected from the first lines if None.
    encoding : str
    n_rows : int
    header : bool
        Whether the first line has the names; if not, they are "column 1", "column 2", ...
    """
    if path.suffix.lower() in COMPRESSED:
        _check_unpacked_size(path)
    with _text_of(path, encoding) as file:
        head = file.read(SAMPLE)
    if "\0" in head:
        raise UsageError(f"{path} is not a text file: use the suffix of its format, e.g. .parquet.")
    if not head.strip():
        raise UsageError(f"{path} is empty.")
    style: dict[str, Any] = {"delimiter": delimiter or _delimiter(head), "skipinitialspace": True}
    with _text_of(path, encoding) as file:
        lines = _Kept(file)
        rows = _checked_rows(path, csv.reader(lines, **style), header)
        names: Any = next(rows, None)
        if names is None:
            raise UsageError(f"{path} is empty.")
        if header:
            text = io.StringIO(lines.taken())
            names = pd.read_csv(text, dtype=str, **style).columns.map(_unquoted)
        style |= {"header": None, "names": names, "dtype": str, "index_col": False}
        ahead, marked = int(not header), dict[str, bool]()
        while ahead + sum(1 for _ in islice(rows, n_rows - ahead)):
            frame = pd.read_csv(io.StringIO(lines.taken()), **style)
            yield frame.apply(_decoded, marked=marked)
            ahead = 0


def _decoded(cells: pd.Series, marked: dict[str, bool]) -> pd.Series:
    """Cells without b'' around them, in columns that begin with it."""
    name, present = str(cells.name), cells.dropna()
    if len(present):
        marked.setdefault(name, bool(present.str.fullmatch(BYTES).all()))
    if not marked.get(name):
        return cells
    return cells.mask(cells.str.fullmatch(BYTES, na=False), cells.str[2:-1])


def _unquoted(name: str) -> str:
    """A name without single quotes around it."""
    quoted = len(name) > 2 and name[0] == name[-1] == "'"
    return name[1:-1] if quoted else name


class _Kept:
    """Lines of a file, of which the text is kept until it is taken."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._lines = file, list[str]()

    def __iter__(self) -> Iterator[str]:
        for line in self._file:
            self._lines.append(line)
            yield line

    def taken(self) -> str:
        """The text of all lines since the last call."""
        text = "".join(self._lines)
        self._lines.clear()
        return text


def _checked_rows(path: Path, rows: Any, header: bool) -> Iterator[list[str]]:
    """The names, if the first row has any, and again for each of the others.

    Lines with more or fewer cells than the first are refused, blank lines skipped.
    """
    names: list[str] = []
    for row in rows:
        if len(row) <= 1 and not "".join(row).strip():
            continue
        if not names:
            names = row if header else [f"column {place + 1}" for place in range(len(row))]
            if len(row) == 1:
                raise UsageError(
                    f"{path} has only one column, {row[0][:40]!r}: set the column separator with "
                    "--delimiter."
                )
            if header:
                _check_header(path, names)
        elif len(row) != len(names):
            raise UsageError(
                f"{path} has {len(row)} cells in line {rows.line_num}, but {len(names)} in its "
                "header: correct the line, or set the column separator with --delimiter."
            )
        yield names


def _check_header(path: Path, names: list[str]) -> None:
    """Refuse names that are there twice, and a line of numbers in their place."""
    numbers = [name.strip() for name in names if NUMBER.fullmatch(name.strip())]
    counted = [str(place) for place in range(len(names) + 1)]  # what pandas and R call columns
    if len(numbers) > len(names) / 2 and not set(numbers) <= set(counted) and not _years(numbers):
        raise UsageError(
            f"{path} has numbers in its first line, such as {numbers[0]!r}, and no names: put "
            "names there, or use --no-header to call the columns 'column 1', 'column 2' and so on."
        )
    check_names(path, names)


def _years(names: list[str]) -> bool:
    return all(name.isdecimal() and 1500 <= int(name) <= 2500 for name in names)


def check_names(path: Path, names: list[str]) -> None:
    """Refuse two columns of one name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} more than once: rename one of them.")


def _check_unpacked_size(path: Path) -> None:
    """Refuse a decompression bomb before any line of it is parsed."""
    most, size = max(SMALL, LARGEST_RATIO * path.stat().st_size), 0
    try:
        with COMPRESSED[path.suffix.lower()](path) as file:
            while piece := file.read(PIECE):
                size += len(piece)
                if size > most:
                    raise UsageError(
                        f"{path} unpacks to more than {most / 1e6:.0f} MB, {LARGEST_RATIO} times "
                        "its size or more: unpack it first if you trust it."
                    )
    except (OSError, EOFError, *DAMAGED) as error:
        raise UsageError(f"{path} cannot be read as a table: {error}") from error


def has_lines(path: Path, encoding: str, n_rows: int) -> bool:
    """Whether row k of the table is line k of the file, below its header."""
    with _text_of(path, encoding) as file:
        return sum(1 for _ in file) == n_rows + 1


@contextmanager
def _text_of(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open the file as text; errors while reading become a `UsageError`."""
    opened: Any = COMPRESSED.get(path.suffix.lower(), open)
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
    except (csv.Error, pd.errors.ParserError, OSError, EOFError, *DAMAGED) as error:
        raise UsageError(f"{path} cannot be read as a table: {error}") from error


def _delimiter(head: str) -> str:
    """The candidate whose count per line is the same in most of the first lines.

    Runs of spaces separate cells only where no other candidate does.
    """
    lines = [" ".join(line.split(" ")) for line in head.splitlines()[:50] if line.strip()]

    def regularity(mark: str) -> tuple[bool, int, int]:
        [(times, _)] = Counter(line.count(mark) for line in lines).most_common(1)
        same = sum(line.count(mark) == times for line in lines) if times else 0
        return same > 0 and mark != " ", same, times

    return max(LIKELY, key=regularity)
