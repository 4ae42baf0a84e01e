"""Columns: the kind of each column of a data file, and its conversion for models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from nearbayes.cli.cells import as_numbers, is_missing, without_missing
from nearbayes.cli.choices import DecimalMark, SplitAs
from nearbayes.cli.date_styles import compact_dates, dates_in, find_date_style, words_of
from nearbayes.cli.errors import UsageError
from nearbayes.cli.number_styles import PLAIN, NumberStyle, find_style, mixed_units

__all__ = ["Column", "Odd", "counted", "joined", "listed", "number_style", "way_to_split"]

Kind = Literal["number", "category", "date", "left out"]

MOSTLY = 0.95  # a column is numeric if at least this share of its values are numbers; so for dates
FEWEST_GAPS = 0.01  # share of gaps from which on a column of one value says something
FEWEST_NUMBERED = 10  # rows from which on 1, 2, 3, ... are row numbers
OF_TIME = re.compile(
    r"(?i)(?<![a-z])(date|time|timestamp|year|quarter|month|week|day|period|yr)s?(?![a-z])"
)
ID_NAME = re.compile(
    r"(?i)id|idx|index|rownames?|(row|obs|case|record)[ _.-]*(id|idx|number|no|nr)"
)
ID_ENDING = re.compile(r"(?:[ _.-](?:id|ID|Id)|[a-z]I[Dd])$")
SELDOM_TWICE = 0.5  # more categories per row than this tell rows apart, and say little else
MOST_LEVELS = 100  # categories kept; rarer ones are merged
OTHER = "(other)"
DAYS = "%Y%m%d"  # 20210131
DATE_PARTS = ("days", "month", "weekday")
UNNAMED = "Unnamed: "  # what pandas calls a column without a name
# XGBoost and LightGBM refuse or change these characters in names; full-width forms look similar
WIDE = {ord(mark): ord(mark) + 0xFEE0 for mark in '[]<",:{}\\'}


@dataclass(frozen=True)
class Column:
    """One column of the file.

    Attributes
    ----------
    name : str
    kind : "number", "category", "date" or "left out"
    levels : tuple of str
        Categories, most frequent first.
    note : str
        What the user should know about its treatment.
    style : str
        How numbers (`NumberStyle.code`) or dates (`date_styles`) are written; empty for plain
        numbers and ISO dates.
    split : "time", "groups" or ""
        How rows are held out by this column, if they are.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    note: str = ""
    style: str = ""
    split: SplitAs | Literal[""] = ""

    @classmethod
    def seen(
        cls, name: str, values: pd.Series, decimal: DecimalMark = ".", keep: bool = False
    ) -> Column:
        """Infer the kind of a column from its values.

        Parameters
        ----------
        name : str
        values : Series
        decimal : "." or ","
            Decimal mark of the file, for numbers that can be read in two ways.
        keep : bool
            Whether to use a column that looks like row numbers or identifiers, too.
        """
        present, named = without_missing(values), without_missing(values, of_words=True)
        useless = _useless(named, len(values)) or ("" if keep else _identifies(name, named))
        if useless:
            return cls(name, "left out", note=useless)
        return cls._of_values(name, present, len(values), decimal) or cls._category(
            name, named, counted(len(values) - len(named), "missing"), keep
        )

    @classmethod
    def _of_values(
        cls, name: str, present: pd.Series, n_cells: int, decimal: DecimalMark
    ) -> Column | None:
        """A column of numbers or dates; None for words."""
        if present.empty:
            return None
        missing = counted(n_cells - len(present), "missing")
        if compact_dates(present):
            return cls(name, "date", note=joined(words_of(DAYS), missing), style=DAYS)
        return cls._number(name, present, decimal, missing) or cls._date(name, present, missing)

    @classmethod
    def _number(
        cls, name: str, present: pd.Series, decimal: DecimalMark, missing: str
    ) -> Column | None:
        style = number_style(present, decimal)
        bad = int(as_numbers(present, style.code).isna().sum())
        if bad > (1 - MOSTLY) * len(present):
            return None
        note = joined(style.words, missing, counted(bad, "not a number: missing"))
        return cls(name, "number", note=note, style=style.code)

    @classmethod
    def _date(cls, name: str, present: pd.Series, missing: str) -> Column | None:
        style = find_date_style(present)
        if style is None:
            return None
        bad = int(dates_in(present, style).isna().sum())
        if bad > (1 - MOSTLY) * len(present):
            return None
        note = joined(words_of(style), missing, counted(bad, "not a date: missing"))
        return cls(name, "date", note=note, style=style)

    @classmethod
    def _category(cls, name: str, present: pd.Series, missing: str, keep: bool) -> Column:
        units = mixed_units(present)
        mixed = (
            f"amounts in several units ({', '.join(units)}): convert them to one" if units else ""
        )
        levels = present.astype(str).value_counts().index.tolist()
        if len(levels) > max(MOST_LEVELS, SELDOM_TWICE * len(present)) and not keep:
            every = "every" if len(levels) == len(present) else "nearly every"
            note = f"a different text in {every} row (--keep {name!r} to use the frequent ones)"
            return cls(name, "left out", note=mixed or note)
        rare = counted(max(0, len(levels) - MOST_LEVELS), f"rare categories merged into {OTHER!r}")
        return cls(name, "category", tuple(levels[:MOST_LEVELS]), joined(mixed, missing, rare))

    @property
    def inputs(self) -> dict[str, str]:
        """Inputs made from the column: name for models -> name for people."""
        if self.kind == "left out":
            return {}
        names = [f"{self.name} ({part})" for part in DATE_PARTS]
        names = names if self.kind == "date" else [self.name]
        return {_acceptable(name): name for name in names}

    def read(self, values: pd.Series) -> dict[str, pd.Series]:
        """Convert the column for models; a date becomes three columns."""
        present = values.where(~is_missing(values, of_words=self.kind == "category"))
        made: list[pd.Series] = []
        if self.kind == "number":
            made = [as_numbers(present, self.style)]
        elif self.kind == "date":
            dates = dates_in(present, self.style)
            days = (dates - pd.Timestamp(1970, 1, 1)).dt.days
            made = [part.astype(float) for part in (days, dates.dt.month, dates.dt.weekday)]
        elif self.kind == "category":
            text = _texts(present).where(present.notna(), None)
            kept = text.where(self._known(present), OTHER)
            made = [pd.Series(pd.Categorical(kept, [*self.levels, OTHER]), values.index)]
        return dict(zip(self.inputs, made, strict=True))

    def _known(self, present: pd.Series) -> pd.Series:
        """Mask of cells that are missing or hold a category seen in training."""
        return present.isna() | _texts(present).isin(self.levels)

    def odd(self, values: pd.Series) -> Odd:
        """Cells of a later file that differ from training."""
        present = without_missing(values, of_words=self.kind == "category")
        if self.kind == "left out" or present.empty:
            return Odd(len(values))
        if self.kind == "category":
            return Odd(len(values), len(present), int((~self._known(present)).sum()))
        read = (as_numbers if self.kind == "number" else dates_in)(present, self.style)
        first = str(present.iloc[0])[:30]
        return Odd(len(values), len(present), int(read.isna().sum()), first)

    def surprise(self, odd: Odd) -> str:
        """Describe cells that differ from training, and how they are handled."""
        if self.kind == "category":
            what = f"hold a new category, read as {OTHER!r}"
        elif 0 < odd.n_present == odd.n_odd:
            raise UsageError(
                f"column {self.name!r} must hold {self.kind}s, as in training, got {odd.first!r}: "
                "check that it is the right column."
            )
        else:
            what = f"hold no {self.kind}, read as missing"
        return counted(odd.n_odd, f"of {odd.n_cells} cells {what}")


