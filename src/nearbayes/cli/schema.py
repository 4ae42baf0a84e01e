"""Schema: what each column of a data file is, found out once and held against later files.

Everything that was decided is in `Column.note`, to be shown; nothing is treated in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nearbayes.cli.errors import UsageError

__all__ = ["Column", "Schema", "Task"]

Task = Literal["classification", "regression"]
Kind = Literal["number", "category", "date", "left out"]

MOSTLY = 0.95  # share of values that makes a column of numbers or dates one
MOST_LEVELS = 100  # categories kept; rarer ones are put together
MOST_CLASSES = 50
FEW_WHOLE_NUMBERS = 10  # a target with no more different whole numbers is taken for classes
FEWEST_ROWS = 5  # of a class
OTHER = "(other)"
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
DATE_PARTS = ("days", "month", "weekday")


@dataclass(frozen=True)
class Column:
    """One column of the file.

    Attributes
    ----------
    name : str
    kind : "number", "category", "date" or "left out"
    levels : tuple of str
        Categories, the commonest first.
    note : str
        What a reader should know of its treatment.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def seen(cls, name: str, values: pd.Series) -> Column:
        """Find out what a column is."""
        present = _without_missing(values)
        n_distinct = present.nunique()
        if n_distinct == 0:
            return cls(name, "left out", note="all missing")
        if n_distinct == 1:
            return cls(name, "left out", note=f"always {str(present.iloc[0])[:30]!r}")
        missing = _counted(len(values) - len(present), "missing")
        if pd.api.types.is_datetime64_any_dtype(present):
            return cls(name, "date", note=missing)
        numbers = _as_numbers(present)
        bad = int(numbers.isna().sum())
        if bad <= (1 - MOSTLY) * len(present):
            return cls(
                name, "number", note=_joined(missing, _counted(bad, "no number, so missing"))
            )
        if _as_dates(present).notna().mean() >= MOSTLY:
            return cls(name, "date", note=missing)
        if n_distinct == len(present) and len(present) > MOST_LEVELS:
            return cls(name, "left out", note="text that is different in every row")
        levels = present.astype(str).value_counts().index.tolist()
        rare = _counted(max(0, len(levels) - MOST_LEVELS), f"rare categories taken as {OTHER!r}")
        return cls(name, "category", tuple(levels[:MOST_LEVELS]), _joined(missing, rare))

    def read(self, values: pd.Series) -> dict[str, pd.Series]:
        """The column as models take it; a date becomes three columns."""
        if self.kind == "left out":
            return {}
        present = values.where(~_is_missing(values))
        if self.kind == "number":
            return {self.name: _as_numbers(present)}
        if self.kind == "date":
            dates = _as_dates(present)
            parts = ((dates - pd.Timestamp(1970, 1, 1)).dt.days, dates.dt.month, dates.dt.weekday)
            names = (f"{self.name} ({part})" for part in DATE_PARTS)
            return {name: part.astype(float) for name, part in zip(names, parts, strict=True)}
        text = present.astype("string").where(present.notna())
        known = text.isin(self.levels) | text.isna()
        kept = text.where(known, OTHER).astype(object).where(text.notna(), None)
        return {self.name: pd.Series(pd.Categorical(kept, [*self.levels, OTHER]), values.index)}


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
                f"--target {target!r} is no column of the file, which has {_listed(frame.columns)}."
            )
        columns = tuple(Column.seen(name, frame[name]) for name in frame.columns if name != target)
        if all(column.kind == "left out" for column in columns):
            raise UsageError("no column but the target says anything: all are empty or constant.")
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
        needed = [column for column in self.columns if column.kind != "left out"]
        missing = [column.name for column in needed if column.name not in frame.columns]
        if missing:
            raise UsageError(f"the file lacks columns that the model was trained on: {missing}.")
        read: dict[str, pd.Series] = {}
        for column in needed:
            read |= column.read(frame[column.name])
            _check_numbers(column, frame[column.name], read)
        return pd.DataFrame(read, index=frame.index).reset_index(drop=True)

    def labelled(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Inputs and outcomes of the rows whose target can be used."""
        rows = self.usable(frame)
        return self.inputs(rows), self.outcomes(rows)

    def usable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with a target: a number, or one of the classes."""
        if self.target not in frame.columns:
            raise UsageError(f"the file lacks the target {self.target!r}.")
        values = frame[self.target].where(~_is_missing(frame[self.target]))
        numbers = self.task == "regression"
        usable = _as_numbers(values).notna() if numbers else values.map(_label).isin(self.classes)
        if not usable.any():
            raise UsageError(f"no row has a target {self.target!r} that can be used.")
        return frame[usable]

    def outcomes(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Numbers, or classes as text, of rows that have them."""
        if self.task == "regression":
            return np.asarray(_as_numbers(frame[self.target]))
        return np.asarray(frame[self.target].map(_label), dtype=str)


def _task(values: pd.Series, target: str) -> Task:
    present = _without_missing(values)
    if present.empty:
        raise UsageError(f"the target {target!r} is missing in every row.")
    numbers = _as_numbers(present)
    if numbers.notna().mean() < MOSTLY:
        return "classification"
    distinct = numbers.dropna().unique()
    whole = bool(np.all(distinct == np.round(distinct)))
    return "classification" if whole and len(distinct) <= FEW_WHOLE_NUMBERS else "regression"


def _unusable(values: pd.Series, target: str) -> str:
    """Check a target of numbers; say how many rows are of no use."""
    y = _as_numbers(_without_missing(values))
    if y.isna().mean() > 1 - MOSTLY:
        example = _without_missing(values)[y.isna()].iloc[0]
        raise UsageError(
            f"the target {target!r} is not made of numbers ({str(example)[:30]!r}): use --task "
            "classification."
        )
    if y.nunique() < 2:
        raise UsageError(f"the target {target!r} is always the same: there is nothing to learn.")
    return _counted(len(values) - int(y.notna().sum()), "rows without a target left out")


def _with_classes(columns: tuple[Column, ...], values: pd.Series, target: str) -> Schema:
    counts = _without_missing(values).map(_label).value_counts()
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
            f"{_listed(counts.index)}."
        )
    note = _joined(
        _counted(int(_is_missing(values).sum()), "rows without a target left out"),
        _counted(int(rare.sum()), f"rows left out, of classes too rare: {_listed(rare.index)}"),
    )
    return Schema(columns, target, "classification", tuple(sorted(kept.index)), note)


def _label(value: Any) -> Any:
    """A class as text; a whole number without its ".0"."""
    whole = isinstance(value, float) and value.is_integer()
    return None if pd.isna(value) else str(int(value) if whole else value)


def _is_missing(values: pd.Series) -> pd.Series:
    if values.dtype.kind in "biufM":
        return values.isna()
    return values.isna() | values.astype(str).str.strip().str.lower().isin(MISSING)


def _without_missing(values: pd.Series) -> pd.Series:
    return values[~_is_missing(values)]


def _as_numbers(values: pd.Series) -> pd.Series:
    """Numbers, missing where there is none; infinite ones are missing, too."""
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def _as_dates(values: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(values):
        return values.dt.tz_localize(None)
    dates = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    return dates.dt.tz_localize(None)


def _check_numbers(column: Column, given: pd.Series, read: Mapping[str, pd.Series]) -> None:
    if column.kind != "number":
        return
    present = _without_missing(given)
    if len(present) and read[column.name].isna().all():
        raise UsageError(
            f"column {column.name!r} held numbers in training, but here no number: "
            f"{str(present.iloc[0])[:30]!r}."
        )


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n else ""


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(str(name)[:40]) for name in list(names)[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
