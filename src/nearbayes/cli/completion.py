"""Completion: names of columns while the user types a command."""

from __future__ import annotations

import csv
from pathlib import Path

import typer

__all__ = ["columns_of"]

LONGEST_LINE = 1 << 16


def columns_of(context: typer.Context, incomplete: str) -> list[str]:
    """Names in the first line of the CSV that the command was given so far."""
    data = context.params.get("data")
    try:
        with Path(data).open(encoding="utf-8-sig", errors="replace") as file:  # type: ignore[arg-type]
            line = file.readline(LONGEST_LINE)
    except (OSError, TypeError, ValueError):  # not named yet, or not there
        return []
    mark = max(",;\t|", key=line.count)
    names = next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip().startswith(incomplete)]
