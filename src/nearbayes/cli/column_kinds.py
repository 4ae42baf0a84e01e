"""Columns: the kind of each column of a data file, and its conversion for models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from nearbayes.cli.cells import as_dates, as_numbers, is_missing, without_missing
from nearbayes.cli.errors import UsageError

__all__ = ["Column", "counted", "joined", "listed"]

Kind = Literal["number", "category", "date", "left out"]

MOSTLY = 0.95  # a column is numeric if at least this share of its values are numbers; so for dates
MOST_LEVELS = 100  # categories kept; rarer ones are merged
OTHER = "(other)"
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
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def seen(cls, name: str, values: pd.Series) -> Column:
        """Infer the kind of a column from its values."""
        present = without_missing(values)
        useless = _useless(name, present)
        if useless:
            return cls(name, "left out", note=useless)
        missing = counted(len(values) - len(present), "missing")
        bad = int(as_numbers(present).isna().sum())
        if bad <= (1 - MOSTLY) * len(present):
            return cls(name, "number", note=joined(missing, counted(bad, "not a number: missing")))
        bad = int(as_dates(present).isna().sum())
        if bad <= (1 - MOSTLY) * len(present):
            return cls(name, "date", note=joined(missing, counted(bad, "not a date: missing")))
        levels = present.astype(str).value_counts().index.tolist()
        if len(levels) == len(present) > MOST_LEVELS:
            return cls(name, "left out", note="a different text in every row")
        rare = counted(max(0, len(levels) - MOST_LEVELS), f"rare categories merged into {OTHER!r}")
        return cls(name, "category", tuple(levels[:MOST_LEVELS]), joined(missing, rare))

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
        present = values.where(~is_missing(values))
        made: list[pd.Series] = []
        if self.kind == "number":
            made = [as_numbers(present)]
        elif self.kind == "date":
            dates = as_dates(present)
            days = (dates - pd.Timestamp(1970, 1, 1)).dt.days
            made = [part.astype(float) for part in (days, dates.dt.month, dates.dt.weekday)]
        elif self.kind == "category":
            text = present.astype(object).where(present.notna(), None)
            kept = text.where(self._known(present), OTHER)
            made = [pd.Series(pd.Categorical(kept, [*self.levels, OTHER]), values.index)]
        return dict(zip(self.inputs, made, strict=True))

    def _known(self, present: pd.Series) -> pd.Series:
        """Mask of cells that are missing or hold a category seen in training."""
        return present.isna() | present.astype(str).isin(self.levels)

    def surprises(self, values: pd.Series) -> str:
        """Describe cells of a later file that differ from training, and how they are handled."""
        present = without_missing(values)
        if self.kind == "category":
            new = int((~self._known(present)).sum())
            return counted(new, f"of {len(values)} cells hold a new category, read as {OTHER!r}")
        if self.kind == "left out" or present.empty:
            return ""
        read = as_numbers(present) if self.kind == "number" else as_dates(present)
        if read.isna().all():
            raise UsageError(
                f"column {self.name!r} must hold {self.kind}s, as in training, got "
                f"{str(present.iloc[0])[:30]!r}: check that it is the right column."
            )
        bad = int(read.isna().sum())
        return counted(bad, f"of {len(values)} cells hold no {self.kind}, read as missing")


def _acceptable(name: str) -> str:
    """A name that every library accepts and restores from its files."""
    return "".join(mark if mark.isprintable() else "�" for mark in name.translate(WIDE))


def _useless(name: str, present: pd.Series) -> str:
    """Reason to leave a column out, or an empty string."""
    n_distinct = present.nunique()
    if n_distinct == 0:
        return "all missing"
    if n_distinct == 1:
        return f"always {str(present.iloc[0])[:30]!r}"
    if name.startswith(UNNAMED) and n_distinct == len(present):
        return "no name and a different value in every row: probably row numbers"
    return ""


def counted(n: int, what: str) -> str:
    """A count with its noun, or an empty string for zero."""
    return f"{n} {what}" if n else ""


def joined(*notes: str) -> str:
    """Join the notes that are not empty."""
    return "; ".join(note for note in notes if note)


def listed(names: Sequence[Any]) -> str:
    """List the first names, shortened, and the number of others."""
    shown = ", ".join(repr(str(name)[:40]) for name in list(names)[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
