"""Schema: the columns of a data file, inferred once and checked against later files.

Every decision is recorded in a note that the user sees.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nearbayes.cli.cells import as_numbers, holds_words, is_missing, without_missing
from nearbayes.cli.choices import DecimalMark, SplitAs, Task
from nearbayes.cli.column_kinds import (
    Column,
    counted,
    joined,
    listed,
    number_style,
    way_to_split,
)
from nearbayes.cli.errors import UsageError
from nearbayes.cli.number_styles import decimal_mark
from nearbayes.cli.numeric_inputs import NumericInputs
from nearbayes.cli.target_column import (
    WORDS_OF,
    Outcome,
    check_units,
    outcome_kind,
    task_of,
    usable_numbers,
)

__all__ = ["Reading", "Schema", "label"]

MOST_CLASSES = 50
FEWEST_ROWS = 5  # rows that a class needs
WHOLE_NUMBER = re.compile(r"^(-?\d+)\.0+$")
NUMBERED = re.compile(r"column \d+")  # what --no-header calls them


@dataclass(frozen=True)
class Reading:
    """What the user says about the columns of a file.

    Attributes
    ----------
    drop : tuple of str
        Columns to leave out.
    keep : tuple of str
        Columns to use although they look like row numbers or identifiers.
    id : str
        Column that names the rows: not an input, but carried into predictions; empty for none.
    decimal : "." or ",", optional
        Decimal mark; None finds it.
    split_by : str
        Column by which rows are held out; empty to hold out some at random.
    split_as : "time" or "groups", optional
        Whether that column says when rows were seen, or which ones belong together; None finds it.
    """

    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    id: str = ""
    decimal: DecimalMark | None = None
    split_by: str = ""
    split_as: SplitAs | None = None

    def check(self, frame: pd.DataFrame, target: str) -> None:
        """Refuse names that are no columns, and a target that is left out."""
        options = {"--drop": self.drop, "--keep": self.keep}
        options |= {"--id": (self.id,), "--split-by": (self.split_by,)}
        for option, names in options.items():
            wrong = [name for name in names if name and name not in frame.columns]
            if wrong:
                raise UsageError(
                    f"{option} must be a column of the file, one of {listed(frame.columns)}, got "
                    f"{wrong[0]!r}."
                )
        if target == self.split_by:
            raise UsageError(f"--split-by must be another column than the target, got {target!r}.")
        if target in (*self.drop, self.id):
            raise UsageError(f"the target {target!r} cannot be left out: choose another column.")

    def column(self, name: str, values: pd.Series, decimal: DecimalMark) -> Column:
        """The column as the user wants it treated."""
        if name == self.id:
            return Column(name, "left out", note="names the rows (--id)")
        if name in self.drop:
            return Column(name, "left out", note="as you asked (--drop)")
        if name == self.split_by:
            return self.split_column(name, values, decimal)
        return Column.seen(name, values, decimal, name in self.keep)

    def split_column(self, name: str, values: pd.Series, decimal: DecimalMark) -> Column:
        """The column of --split-by: a time is an input, too; new groups would be unknown."""
        column = Column.seen(name, values, decimal, keep=True)
        way = self.split_as or way_to_split(column)
        if way == "time" and column.kind not in ("date", "number"):
            raise UsageError(
                f"--split-by {name} must hold dates or numbers to split by time, got "
                f"{str(values.iloc[0])[:30]!r}: use --split-as groups."
            )
        if way == "time" or name in self.keep:
            return replace(column, split=way)
        note = "groups of rows (--split-by)"
        return replace(column, kind="left out", levels=(), note=note, split=way)


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
        How the target is read, and which rows were left out because of it.
    target_style : str
        `NumberStyle.code` of a numeric target.
    outcome : "any", "count", "positive" or "nonnegative"
        What a numeric target can be.
    id : str
        Column that names the rows; empty for none.
    numeric : NumericInputs, optional
        How inputs become numbers, for a model that takes only numbers.
    """

    columns: tuple[Column, ...]
    target: str
    task: Task
    classes: tuple[str, ...] = ()
    note: str = ""
    target_style: str = ""
    outcome: Outcome = "any"
    id: str = ""
    numeric: NumericInputs | None = None

    @classmethod
    def found(
        cls,
        frame: pd.DataFrame,
        target: str,
        task: Task | None = None,
        reading: Reading | None = None,
    ) -> Schema:
        """Infer the schema of a frame."""
        reading = reading or Reading()
        if target not in frame.columns:
            raise UsageError(
                f"--target must be a column of the file, one of {listed(frame.columns)}, got "
                f"{target!r}."
            )
        reading.check(frame, target)
        present = [without_missing(frame[name]) for name in frame.columns]
        decimal = reading.decimal or decimal_mark(present)
        columns = tuple(
            reading.column(name, frame[name], decimal) for name in frame.columns if name != target
        )
        if all(column.kind == "left out" for column in columns):
            why = "; ".join(f"{column.name!r} is left out: {column.note}" for column in columns[:3])
            raise UsageError(f"no column besides the target can be used ({why or 'it is alone'}).")
        _check_clashes(columns)
        style = number_style(without_missing(frame[target]), decimal)
        task = task_of(frame[target], target, style) if task is None else task
        if task == "classification":
            return replace(_with_classes(columns, frame[target], target), id=reading.id)
        style, y, note = usable_numbers(frame[target], target, decimal)
        return cls(
            columns,
            target,
            task,
            (),
            joined(style.words, note),
            style.code,
            outcome_kind(y),
            reading.id,
        )

    @property
    def split_column(self) -> Column | None:
        """The column by which rows are held out; None if they are at random."""
        return next((column for column in self.columns if column.split), None)

    @property
    def target_words(self) -> str:
        """What the target holds, for people."""
        return f"{len(self.classes)} classes" if self.classes else WORDS_OF[self.outcome]

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Schema:
        """Inverse of `to_json`."""
        columns = tuple(
            Column(**{**each, "levels": tuple(each["levels"])}) for each in saved["columns"]
        )
        numeric = saved.get("numeric")
        parts = {
            "columns": columns,
            "classes": tuple(saved["classes"]),
            "numeric": None if numeric is None else NumericInputs.from_json(numeric),
        }
        return cls(**{**saved, **parts})

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)

    def inputs(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Inputs as numbers and categories, for models."""
        self.check_columns(frame)
        read = [column.read(frame[column.name]) for column in self.used]
        inputs = {name: values for each in read for name, values in each.items()}
        table = pd.DataFrame(inputs, index=frame.index).reset_index(drop=True)
        return table if self.numeric is None else self.numeric.encode(table)

    def with_numbers(self, train: pd.DataFrame) -> Schema:
        """The same schema, whose inputs are all numbers."""
        plain = replace(self, numeric=None)
        return replace(self, numeric=NumericInputs.of(plain.inputs(train)))

    @property
    def used(self) -> list[Column]:
        """Columns that are not left out."""
        return [column for column in self.columns if column.kind != "left out"]

    @property
    def input_names(self) -> dict[str, str]:
        """Names of the inputs: name for models -> name for people."""
        names = {key: name for column in self.used for key, name in column.inputs.items()}
        if self.numeric is None:
            return names
        return {key: names[name] + more for key, (name, more) in self.numeric.names.items()}

    def check_columns(self, frame: pd.DataFrame) -> None:
        """Raise an error if the file lacks a column used in training."""
        lacking = [column.name for column in self.used if column.name not in frame.columns]
        if lacking:
            numbered = all(NUMBERED.fullmatch(name) for name in lacking)
            raise UsageError(
                f"the file lacks columns that were used in training: {listed(lacking)}"
                f"{': use --no-header, as in the fit' if numbered else ''}."
            )

    def labelled(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Inputs and outcomes of the rows with a usable target."""
        rows = self.usable(frame)
        return self.inputs(rows), self.outcomes(rows)

    def usable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows whose target is a number, or one of the classes."""
        if self.target not in frame.columns:
            raise UsageError(f"the file lacks the target column {self.target!r}.")
        numbers = self.task == "regression"
        values = frame[self.target].where(~is_missing(frame[self.target], of_words=not numbers))
        usable = (
            as_numbers(values, self.target_style).notna()
            if numbers
            else values.map(label).isin(self.classes)
        )
        if not usable.any():
            raise UsageError(
                f"the target {self.target!r} has no usable value: it must hold numbers, or classes "
                "seen in training."
            )
        return frame[usable]

    def outcomes(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Outcomes as numbers, or as class names."""
        if self.task == "regression":
            return np.asarray(as_numbers(frame[self.target], self.target_style))
        return np.asarray(frame[self.target].map(label), dtype=str)


def _check_clashes(columns: tuple[Column, ...]) -> None:
    """Raise an error if two columns would give inputs of the same name."""
    names = Counter(name for column in columns for name in column.inputs)
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        raise UsageError(f"two columns give an input of the name {twice[0]!r}: rename one.")


def _with_classes(columns: tuple[Column, ...], values: pd.Series, target: str) -> Schema:
    present = without_missing(values, holds_words(values))
    counts = present.map(label).value_counts()
    kept, rare = counts[counts >= FEWEST_ROWS], counts[counts < FEWEST_ROWS]
    check_units(present, target)
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
            f"got the classes {listed(counts.index)}: add rows, or use --task regression if it "
            "holds numbers."
        )
    note = joined(
        counted(len(values) - len(present), "rows without a target left out"),
        counted(int(rare.sum()), f"rows of rare classes left out: {listed(rare.index)}"),
    )
    return Schema(columns, target, "classification", tuple(sorted(kept.index)), note)


def label(value: Any) -> Any:
    """A class as text; an integer written as a float, such as "1.0", becomes "1"."""
    return None if pd.isna(value) else WHOLE_NUMBER.sub(r"\1", str(value))
