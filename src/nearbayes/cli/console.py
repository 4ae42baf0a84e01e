"""Console: what is said to a person, and to a machine (one JSON object on stdout)."""

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
    def silent(self) -> bool:
        """Whether a person is told nothing."""
        return self.as_json or self.quiet

    @property
    def progress(self) -> bool | None:
        """Whether to show progress bars; None where there is a terminal."""
        return False if self.silent else None

    def say(self, text: str) -> None:
        """A line for a person."""
        if not self.silent:
            Console(soft_wrap=True).print(_text(text))

    def table(self, title: str, columns: dict[str, list[Any]]) -> None:
        """A table for a person."""
        if self.silent:
            return
        table = Table(title=_text(title), title_justify="left")
        for number, name in enumerate(columns):
            table.add_column(_text(name), justify="right" if number else "left")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*(_text(_shown(cell)) for cell in row))
        Console().print(table)

    def result(self, found: dict[str, Any]) -> None:
        """The result, for a machine."""
        if self.as_json:
            print(json.dumps(_plain(found), allow_nan=False))

    def error(self, text: str) -> None:
        """One sentence on what went wrong."""
        Console(stderr=True, soft_wrap=True).print(_text(f"nearbayes: {text}"))


def _text(text: str) -> Text:
    """Names from the data are text: no markup, and no codes that a terminal would obey."""
    return Text("".join(mark if mark.isprintable() or mark == "\n" else "�" for mark in text))


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
