"""Splitting: which rows are held out: some at random, the latest ones, or whole groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from nearbayes.cli.cells import as_numbers, is_missing
from nearbayes.cli.column_kinds import Column
from nearbayes.cli.date_styles import dates_in
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema

__all__ = ["split_rows"]

Mask = NDArray[np.bool_]


def split_rows(
    frame: pd.DataFrame, schema: Schema, share: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame | None, str]:
    """Training rows, held-out rows, and how they were split, in words.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
        Its `split_column` says how to split; without one rows are held out at random, with all
        classes on both sides.
    share : float
        Share of the rows to hold out; 0 for none.
    seed : int
    """
    rows = schema.usable(frame)
    if share == 0:
        return rows, None, ""
    column = schema.split_column
    if column is None:
        held, words = _at_random(rows, schema, share, seed)
    elif column.split == "time":
        held, words = _latest(rows[column.name], column, share)
    else:
        held, words = _groups(rows[column.name], column, share, seed)
    _check_classes(rows, schema, held)
    return rows[~held], rows[held], words


def _at_random(rows: pd.DataFrame, schema: Schema, share: float, seed: int) -> tuple[Mask, str]:
    try:
        _, chosen = train_test_split(
            np.arange(len(rows)),
            test_size=share,
            random_state=seed,
            stratify=schema.outcomes(rows) if schema.classes else None,
        )
    except ValueError as error:
        raise UsageError(
            f"--holdout {share} of {len(rows)} rows leaves too few rows on one side: "
            "choose another share, or 0 to hold out none."
        ) from error
    alike = ", with the same share of every class" if schema.classes else ""
    words = f"held out: {len(chosen)} rows, chosen at random{alike}"
    return np.isin(np.arange(len(rows)), chosen), words


def _latest(cells: pd.Series, column: Column, share: float) -> tuple[Mask, str]:
    """Rows after a moment; those of the same moment stay together, those without one are kept."""
    values = cells.where(~is_missing(cells))
    read = dates_in if column.kind == "date" else as_numbers
    moments = read(values, column.style)
    last = moments.sort_values().iloc[int((1 - share) * moments.notna().sum()) - 1]
    held = np.asarray(moments > last)
    if not held.any() or held.all():
        raise UsageError(
            f"--split-by {column.name} has too few different times to hold out the latest "
            f"{share:.0%}: choose another column or --holdout."
        )
    shown = last.date() if column.kind == "date" else f"{last:g}"
    return held, f"held out: {int(held.sum())} rows, the latest by {column.name!r} (after {shown})"


def _groups(cells: pd.Series, column: Column, share: float, seed: int) -> tuple[Mask, str]:
    names = cells.astype(str).to_numpy()
    n_groups = len(set(names))
    if n_groups < 2:
        raise UsageError(f"--split-by {column.name} has one group only: choose another column.")
    cutter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    _, chosen = next(cutter.split(names, groups=names))
    held = np.isin(np.arange(len(names)), chosen)
    some = len(set(names[held]))
    return held, (
        f"held out: {int(held.sum())} rows, all of {some} of the {n_groups} groups by "
        f"{column.name!r}"
    )


def _check_classes(rows: pd.DataFrame, schema: Schema, held: Mask) -> None:
    """Refuse a split that leaves a class without training rows."""
    if not schema.classes:
        return
    outcomes = schema.outcomes(rows)
    lost = sorted(set(schema.classes) - set(outcomes[~held].tolist()))
    if lost:
        raise UsageError(
            f"--split-by leaves no training rows of class {lost[0]!r}: choose "
            "another column, or split at random."
        )
