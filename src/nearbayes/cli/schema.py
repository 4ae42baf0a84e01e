"""Schema: the columns of a data file, inferred once and checked against later files.

Every decision is recorded in a note that the user sees.
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

__all__ = ["Schema", "Task", "label"]

Task = Literal["classification", "regression"]

MOST_CLASSES = 50
FEW_WHOLE_NUMBERS = 10  # a target with at most this many distinct integers is read as classes
FEWEST_ROWS = 5  # rows that a class needs
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
        Which rows were left out because of their target.
    """

    columns: tuple[Column, ...]
    target: str
    task: Task
    classes: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def found(cls, frame: pd.DataFrame, target: str, task: Task | None = None) -> Schema:
        """Infer the schema of a frame."""
        if target not in frame.columns:
            raise UsageError(
                f"--target must be a column of the file, one of {listed(frame.columns)}, got "
                f"{target!r}."
            )
        columns = tuple(Column.seen(name, frame[name]) for name in frame.columns if name != target)
        if all(column.kind == "left out" for column in columns):
            raise UsageError(
                "no column besides the target can be used: all are empty, constant or identifiers."
            )
        _check_clashes(columns)
        task = _task(frame[target], target) if task is None else task
        if task == "regression":
            return cls(columns, target, task, note=_unusable(frame[target], target))
        return _with_classes(columns, frame[target], target)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Schema:
        """Inverse of `to_json`."""
        columns = tuple(
            Column(**{**each, "levels": tuple(each["levels"])}) for each in saved["columns"]
        )
        return cls(**{**saved, "columns": columns, "classes": tuple(saved["classes"])})

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)

    def inputs(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Inputs as numbers and categories, for models."""
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
        """Names of the inputs: name for models -> name for people."""
        return {key: name for column in self.used for key, name in column.inputs.items()}

    def check_columns(self, frame: pd.DataFrame) -> None:
        """Raise an error if the file lacks a column used in training."""
        lacking = [column.name for column in self.used if column.name not in frame.columns]
        if lacking:
            raise UsageError(
                f"the file lacks columns that were used in training: {listed(lacking)}."
            )

    def surprises(self, frame: pd.DataFrame) -> list[str]:
        """Describe how a later file differs from training, and how that is handled."""
        self.check_columns(frame)
        said = {column.name: column.surprises(frame[column.name]) for column in self.used}
        known = {self.target, *(column.name for column in self.columns)}
        extra = [name for name in frame.columns if name not in known]
        return [f"column {name!r}: {what}" for name, what in said.items() if what] + (
            [f"columns that were not in the training data are ignored: {listed(extra)}"]
            if extra
            else []
        )

    def labelled(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Inputs and outcomes of the rows with a usable target."""
        rows = self.usable(frame)
        return self.inputs(rows), self.outcomes(rows)

    def usable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows whose target is a number, or one of the classes."""
        if self.target not in frame.columns:
            raise UsageError(f"the file lacks the target column {self.target!r}.")
        values = frame[self.target].where(~is_missing(frame[self.target]))
        numbers = self.task == "regression"
        usable = as_numbers(values).notna() if numbers else values.map(label).isin(self.classes)
        if not usable.any():
            raise UsageError(
                f"the target {self.target!r} has no usable value: it must hold numbers, or classes "
                "seen in training."
            )
        return frame[usable]

    def outcomes(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Outcomes as numbers, or as class names."""
        if self.task == "regression":
            return np.asarray(as_numbers(frame[self.target]))
        return np.asarray(frame[self.target].map(label), dtype=str)


def _check_clashes(columns: tuple[Column, ...]) -> None:
    """Raise an error if two columns would give inputs of the same name."""
    names = Counter(name for column in columns for name in column.inputs)
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        raise UsageError(f"two columns give an input of the name {twice[0]!r}: rename one.")


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
    """Check a numeric target; return a note on the rows left out."""
    y = as_numbers(without_missing(values))
    if y.isna().mean() > 1 - MOSTLY:
        example = without_missing(values)[y.isna()].iloc[0]
        raise UsageError(
            f"the target {target!r} must hold numbers for regression, got {str(example)[:30]!r}: "
            "use --task classification."
        )
    if y.nunique() < 2:
        raise UsageError(f"the target {target!r} is constant: there is nothing to learn.")
    return counted(len(values) - int(y.notna().sum()), "rows without a target left out")


def _with_classes(columns: tuple[Column, ...], values: pd.Series, target: str) -> Schema:
    counts = without_missing(values).map(label).value_counts()
    kept, rare = counts[counts >= FEWEST_ROWS], counts[counts < FEWEST_ROWS]
    if len(counts) > MOST_CLASSES and len(kept) < len(counts) / 2:
        raise UsageError(
            f"the target {target!r} has {len(counts)} classes, most of them with fewer than "
            f"{FEWEST_ROWS} rows: check --target, or use --task regression if it holds numbers."
        )
    if len(counts) == 1:
        raise UsageError(f"the target {target!r} has only one class, {counts.index[0]!r}.")
    if len(kept) < 2:
        raise UsageError(
            f"the target {target!r} must have two classes with at least {FEWEST_ROWS} rows each, "
            f"got the classes {listed(counts.index)}."
        )
    note = joined(
        counted(int(is_missing(values).sum()), "rows without a target left out"),
        counted(int(rare.sum()), f"rows of rare classes left out: {listed(rare.index)}"),
    )
    return Schema(columns, target, "classification", tuple(sorted(kept.index)), note)


def label(value: Any) -> Any:
    """A class as text; an integer written as a float, such as "1.0", becomes "1"."""
    return None if pd.isna(value) else WHOLE_NUMBER.sub(r"\1", str(value))
