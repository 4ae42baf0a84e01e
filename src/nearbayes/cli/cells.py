"""Cells: numbers and missing values in the cells of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.number_styles import NumberStyle

__all__ = ["as_numbers", "holds_words", "is_missing", "without_missing"]

MISSING = ("", "na", "n/a", "nan", "null", "?", "-")
NOTHING = "none"
MANY_WORDS = 0.05  # from this share of cells on that are no numbers, a column holds words


def is_missing(values: pd.Series, of_words: bool = False) -> pd.Series:
    """Mask of cells that are empty or hold a word for a missing value.

    Parameters
    ----------
    values : Series
    of_words : bool
        Whether the column holds words, not numbers or dates. "None" is an answer then: no guarantor
        is not an unknown one.

    Examples
    --------
    >>> cells = pd.Series(["none", "guarantor", ""])
    >>> is_missing(cells).tolist(), is_missing(cells, of_words=True).tolist()
    ([True, False, True], [False, False, True])
    """
    if values.dtype.kind in "biufM":
        return values.isna()
    words = MISSING if of_words else (*MISSING, NOTHING)
    return values.isna() | values.astype(str).str.strip().str.lower().isin(words)


def without_missing(values: pd.Series, of_words: bool = False) -> pd.Series:
    """Cells that are not missing; arguments as of `is_missing`."""
    return values[~is_missing(values, of_words)]


def holds_words(values: pd.Series) -> bool:
    """Whether more than a few cells are neither missing nor numbers."""
    return bool(as_numbers(without_missing(values)).isna().mean() > MANY_WORDS)


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
