"""Predictions of rows with intervals, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.schedule import is_number
from nearbayes.inspection.columns import is_present
from nearbayes.inspection.reliability import predictive_sets
from nearbayes.report.heldout import LEVELS, MOST_CLASSES, HeldOut
from nearbayes.report.rounding import by_level, in_digits, rounded

__all__ = ["cell_text", "predictions"]

Array = NDArray[np.float64]

MOST_RANKED = 5  # classes of a predictive set that are listed by name


def predictions(held: HeldOut) -> dict[str, Any]:
    """Columns of the table of predictions; intervals at every level of `LEVELS`."""
    shown = held.shown
    columns: dict[str, Any] = {
        "rows": len(shown),
        "of": held.n,
        "called": held.rows.called,
        "levels": list(LEVELS),
        "row": [held.labels[row] for row in shown],
        "epistemic": rounded(held.epistemic[shown]),
        "aleatoric": rounded(held.aleatoric[shown]),
    }
    return columns | (_class_columns(held) if held.is_classifier else _outcome_columns(held))


def _class_columns(held: HeldOut) -> dict[str, Any]:
    mean = held.mean[held.shown]
    bounds = held.at(held.shown, lambda x: held.model.predict_interval(x, LEVELS))
    ranked, size = predictive_sets(mean, LEVELS)
    return {
        "observed": held.y[held.shown].tolist(),
        "predicted": ranked[:, 0].tolist(),
        "ranked": ranked[:, :MOST_RANKED].T.tolist(),
        "set_size": size.T.tolist(),
        "views": _views(held, mean, bounds, ranked[:, 0]),
    }


def _views(
    held: HeldOut, mean: Array, bounds: Array, likeliest: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """Views of one class of two, each class of several, or each row's most likely class."""
    n_classes, rows = mean.shape[1], np.arange(len(mean))
    if n_classes > MOST_CLASSES:
        return [_view(None, mean[rows, likeliest], bounds[rows, likeliest])]
    return [
        _view(k, mean[:, k], bounds[:, k])
        for k in ([held.focus] if n_classes == 2 else range(n_classes))
    ]


def _view(code: int | None, mean: Array, bounds: Array) -> dict[str, Any]:
    return {"class": code, "mean": rounded(mean), "credible": by_level(bounds)}


def _outcome_columns(held: HeldOut) -> dict[str, Any]:
    def bounds(kind: str) -> list[dict[str, Any]]:
        return by_level(
            held.at(held.shown, lambda x: held.model.predict_interval(x, LEVELS, kind=kind))
        )

    return {
        "observed": rounded(held.y[held.shown]),
        "mean": rounded(held.mean[held.shown]),
        "credible": bounds("credible"),
        "predictive": bounds("predictive"),
    }


def cell_text(column: NDArray[Any], row: int) -> str:
    """One value of a column as text; "missing" for missing values.

    Examples
    --------
    >>> cell_text(np.array([0.123456, np.nan]), 0), cell_text(np.array([0.1, np.nan]), 1)
    ('0.1235', 'missing')
    """
    if not is_present(column[row : row + 1])[0]:
        return "missing"
    value = column[row]
    return in_digits(float(value), 4) if is_number(value) else str(value)
