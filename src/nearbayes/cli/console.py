"""Console: output for people, and for machines as one JSON object on stdout."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Speaker"]


@dataclass(frozen=True)
class Speaker:
    """Prints text and tables, or one JSON object at the end, or only errors.

    Attributes
    ----------
    as_json : bool
        Print only the result, as JSON on stdout.
    quiet : bool
        Print only errors.
    """

    as_json: bool = False
    quiet: bool = False

    @property
    def silent(self) -> bool:
        """Whether text and tables are suppressed."""
        return self.as_json or self.quiet

    @property
    def progress(self) -> bool | None:
        """Whether to show progress bars; None shows them on a terminal."""
        return False if self.silent else None

    def say(self, text: str) -> None:
        """Print a line for people."""
        if not self.silent:
            Console(soft_wrap=True).print(_text(text))

    def table(self, title: str, columns: dict[str, list[Any]]) -> None:
        """Print a table for people."""
        if self.silent:
            return
        table = Table(title=_text(title), title_justify="left")
        for name, cells in columns.items():
            counts = any(isinstance(cell, int | float) for cell in cells)
            table.add_column(_text(name), justify="right" if counts else "left")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*(_text(_shown(cell)) for cell in row))
        Console().print(table)

    def result(self, found: dict[str, Any]) -> None:
        """Print the result for machines."""
        if self.as_json:
            print(json.dumps(_plain(found), allow_nan=False))

    def error(self, text: str) -> None:
        """Print an error message of one sentence."""
        Console(stderr=True, soft_wrap=True).print(_text(f"nearbayes: {text}"))


def _text(text: str) -> Text:
    """Plain text: names from the data must not act as markup or as terminal control codes."""
    plain = text.replace("\u00a0", " ")  # spaces that keep a number and its unit together
    return Text("".join(mark if mark.isprintable() or mark == "\n" else "�" for mark in plain))


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.4g}"
    return "" if cell is None else str(cell)


def _plain(value: Any) -> Any:
    """Convert NumPy numbers to Python's, and NaN and infinity to None."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
