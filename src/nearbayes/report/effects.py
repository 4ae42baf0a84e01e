"""Effects of features: partial dependence with a credible band."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from nearbayes.inspection.columns import Column, column_of
from nearbayes.inspection.dependence import MOST_ROWS, partial_dependence
from nearbayes.report.heldout import LEVELS, MOST_CLASSES, HeldOut
from nearbayes.report.rounding import by_level, rounded

__all__ = ["effects"]

MOST_FEATURES = 12
MOST_POINTS = 15
MOST_DRAWS = 40
TRIM = 0.02  # there are too few rows at the ends


def effects(held: HeldOut, features: list[int]) -> dict[str, Any] | None:
    """Partial dependence of the prediction on the most important features.

    Uses the twelve most important columns that are not constant. Returns None if only the
    predictions of the draws were kept.
    """
    if not held.keeps_models or not held.names:
        return None
    shown = partial(column_of, held.table, names=held.names, most=MOST_POINTS, trim=TRIM)
    varying = (each for each in map(shown, features) if each.n_distinct > 1)
    return {
        "rows": min(held.n, MOST_ROWS),
        "draws": min(MOST_DRAWS, len(held.posterior)),
        "of_draws": len(held.posterior),
        "views": [f"probability of {held.classes[k]}" for k in _views(held)],
        "features": [_effect(held, column) for column in islice(varying, MOST_FEATURES)],
    }


def _views(held: HeldOut) -> list[int]:
    """Classes whose probability is shown: one of two, or the most frequent of many."""
    if not held.is_classifier or len(held.classes) == 2:
        return [held.focus] if held.is_classifier else []
    common = np.argsort(-np.bincount(held.y, minlength=len(held.classes)), kind="stable")
    return sorted(common[:MOST_CLASSES].tolist())


def _effect(held: HeldOut, column: Column) -> dict[str, Any]:
    numeric = column.is_number
    classes = held.model.classes_.tolist() if held.is_classifier else []
    target = classes[held.focus] if len(classes) == 2 else None
    found = partial_dependence(held.model, column, target, LEVELS, MOST_DRAWS)
    curves = [found[k] for k in _views(held)] if len(found) > 1 else found
    deciles = np.quantile(column.values, np.arange(1, 10) / 10) if numeric else []
    return {
        "feature": column.place,
        "name": column.name,
        "numeric": numeric,
        "missing": rounded(1 - len(column.values) / held.n),
        "at": rounded(column.grid) if numeric else [str(value) for value in column.grid],
        "deciles": rounded(deciles),
        "curves": [
            {"mean": rounded(curve.mean), "intervals": by_level(curve.credible)} for curve in curves
        ],
    }
