"""Console: what is said to a person (on stderr) and to a machine (JSON on stdout)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["Speaker"]


@dataclass(frozen=True)
class Speaker:
    """Says things in words, or as one JSON object at the end, or not at all.

    Attributes
    ----------
    as_json : bool
        Print the result as JSON on stdout, and nothing else.
    quiet : bool
        Print nothing but errors.
    """

    as_json: bool = False
    quiet: bool = False

    @property
    def progress(self) -> bool | None:
        """Whether to show progress bars; None where there is a terminal."""
        return False if self.as_json or self.quiet else None

    def say(self, text: str) -> None:
        """A line for a person; names from the data are text, never markup."""
        if not (self.as_json or self.quiet):
            self._console.print(escape(text), highlight=False)

    def table(self, title: str, columns: dict[str, list[Any]]) -> None:
        """A table for a person."""
        if self.as_json or self.quiet:
            return
        table = Table(title=escape(title), title_justify="left")
        for number, name in enumerate(columns):
            table.add_column(escape(name), justify="right" if number else "left")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*(escape(_shown(cell)) for cell in row))
        self._console.print(table)

    def result(self, found: dict[str, Any]) -> None:
        """The result, for a machine."""
        if self.as_json:
            print(json.dumps(_plain(found), allow_nan=False))

    def error(self, text: str) -> None:
        """One sentence on what went wrong."""
        Console(stderr=True, soft_wrap=True).print(f"nearbayes: {escape(text)}", highlight=False)

    @property
    def _console(self) -> Console:
        return Console()


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.4g}"
    return "" if cell is None else str(cell)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers, and what is no number as null."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
