"""Row names: what the rows of a data file are called, so that people find them again."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from nearbayes.cli.modelfile import ModelFile

__all__ = ["RowNames", "facts_of", "row_names"]

FIRST_LINE = 2  # of the data, below the header


class RowNames(NamedTuple):
    """What names of rows are, and one name per row."""

    called: str
    names: list[Any]


def row_names(made: ModelFile, rows: pd.DataFrame) -> RowNames:
    """Values of the id column, or lines of the file.

    Parameters
    ----------
    made : ModelFile
    rows : DataFrame
        Rows of a file with their places in it as index; those with a usable target are named.
    """
    usable = made.schema.usable(rows)
    if made.schema.id in usable.columns:
        return RowNames(made.schema.id, usable[made.schema.id].astype(str).tolist())
    has_lines = rows.attrs.get("has_lines", False)
    first = FIRST_LINE if has_lines else 1
    places = [int(place) + first for place in usable.index]
    return RowNames("Line" if has_lines else "Row", places)


def facts_of(made: ModelFile, frame: pd.DataFrame | None) -> dict[str, str]:
    """Facts about the data that a reader of the report may want to check."""
    schema = made.schema
    left_out = [
        f"{column.name} ({column.note})" for column in schema.columns if column.kind == "left out"
    ]
    found = {
        "Data file": made.settings.get("file"),
        "Data file of this report": None if frame is None else frame.attrs.get("file"),
        "Fitted on": made.settings.get("date"),
        "Rows held out of the fit": made.settings.get("held_out"),
        "Target": "; ".join(filter(None, (schema.target, schema.target_words, schema.note))),
        "Columns left out": "; ".join(left_out) or "none",
    }
    return {name: str(text) for name, text in found.items() if text}