@dataclass(frozen=True)
class Odd:
    """How many cells of a column differ from training.

    Attributes
    ----------
    n_cells, n_present, n_odd : int
        All cells, those that are not missing, and those that differ.
    first : str
        The first cell that is not missing.

    Examples
    --------
    >>> Odd(3, 2, 1, "a") + Odd(2, 2, 0, "b")
    Odd(n_cells=5, n_present=4, n_odd=1, first='a')
    """

    n_cells: int = 0
    n_present: int = 0
    n_odd: int = 0
    first: str = ""

    def __add__(self, other: Odd) -> Odd:
        """Of two parts of a column."""
        return Odd(
            self.n_cells + other.n_cells,
            self.n_present + other.n_present,
            self.n_odd + other.n_odd,
            self.first or other.first,
        )


def _texts(values: pd.Series) -> pd.Series:
    """Cells as text; whole numbers as in a CSV, even if gaps have made floats of them."""
    if values.dtype.kind == "f":
        return values.map(lambda cell: str(int(cell)) if cell.is_integer() else str(cell))
    return values.astype(str).astype(object)


def _acceptable(name: str) -> str:
    """A name that every library accepts and restores from its files."""
    return "".join(mark if mark.isprintable() else "�" for mark in name.translate(WIDE))


def way_to_split(column: Column) -> SplitAs:
    """Whether a column says when rows were seen, or which rows belong together.

    Examples
    --------
    >>> way_to_split(Column("Year", "number")), way_to_split(Column("person", "number"))
    ('time', 'groups')
    """
    of_time = column.kind == "number" and OF_TIME.search(column.name)
    return "time" if column.kind == "date" or of_time else "groups"


