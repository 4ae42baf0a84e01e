"""Cells: numbers and missing values in the cells of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.number_styles import NumberStyle

__all__ = ["as_numbers", "is_missing", "without_missing"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")


def is_missing(values: pd.Series) -> pd.Series:
    """Mask of cells that are empty or hold a word for a missing value."""
    if values.dtype.kind in "biufM":
        return values.isna()
    return values.isna() | values.astype(str).str.strip().str.lower().isin(MISSING)


def without_missing(values: pd.Series) -> pd.Series:
    """Cells that are not missing."""
    return values[~is_missing(values)]


def as_numbers(values: pd.Series, style: str = "") -> pd.Series:
    """Cells as numbers; NaN where a cell is not a finite number.

    Parameters
    ----------
    values : Series
    style : str
        `NumberStyle.code` of the column; empty for plain numbers.
    """
    if values.dtype.kind == "M":
        return pd.Series(np.nan, values.index)
    # not pandas.to_numeric: its last digit may be wrong, so a CSV would differ from its Parquet
    read = NumberStyle.of_code(style).number if style else _number
    numbers = values.astype(float) if values.dtype.kind in "biuf" else values.map(read)
    return numbers.astype(float).where(np.isfinite(numbers.astype(float)))


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
