"""Cells: what the cells of a column hold, numbers, dates, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["as_dates", "as_numbers", "is_missing", "without_missing"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
TIME_WITH_ZONE = r"\d[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"


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
    # apart, as pandas takes a date without a zone to be in the zone of the one before it
    has_zone = values.astype(str).str.contains(TIME_WITH_ZONE)
    plain, zoned = (
        pd.to_datetime(values.where(chosen), errors="coerce", format="ISO8601", utc=True)
        for chosen in (~has_zone, has_zone)
    )
    return plain.fillna(zoned).dt.tz_localize(None)
