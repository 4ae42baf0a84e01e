"""Numbers of the report: rounded for JSON, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "by_level",
    "counted",
    "in_digits",
    "likely",
    "listed",
    "percent",
    "plain",
    "points",
    "quoted",
    "rounded",
    "shortened",
    "signed",
    "standard_error",
]

DIGITS = 4
NO_BREAK = "\u00a0"  # keeps a number and its unit on one line


def rounded(values: Any) -> Any:
    """Numbers for JSON: four significant digits, None for NaN and infinity.

    Examples
    --------
    >>> rounded(np.array([[1 / 3, np.nan], [123456.0, 0.0]]))
    [[0.3333, None], [123500.0, 0.0]]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        return _one(float(array))
    if array.ndim == 1:
        return [_one(value) for value in array.tolist()]
    return [rounded(part) for part in array]


def _one(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def by_level(bounds: Any) -> list[dict[str, Any]]:
    """Bounds of shape (n, 2, n_levels) as one pair of columns per level."""
    return [{"lower": rounded(low), "upper": rounded(high)} for low, high in np.transpose(bounds)]


def in_digits(value: float | None, digits: int = 3) -> str:
    """A number as people write it.

    Examples
    --------
    >>> in_digits(0.12345), in_digits(12345.6), in_digits(1.2e-7), in_digits(None)
    ('0.123', '12,346', '1.2e-07', 'infinite')
    """
    if value is None or not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.9234).replace(NO_BREAK, " "), percent(0.9).replace(NO_BREAK, " ")
    ('92.3 %', '90 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + f"{NO_BREAK}%"


def likely(share: float) -> str:
    """A probability or a share, rounded for people.

    Examples
    --------
    >>> [likely(p).replace(NO_BREAK, " ") for p in (7e-5, 0.034, 0.42, 0.9962, 0.99996, 1.0)]
    ['less than 0.1 %', '3 %', '42 %', '99.6 %', 'more than 99.9 %', '100 %']
    """
    if 0 < share < 0.001:
        return f"less than {percent(0.001)}"
    if 0.999 < share < 1:
        return f"more than {percent(0.999)}"
    return percent(share if min(share, 1 - share) < 0.01 else round(share, 2))


def points(width: float) -> str:
    """A difference of probabilities.

    Examples
    --------
    >>> points(0.0003), points(0.011), points(0.2)
    ('less than half a percentage point', '1.1 percentage points', '20 percentage points')
    """
    if width < 0.005:
        return "less than half a percentage point"
    return f"{100 * width:.2g} percentage points"


def plain(value: float) -> str:
    """A quantity in units of the outcome, with three digits.

    Examples
    --------
    >>> plain(12345.6), plain(0.0123456), plain(-40.04), plain(2e-7), plain(3e12)
    ('12,300', '0.0123', '-40', '2e-07', '3e+12')
    """
    if not math.isfinite(value):
        return "infinite"
    short = float(f"{value:.3g}")
    if short != 0 and not 1e-4 <= abs(short) < 1e12:
        return f"{short:g}"
    return f"{short:,.10f}".rstrip("0").rstrip(".")


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefg"), most=3)
    ('a', 'a, b and c', 'a, b, c and 4 more')
    """
    shown, more = list(names[:most]), len(names) - most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def quoted(name: str) -> str:
    """A class or a column in a sentence."""
    return f"“{shortened(name)}”"


def shortened(text: str, most: int = 40) -> str:
    """Text of at most so many characters.

    Examples
    --------
    >>> shortened("a very long name", 9)
    'a very l…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def signed(value: float) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> signed(0.01234), signed(-2.0)
    ('+0.0123', '−2')
    """
    return f"{value:+.3g}".replace("-", "−") if "e" not in f"{value:.3g}" else f"{value:+.1e}"


def counted(number: float, thing: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,.0f} {thing}{'' if number == 1 else 's'}"


def standard_error(values: Any) -> float:
    """Standard error of the mean; NaN if a value is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        return math.nan
    return float(array.std(ddof=1) / math.sqrt(array.size))
