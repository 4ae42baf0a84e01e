"""Target column: what is to be predicted, and how its values are written."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import skew

from nearbayes.cli.cells import as_numbers, without_missing
from nearbayes.cli.choices import DecimalMark, Task
from nearbayes.cli.column_kinds import MOSTLY, counted, number_style
from nearbayes.cli.errors import UsageError
from nearbayes.cli.number_styles import NumberStyle, mixed_units

__all__ = [
    "WORDS_OF",
    "Outcome",
    "check_units",
    "outcome_kind",
    "task_of",
    "usable_numbers",
]

Outcome = Literal["any", "count", "positive", "nonnegative"]

FEW_WHOLE_NUMBERS = 10  # a target with at most this many distinct integers may be classes
FEWEST_COUNTS = 5  # distinct counts; fewer distinct integers are classes
SKEWED = 1.0  # skewness of a positive target whose spread grows with its size
WORDS_OF: dict[Outcome, str] = {
    "any": "numbers",
    "count": "counts: no interval goes below 0",
    "positive": "positive, skewed numbers: no interval goes below 0",
    "nonnegative": "skewed numbers of 0 or more: no interval goes below 0",
}


def task_of(values: pd.Series, target: str, style: NumberStyle) -> Task:
    """Numbers are regression, unless they are few integers that do not look like counts."""
    present = without_missing(values)
    if present.empty:
        raise UsageError(f"the target {target!r} is missing in every row.")
    numbers = as_numbers(present, style.code)
    if numbers.notna().mean() < MOSTLY:
        return "classification"
    y = numbers.dropna().to_numpy()
    distinct = np.unique(y)
    few = len(distinct) <= FEW_WHOLE_NUMBERS and bool(np.all(distinct == np.round(distinct)))
    return "classification" if few and not style.unit and not _are_counts(y) else "regression"


def _are_counts(y: NDArray[np.float64]) -> bool:
    """Whether integers look like counts: from 0 or 1 on, with one peak and a tail.

    Classes coded as integers have gaps, several peaks, or about the same size.
    """
    if y.min() not in (0, 1) or (y != np.round(y)).any():
        return False
    times = np.bincount(y.astype(int))[int(y.min()) :].astype(float)
    if len(times) < FEWEST_COUNTS:
        return False
    peak = int(times.argmax())
    slack = 2 * np.sqrt(times + 1)  # twice the standard error of a count
    rises = np.diff(times)
    slacks = np.hypot(slack[1:], slack[:-1])
    one_peak = (rises[:peak] >= -slacks[:peak]).all() and (rises[peak:] <= slacks[peak:]).all()
    return bool(one_peak and times[-1] < times.max() / 4)


def outcome_kind(y: NDArray[np.float64]) -> Outcome:
    """Whether outcomes are counts, or skewed numbers that are never negative.

    Examples
    --------
    >>> outcome_kind(np.random.default_rng(0).lognormal(size=200))
    'positive'
    >>> outcome_kind(np.random.default_rng(0).normal(50, 5, size=200))
    'any'
    """
    if y.min() < 0:
        return "any"
    whole = bool((y == np.round(y)).all())
    reaches_zero = y.mean() < 2 * y.std()  # a symmetric interval would go below 0
    if whole and y.min() <= 1 and (reaches_zero or _are_counts(y)):
        return "count"
    if not reaches_zero or skew(y) < SKEWED:
        return "any"
    return "positive" if y.min() > 0 else "nonnegative"


def usable_numbers(
    values: pd.Series, target: str, decimal: DecimalMark
) -> tuple[NumberStyle, NDArray[np.float64], str]:
    """Style and values of a numeric target, and a note on the rows left out."""
    present = without_missing(values)
    style = number_style(present, decimal)
    y = as_numbers(present, style.code)
    if y.isna().mean() > 1 - MOSTLY:
        check_units(present, target)
        example = present[y.isna()].iloc[0]
        raise UsageError(
            f"the target {target!r} must hold numbers for regression, got {str(example)[:30]!r}: "
            "use --task classification."
        )
    if y.nunique() < 2:
        raise UsageError(f"the target {target!r} is constant: there is nothing to learn.")
    note = counted(len(values) - int(y.notna().sum()), "rows without a target left out")
    return style, y.dropna().to_numpy(), note


def check_units(present: pd.Series, target: str) -> None:
    """Refuse amounts in several units."""
    units = mixed_units(present)
    if units:
        raise UsageError(
            f"the target {target!r} has amounts in several units ({', '.join(units)}): convert "
            "them to one."
        )
