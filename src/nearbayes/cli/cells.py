"""Cells: recognise numbers, dates and missing values in the cells of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["as_dates", "as_numbers", "is_missing", "without_missing"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
TIME_WITH_ZONE = r"\d[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"


def is_missing(values: pd.Series) -> pd.Series:
    """Mask of cells that are empty or hold a word for a missing value."""
    if values.dtype.kind in "biufM":
        return values.isna()
    return values.isna() | values.astype(str).str.strip().str.lower().isin(MISSING)


def without_missing(values: pd.Series) -> pd.Series:
    """Cells that are not missing."""
    return values[~is_missing(values)]


def as_numbers(values: pd.Series) -> pd.Series:
    """Cells as numbers; NaN where a cell is not a finite number."""
    if values.dtype.kind == "M":
        return pd.Series(np.nan, values.index)
    # not pandas.to_numeric: its last digit may be wrong, so a CSV would differ from its Parquet
    numbers = values.astype(float) if values.dtype.kind in "biuf" else values.map(_number)
    return numbers.astype(float).where(np.isfinite(numbers.astype(float)))


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def as_dates(values: pd.Series) -> pd.Series:
    """Cells as ISO 8601 dates; NaT where a cell is not a date. Times with a zone become UTC."""
    # parsed apart: pandas gives a date without a zone the zone of the date before it
    has_zone = values.astype(str).str.contains(TIME_WITH_ZONE)
    plain, zoned = (
        pd.to_datetime(values.where(chosen), errors="coerce", format="ISO8601", utc=True)
        for chosen in (~has_zone, has_zone)
    )
    return plain.fillna(zoned).dt.tz_localize(None)
