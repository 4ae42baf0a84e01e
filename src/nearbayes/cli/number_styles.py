"""Number styles: currency, percent signs, thousands separators and decimal commas in cells.

A column has one style. Where a column can be read in two ways ("1,234"), the decimal mark of the
other columns of the file decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.choices import DecimalMark

__all__ = ["PLAIN", "NumberStyle", "decimal_mark", "find_style", "mixed_units"]

MOSTLY = 0.95  # share of cells that must fit a style
MANY = 2_000  # cells that are looked at to find a style
SIGNS = "".join(mark for mark in map(chr, range(0x20A0, 0x20D0)) if unicodedata.name(mark, ""))
CODES = (
    r"USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BRL|MXN|ZAR|KRW|TRY|SGD"
    r"|HKD|US\$|A\$|C\$|R\$|kr|zł|Kč|Ft|Rs"
)
UNIT = rf"{CODES}|[%$¢£¥{SIGNS}]"
MINUS = "-\N{MINUS SIGN}\N{EN DASH}"
CELL = re.compile(
    rf"(?P<open>\()?[+]?(?P<minus>[{MINUS}])?(?P<before>{UNIT})?(?P<inner>[{MINUS}])?"
    rf"(?P<core>[0-9.,'](?:[0-9.,' ]*[0-9.,])?(?:[eE][+-]?\d+)?)"
    rf"(?P<after>{UNIT})?(?P<last>-)?(?P<close>\))?"
)
CLOCK = ":"  # the "unit" of times
TIME = re.compile(r"(?:(\d+) days?,? )?(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
SPACES = re.compile(r"[\s\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]+")
APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
# (decimal mark, thousands separator), the likelier first
MARKS = ((".", ""), (".", ","), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
WORDS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes its numbers.

    Attributes
    ----------
    decimal : "." or ","
    thousands : str
        Separator of groups of three digits; empty for none.
    unit : str
        Currency sign or code, or "%"; ":" for times; empty for none.

    Examples
    --------
    >>> NumberStyle(",", ".", "€").number("-1.234,56 €")
    -1234.56
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @classmethod
    def of_code(cls, code: str) -> NumberStyle:
        """Inverse of `code`."""
        return cls(*code.split("|")) if code else PLAIN

    @property
    def code(self) -> str:
        """The style as text, for files; empty for plain numbers."""
        return "" if self == PLAIN else "|".join((self.decimal, self.thousands, self.unit))

    @property
    def words(self) -> str:
        """The style in words for the user; empty for plain numbers."""
        if self.unit == CLOCK:
            return "times, read in seconds"
        parts = [f"in {self.unit}"] if self.unit else []
        if self.decimal == ",":
            parts.append("decimal commas")
        if self.thousands:
            parts.append(f"{WORDS[self.thousands]} between thousands")
        return ", ".join(parts)

    def number(self, cell: Any) -> float:
        """The number in a cell; NaN if it is written in another way."""
        if self.unit == CLOCK:
            return _seconds(cell)
        parts = _parts(cell)
        if parts is None or parts.unit not in ("", self.unit):
            return float("nan")
        return parts.sign * self._amount(parts.core)

    def _amount(self, core: str) -> float:
        if not self._pattern.fullmatch(core):
            return float("nan")
        digits = core.replace(self.thousands, "") if self.thousands else core
        return float(digits.replace(self.decimal, "."))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        mark, group = re.escape(self.decimal), re.escape(self.thousands)
        # groups of two are Indian lakhs and crores; "0,123" is no group
        groups = rf"|[1-9]\d{{0,2}}(?:{group}\d{{2,3}})*{group}\d{{3}}" if group else ""
        return re.compile(rf"(?:(?:\d+{groups})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?")


PLAIN = NumberStyle()


def _seconds(cell: Any) -> float:
    """A time of day or a duration, such as 12:30, 1:02:03.5 or 2 days 12:30:00, in seconds."""
    found = TIME.fullmatch(str(cell).strip())
    if found is None:
        return float("nan")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@dataclass(frozen=True)
class _Parts:
    sign: float
    unit: str
    core: str


def _parts(cell: Any) -> _Parts | None:
    """Sign, unit and digits of a cell; None if it holds anything else."""
    text = SPACES.sub(" ", str(cell).strip()).replace(APOSTROPHE, "'")
    # spaces beside a unit or sign say nothing; those between digits are separators
    text = re.sub(r"(?<=\D) | (?=\D)", "", text)
    found = CELL.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    negative = any(found[name] for name in ("open", "minus", "inner", "last"))
    return _Parts(-1.0 if negative else 1.0, found["before"] or found["after"] or "", found["core"])


def find_style(present: pd.Series, preferred: DecimalMark = ".") -> NumberStyle | None:
    """The style that reads most cells of a column; None if it holds no numbers or several units.

    Parameters
    ----------
    present : Series
        Cells that are not missing.
    preferred : "." or ","
        Decimal mark of the file, for columns that can be read in two ways.

    Examples
    --------
    >>> find_style(pd.Series(["$1,234.50", "$99"]))
    NumberStyle(decimal='.', thousands=',', unit='$')
    >>> find_style(pd.Series(["1,234", "9,5"])).decimal
    ','
    """
    if present.dtype.kind in "biuf":
        return PLAIN
    cells = _some(present)
    if np.mean([_seconds(cell) == _seconds(cell) for cell in cells]) >= MOSTLY:
        return NumberStyle(unit=CLOCK)
    unit = _unit(cells)
    if unit is None or present.dtype.kind == "M":
        return None
    styles = [NumberStyle(decimal, thousands, unit) for decimal, thousands in MARKS]
    shares = [_share(style, cells) for style in styles]
    best = max(shares, default=0.0)
    if best < MOSTLY:
        return None
    equal = [style for style, share in zip(styles, shares, strict=True) if share == best]
    return next((style for style in equal if style.decimal == preferred), equal[0])


def decimal_mark(columns: Iterable[pd.Series]) -> DecimalMark:
    """Decimal mark of most columns that can be read in one way only; a point if none can.

    Parameters
    ----------
    columns : iterable of Series
        Cells that are not missing, column by column.
    """
    votes: Counter[str] = Counter()
    for present in columns:
        if present.dtype.kind != "O" or present.empty:
            continue
        found = {find_style(present, mark) for mark in (".", ",")}
        [*marks] = {style.decimal for style in found if style is not None}
        uses_mark = any(any(mark in cell for mark in ".,") for cell in map(str, _some(present)))
        if len(marks) == 1 and uses_mark:
            votes[marks[0]] += 1
    return "," if votes[","] > votes["."] else "."


def mixed_units(present: pd.Series) -> list[str]:
    """Units of a column whose cells are numbers in more than one unit; else an empty list."""
    parts = [_parts(cell) for cell in _some(present)]
    known = [part for part in parts if part is not None]
    units = sorted({part.unit for part in known} - {""})
    return units if len(units) > 1 and len(known) >= MOSTLY * len(parts) else []


def _unit(cells: list[Any]) -> str | None:
    """The only unit in the cells, "" for none; None for several."""
    units = {part.unit for part in map(_parts, cells) if part is not None} - {""}
    return None if len(units) > 1 else next(iter(units), "")


def _share(style: NumberStyle, cells: list[Any]) -> float:
    return float(np.mean([style.number(cell) == style.number(cell) for cell in cells]))


def _some(present: pd.Series) -> list[Any]:
    """At most `MANY` cells, from all over the column."""
    return list(present.iloc[:: -(-len(present) // MANY) or 1])
