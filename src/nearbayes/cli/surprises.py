"""Surprises: how a later file differs from the training data, counted piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from nearbayes.cli.column_kinds import Odd, listed
from nearbayes.cli.schema import Schema

__all__ = ["Surprises"]


@dataclass
class Surprises:
    """Differences between a file and the training data.

    Attributes
    ----------
    schema : Schema
    odd : dict of str to Odd
        Cells that differ, by column.
    extra : list of str
        Columns that training did not have.
    """

    schema: Schema
    odd: dict[str, Odd] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)

    def add(self, frame: pd.DataFrame) -> Surprises:
        """Count cells of some rows; refuse a column of which none can be read so far."""
        self.schema.check_columns(frame)
        for column in self.schema.used:
            seen = self.odd.get(column.name, Odd()) + column.odd(frame[column.name])
            self.odd[column.name] = seen
            column.surprise(seen)
        known = {self.schema.target, *(column.name for column in self.schema.columns)}
        self.extra = [name for name in frame.columns if name not in known]
        return self

    @property
    def notes(self) -> list[str]:
        """What the user should know, one sentence each."""
        said = {
            column.name: column.surprise(self.odd[column.name])
            for column in self.schema.used
            if column.name in self.odd
        }
        ignored = f"columns that were not in the training data are ignored: {listed(self.extra)}"
        return [f"column {name!r}: {what}" for name, what in said.items() if what] + (
            [ignored] if self.extra else []
        )
