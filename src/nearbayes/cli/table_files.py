"""Tables: data files as pandas frames, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import pandas as pd

from nearbayes.cli.binary_pieces import binary_pieces, plain_columns
from nearbayes.cli.errors import UsageError
from nearbayes.cli.table_kinds import BINARY, DELIMITERS, EXCEL, kind_of
from nearbayes.cli.text_pieces import (
    LARGEST_RATIO,
    SMALL,
    check_names,
    delimiter_of,
    has_lines,
    text_pieces,
)

__all__ = ["read_table", "table_pieces"]

WHOLE = 1 << 17  # rows of a piece, where all pieces are put together
# What reads other files in Python, to save them as CSV.
READERS = {
    ".arff": "scipy.io.arff.loadarff",
    ".json": "pandas.read_json",
    ".jsonl": "pandas.read_json(lines=True)",
    ".xls": "pandas.read_excel",
    ".ods": "pandas.read_excel",
    ".sav": "pandas.read_spss",
    ".sas7bdat": "pandas.read_sas",
    ".rds": "pyreadr.read_r",
    ".rda": "pyreadr.read_r",
    ".pkl": "pandas.read_pickle",
}


def read_table(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    sheet: str | None = None,
    header: bool = True,
) -> pd.DataFrame:
    """Read a CSV (compressed or not), Parquet, Feather, Stata or Excel file.

    Columns hold numbers, dates or text. All cells of a CSV are read as text; `Schema` infers
    their kind.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        CSV delimiter; detected if None.
    encoding : str
        CSV encoding.
    sheet : str, optional
        Sheet of an Excel file; the first if None.
    header : bool
        Whether the first line of a CSV has the names; if not, they are "column 1", "column 2", ...
    """
    style = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header": header}
    pieces = table_pieces(path, WHOLE, **style)  # type: ignore[arg-type]
    frame = pd.concat(_of_a_likely_size(path, pieces), ignore_index=True)
    lines = kind_of(path) in DELIMITERS and has_lines(path, encoding, len(frame))
    frame.attrs |= {"file": path.name, "has_lines": lines}
    return frame


def _of_a_likely_size(path: Path, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Refuse a file that takes far more memory than it has bytes, as soon as it does."""
    most, size = max(SMALL, LARGEST_RATIO * path.stat().st_size), 0
    for piece in pieces:
        size += 8 * piece.size
        if size > most:
            raise UsageError(
                f"{path} takes more than {most / 1e6:.0f} MB of memory, {LARGEST_RATIO} times its "
                "size or more: write it without compression if you trust it."
            )
        yield piece


def table_pieces(
    path: Path,
    n_rows: int,
    *,
    columns: Collection[str] | None = None,
    name: str = "",
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    sheet: str | None = None,
    header: bool = True,
) -> Iterator[pd.DataFrame]:
    """Read a file as frames of at most `n_rows` rows, of which one at a time is in memory.

    Only an Excel file is read whole. The path is checked at once.

    Parameters
    ----------
    path : Path
    n_rows : int
    columns : collection of str, optional
        Columns that are needed; of others, Parquet and Feather files give names alone.
    name : str
        Column that names the rows: its integers stay integers where some are missing.
    delimiter, encoding, sheet, header
        As in `read_table`.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file: give a file, which can be read more than once.")
    if not path.is_file():
        raise UsageError(f"{path} does not exist: check the path.")
    if path.stat().st_size == 0:
        raise UsageError(f"{path} is empty.")
    kind = kind_of(path)
    if kind in BINARY:
        pieces = binary_pieces(path, kind, n_rows, columns, name)
    elif kind in EXCEL:
        pieces = _slices(_read_excel(path, sheet), n_rows)
    elif kind in DELIMITERS:
        mark = delimiter_of(delimiter) or DELIMITERS[kind]
        pieces = text_pieces(path, mark, encoding, n_rows, header)
    else:
        known = ".csv, .tsv, .txt (also .gz, .bz2, .xz), .parquet, .feather, .dta, .xlsx"
        how = f", in Python with {READERS[kind]}" if kind in READERS else ""
        raise UsageError(
            f"{path} must have one of the suffixes {known}, got {kind!r}: save it as CSV{how}."
        )
    return _with_rows(path, pieces)


def _with_rows(path: Path, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    empty = True
    for piece in pieces:
        if len(piece):
            empty = False
            yield piece
    if empty:
        raise UsageError(f"{path} has a header but no rows.")


def _slices(frame: pd.DataFrame, n_rows: int) -> Iterator[pd.DataFrame]:
    for place in range(0, len(frame), n_rows):
        yield frame[place : place + n_rows].reset_index(drop=True)


def _read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """Read a sheet; the first row that is not empty holds the names."""
    if find_spec("openpyxl") is None:
        raise UsageError(
            f"{path} needs the package openpyxl: pip install 'nearbayes[excel]', or save it as CSV."
        )
    from openpyxl import load_workbook

    try:
        _check_unpacked_book(path)
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} cannot be read as an Excel file: {error}") from error
    with closing(book):
        if sheet is not None and sheet not in book.sheetnames:
            raise UsageError(
                f"--sheet must be one of the sheets {', '.join(map(repr, book.sheetnames))}, got "
                f"{sheet!r}."
            )
        cells = book[sheet or book.sheetnames[0]].iter_rows(values_only=True)
        rows = [row for row in cells if any(cell is not None for cell in row)]
    if not rows:
        raise UsageError(f"{path} has nothing in sheet {sheet or book.sheetnames[0]!r}.")
    table = pd.DataFrame(rows[1:], columns=range(len(rows[0])), dtype=object)
    kept = [place for place in table if rows[0][place] is not None or table[place].notna().any()]
    names = [f"Unnamed: {at}" if rows[0][at] is None else str(rows[0][at]) for at in kept]
    check_names(path, names)
    found = {name: table[at].infer_objects() for name, at in zip(names, kept, strict=True)}
    return plain_columns(pd.DataFrame(found))


def _check_unpacked_book(path: Path) -> None:
    with ZipFile(path) as packed:
        size = sum(info.file_size for info in packed.infolist())
    if size > max(SMALL, LARGEST_RATIO * path.stat().st_size):
        raise UsageError(
            f"{path} unpacks to {size / 1e6:.0f} MB, more than {LARGEST_RATIO} times its size: "
            "save it as CSV first if you trust it."
        )
