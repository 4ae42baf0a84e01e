"""Numeric inputs: categories and gaps as numbers, for models that take only numbers.

The model then sees the encoded columns, so that all draws can be computed in one program; a
pipeline would hide its last step from nearbayes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.errors import UsageError

__all__ = ["NumericInputs"]

MOST_INPUTS = 200
MISSING = "missing"
# A category with fewer rows gets no input: the process would learn a length scale from them.
FEWEST_ROWS, RARE = 3, 0.02


@dataclass(frozen=True)
class NumericInputs:
    """How inputs become numbers; learned from the training rows.

    Attributes
    ----------
    fills : dict of str to float
        Input of numbers -> the median, which replaces missing values.
    gaps : tuple of str
        Inputs of numbers that get a second input, which is 1 where a value is missing.
    levels : dict of str to tuple of str
        Input of categories -> the categories that get an input of 0 and 1; rare ones get none.

    Examples
    --------
    >>> X = pd.DataFrame({"size": [1.0, 3.0, 1.0, None], "kind": pd.Categorical(list("aaba"))})
    >>> NumericInputs.of(X).encode(X).to_numpy().tolist()  # size, missing, kind = a
    [[1.0, 0.0, 1.0], [3.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """

    fills: dict[str, float] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, X: pd.DataFrame) -> NumericInputs:
        """Learn from training rows, as `Schema.inputs` gives them."""
        named = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
        numbers = [name for name in X if name not in named]
        fills = {name: _median(X[name]) for name in numbers}
        gaps = tuple(name for name in numbers if 0 < X[name].isna().sum() < len(X))
        found = cls(fills, gaps, {name: _levels(X[name]) for name in named})
        if len(found.names) > MOST_INPUTS:
            raise UsageError(
                f"--model gp takes at most {MOST_INPUTS} inputs, got {len(found.names)} (one for "
                "each category): leave out columns with --drop, or use another model, such as "
                "blend."
            )
        return found

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> NumericInputs:
        """Read what `dataclasses.asdict` gave."""
        levels = {name: tuple(values) for name, values in saved["levels"].items()}
        return cls(dict(saved["fills"]), tuple(saved["gaps"]), levels)

    @property
    def names(self) -> dict[str, tuple[str, str]]:
        """Encoded input -> the input that it is made of, and what is added to its name."""
        numbers = {name: (name, "") for name in self.fills}
        gaps = {f"{name} ({MISSING})": (name, f" ({MISSING})") for name in self.gaps}
        dummies = {
            f"{name} = {level or MISSING}": (name, f" = {level or MISSING}")
            for name, levels in self.levels.items()
            for level in levels
        }
        return numbers | gaps | dummies

    def encode(self, X: pd.DataFrame) -> pd.DataFrame:
        """Inputs as numbers without gaps, shape (n_rows, n_encoded)."""
        made = {name: X[name].fillna(value) for name, value in self.fills.items()}
        made |= {f"{name} ({MISSING})": X[name].isna().astype(float) for name in self.gaps}
        for name, levels in self.levels.items():
            text = _as_text(X[name])
            for level in levels:
                made[f"{name} = {level or MISSING}"] = (text == level).astype(float)
        return pd.DataFrame(made, index=X.index)


def _median(values: pd.Series) -> float:
    return float(np.nanmedian(values)) if values.notna().any() else 0.0


def _levels(values: pd.Series) -> tuple[str, ...]:
    """Categories with enough training rows; of two, one says all."""
    times = _as_text(values).value_counts()
    frequent = times[times >= max(FEWEST_ROWS, RARE * len(values))].index.tolist()
    return tuple(frequent[:1] if len(times) == 2 else frequent)


def _as_text(values: pd.Series) -> pd.Series:
    """Categories as text; missing is the empty text."""
    return values.astype(object).where(values.notna(), "").astype(str)
