"""Schema: what a data file holds, found out once and held against later files.

Everything that was decided is in notes, to be shown; nothing is treated in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nearbayes.cli.cells import as_numbers, is_missing, without_missing
from nearbayes.cli.column_kinds import MOSTLY, Column, counted, joined, listed
from nearbayes.cli.errors import UsageError

__all__ = ["Schema", "Task"]

Task = Literal["classification", "regression"]

MOST_CLASSES = 50
FEW_WHOLE_NUMBERS = 10  # a target with no more different whole numbers is taken for classes
FEWEST_ROWS = 5  # of a class
WHOLE_NUMBER = re.compile(r"^(-?\d+)\.0+$")


@dataclass(frozen=True)
class Schema:
    """Columns of the inputs, and the target.

    Attributes
    ----------
    columns : tuple of Column
    target : str
    task : "classification" or "regression"
    classes : tuple of str
        In the order of their codes; empty for regression.
    note : str
        What was done to rows because of their target.
    """

    columns: tuple[Column, ...]
    target: str
    task: Task
    classes: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def found(cls, frame: pd.DataFrame, target: str, task: Task | None = None) -> Schema:
        """Find out what the columns of a frame are, and what is to be done with the target."""
        if target not in frame.columns:
            raise UsageError(
                f"--target {target!r} is no column of the file, which has {listed(frame.columns)}."
            )
        columns = tuple(Column.seen(name, frame[name]) for name in frame.columns if name != target)
        if all(column.kind == "left out" for column in columns):
            raise UsageError("no column but the target says anything: all are empty or constant.")
        _check_clashes(columns)
        task = _task(frame[target], target) if task is None else task
        if task == "regression":
            return cls(columns, target, task, note=_unusable(frame[target], target))
        return _with_classes(columns, frame[target], target)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Schema:
        """Undo `asdict`."""
        columns = tuple(
            Column(**{**each, "levels": tuple(each["levels"])}) for each in saved["columns"]
        )
        return cls(**{**saved, "columns": columns, "classes": tuple(saved["classes"])})

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)

    def inputs(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The inputs as models take them: numbers and categories."""
        self.check_columns(frame)
        read = [column.read(frame[column.name]) for column in self.used]
        inputs = {name: values for each in read for name, values in each.items()}
        return pd.DataFrame(inputs, index=frame.index).reset_index(drop=True)

    @property
    def used(self) -> list[Column]:
        """Columns that are not left out."""
        return [column for column in self.columns if column.kind != "left out"]

    @property
    def input_names(self) -> dict[str, str]:
        """Names of the inputs for models, and for people."""
        return {key: name for column in self.used for key, name in column.inputs.items()}

    def check_columns(self, frame: pd.DataFrame) -> None:
        """Refuse a file without the columns of the training."""
        lacking = [column.name for column in self.used if column.name not in frame.columns]
        if lacking:
            raise UsageError(
                f"the file lacks columns that the model was trained on: {listed(lacking)}."
            )

    def surprises(self, frame: pd.DataFrame) -> list[str]:
        """What in a later file is not as in the training, and what is done about it."""
        self.check_columns(frame)
        said = {column.name: column.surprises(frame[column.name]) for column in self.used}
        known = {self.target, *(column.name for column in self.columns)}
        extra = [name for name in frame.columns if name not in known]
        return [f"column {name!r}: {what}" for name, what in said.items() if what] + (
            [f"columns that the training did not have are not used: {listed(extra)}"]
            if extra
            else []
        )

    def labelled(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Inputs and outcomes of the rows whose target can be used."""
        rows = self.usable(frame)
        return self.inputs(rows), self.outcomes(rows)

    def usable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with a target: a number, or one of the classes."""
        if self.target not in frame.columns:
            raise UsageError(f"the file lacks the target {self.target!r}.")
        values = frame[self.target].where(~is_missing(frame[self.target]))
        numbers = self.task == "regression"
        usable = as_numbers(values).notna() if numbers else values.map(_label).isin(self.classes)
        if not usable.any():
            raise UsageError(f"no row has a target {self.target!r} that can be used.")
        return frame[usable]

    def outcomes(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Numbers, or classes as text, of rows that have them."""
        if self.task == "regression":
            return np.asarray(as_numbers(frame[self.target]))
        return np.asarray(frame[self.target].map(_label), dtype=str)


def _check_clashes(columns: tuple[Column, ...]) -> None:
    """Refuse columns of which models would get inputs of the same name."""
    names = Counter(name for column in columns for name in column.inputs)
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        raise UsageError(f"two columns are to be called {twice[0]!r} for the model: rename one.")


def _task(values: pd.Series, target: str) -> Task:
    present = without_missing(values)
    if present.empty:
        raise UsageError(f"the target {target!r} is missing in every row.")
    numbers = as_numbers(present)
    if numbers.notna().mean() < MOSTLY:
        return "classification"
    distinct = numbers.dropna().unique()
    whole = bool(np.all(distinct == np.round(distinct)))
    return "classification" if whole and len(distinct) <= FEW_WHOLE_NUMBERS else "regression"


def _unusable(values: pd.Series, target: str) -> str:
    """Check a target of numbers; say how many rows are of no use."""
    y = as_numbers(without_missing(values))
    if y.isna().mean() > 1 - MOSTLY:
        example = without_missing(values)[y.isna()].iloc[0]
        raise UsageError(
            f"the target {target!r} is not made of numbers ({str(example)[:30]!r}): use --task "
            "classification."
        )
    if y.nunique() < 2:
        raise UsageError(f"the target {target!r} is always the same: there is nothing to learn.")
    return counted(len(values) - int(y.notna().sum()), "rows without a target left out")


def _with_classes(columns: tuple[Column, ...], values: pd.Series, target: str) -> Schema:
    counts = without_missing(values).map(_label).value_counts()
    kept, rare = counts[counts >= FEWEST_ROWS], counts[counts < FEWEST_ROWS]
    if len(counts) > MOST_CLASSES and len(kept) < len(counts) / 2:
        raise UsageError(
            f"the target {target!r} has {len(counts)} different values, most of them in fewer than "
            f"{FEWEST_ROWS} rows, and they are not numbers: is it the right column?"
        )
    if len(counts) == 1:
        raise UsageError(f"the target {target!r} is always {counts.index[0]!r}.")
    if len(kept) < 2:
        raise UsageError(
            f"the target {target!r} has fewer than two classes of {FEWEST_ROWS} rows or more: "
            f"{listed(counts.index)}."
        )
    note = joined(
        counted(int(is_missing(values).sum()), "rows without a target left out"),
        counted(int(rare.sum()), f"rows left out, of classes too rare: {listed(rare.index)}"),
    )
    return Schema(columns, target, "classification", tuple(sorted(kept.index)), note)


def _label(value: Any) -> Any:
    """A class as text; a whole number without its ".0", whichever way the file writes it."""
    return None if pd.isna(value) else WHOLE_NUMBER.sub(r"\1", str(value))