def number_style(present: pd.Series, decimal: DecimalMark = ".") -> NumberStyle:
    """Style of the numbers in a column; plain if all are, or if none is found."""
    if decimal == "." and as_numbers(present).notna().all():
        return PLAIN
    return find_style(present, decimal) or PLAIN


def _useless(present: pd.Series, n_cells: int) -> str:
    """Reason why a column says nothing, or an empty string.

    One value and gaps say something: whether there is a value.
    """
    n_distinct, gaps = present.nunique(), n_cells - len(present)
    if n_distinct == 0:
        return "all missing"
    if n_distinct > 1 or min(gaps, len(present)) >= FEWEST_GAPS * n_cells:
        return ""
    return f"always {str(present.iloc[0])[:30]!r}"


def _identifies(name: str, present: pd.Series) -> str:
    """Reason why a column only tells rows apart, or an empty string."""
    if len(present) < FEWEST_NUMBERED or present.nunique() < len(present):
        return ""
    if name.startswith(UNNAMED):
        return "no name and a different value in every row: probably row numbers"
    numbers = as_numbers(present).to_numpy()
    if numbers[0] in (0, 1) and np.array_equal(numbers, numbers[0] + np.arange(len(numbers))):
        return f"row numbers (--keep {name!r} to use them)"
    if np.array_equal(numbers, np.round(numbers)) and (
        ID_NAME.fullmatch(name) or ID_ENDING.search(name)
    ):
        return f"an identifier: a different number in every row (--keep {name!r} to use it)"
    return ""


def counted(n: int, what: str) -> str:
    """A count with its noun, or an empty string for zero.

    Examples
    --------
    >>> counted(1, "rows without a target left out"), counted(0, "rows")
    ('1 row without a target left out', '')
    """
    said = what.replace("rows", "row", 1) if n == 1 and what.startswith("rows") else what
    return f"{n} {said}" if n else ""


def joined(*notes: str) -> str:
    """Join the notes that are not empty."""
    return "; ".join(note for note in notes if note)


def listed(names: Sequence[Any]) -> str:
    """List the first names, shortened, and the number of others."""
    shown = ", ".join(repr(str(name)[:40]) for name in list(names)[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
