"""Cells: what the cells of a column hold, numbers, dates, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["as_dates", "as_numbers", "is_missing", "without_missing"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")


def is_missing(values: pd.Series) -> pd.Series:
    """Which cells are empty, or hold a word for that."""
    if values.dtype.kind in "biufM":
        return values.isna()
    return values.isna() | values.astype(str).str.strip().str.lower().isin(MISSING)


def without_missing(values: pd.Series) -> pd.Series:
    """The other cells."""
    return values[~is_missing(values)]


def as_numbers(values: pd.Series) -> pd.Series:
    """Numbers, missing where there is none; infinite ones are missing, too."""
    if values.dtype.kind == "M":
        return pd.Series(np.nan, values.index)
    # pandas.to_numeric may be off in the last digit, so that a CSV would not equal its Parquet
    numbers = values.astype(float) if values.dtype.kind in "biuf" else values.map(_number)
    return numbers.astype(float).where(np.isfinite(numbers.astype(float)))


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def as_dates(values: pd.Series) -> pd.Series:
    """Dates (ISO 8601), missing where there is none; those with a time zone in UTC."""
    dates = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    return dates.dt.tz_localize(None)
