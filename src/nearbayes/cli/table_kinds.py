"""Kinds of table files, by the suffix of their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

__all__ = ["BINARY", "COMPRESSED", "DELIMITERS", "EXCEL", "WRITTEN", "kind_of"]

COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BINARY = (".parquet", ".feather", ".arrow", ".dta")
WRITTEN = (".csv", ".parquet", ".feather", ".arrow")
EXCEL = (".xlsx", ".xlsm")
DELIMITERS = {".csv": None, ".tsv": "\t", ".txt": None}  # None: detected from the first lines


def kind_of(path: Path) -> str:
    """Suffix of a path, ignoring that of a compression.

    Examples
    --------
    >>> kind_of(Path("a/b.csv.gz")), kind_of(Path("b.Parquet"))
    ('.csv', '.parquet')
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix
