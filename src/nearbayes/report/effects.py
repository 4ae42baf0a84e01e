"""Effects of features: partial dependence of every draw, with its posterior band."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.credible import Functional
from nearbayes.core.tables import take
from nearbayes.core.types import Rng
from nearbayes.report.columns import column_values, is_number, is_present, with_column
from nearbayes.report.heldout import LEVELS, MOST_CLASSES, HeldOut
from nearbayes.report.numbers import rounded

__all__ = ["effects"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_FEATURES = 12
MOST_POINTS = 15
MOST_ROWS = 100
MOST_DRAWS = 40


def effects(held: HeldOut, features: list[int], rng: Rng) -> dict[str, Any] | None:
    """Partial dependence of the prediction on each of a few features.

    The column is set to one value in all of a sample of rows and predictions are averaged, for
    every draw; then to the next value. None if draws were kept as predictions alone.

    Parameters
    ----------
    held : HeldOut
    features : list of int
        Columns, the most important first; the first twelve that vary are used.
    rng : numpy Generator
    """
    if not held.keeps_models:
        return None
    rows = np.sort(rng.permutation(held.n)[:MOST_ROWS])
    found: list[dict[str, Any]] = []
    for j in features:
        grid = _grid(column_values(held.table, j))
        if len(grid) > 1 and len(found) < MOST_FEATURES:
            found.append(_effect(held, j, grid, rows))
    return {
        "rows": len(rows),
        "draws": min(MOST_DRAWS, len(held.posterior)),
        "of_draws": len(held.posterior),
        "views": [f"probability of {held.classes[k]}" for k in _views(held)]
        if held.is_classifier
        else [],
        "features": found,
    }


def _views(held: HeldOut) -> list[int]:
    """Classes whose probability is shown: the second of two, or the commonest of many."""
    if len(held.classes) == 2:
        return [1]
    common = np.argsort(-np.bincount(held.y, minlength=len(held.classes)), kind="stable")
    return sorted(common[:MOST_CLASSES].tolist())


def _grid(values: NDArray[Any]) -> Index:
    """Rows that hold the values to show: quantiles of numbers, the commonest of categories."""
    known = np.flatnonzero(is_present(values))
    if is_number(values):
        numbers = values[known].astype(np.float64)
        distinct, first = np.unique(numbers, return_index=True)
        if len(distinct) > MOST_POINTS:
            # whole share from 2 % to 98 %: at the ends there are few rows to say anything
            shares = np.linspace(0.02, 0.98, MOST_POINTS)
            wanted = np.unique(np.quantile(numbers, shares, method="closest_observation"))
            first = first[np.searchsorted(distinct, wanted)]
        return np.asarray(known[first])
    _, first, count = np.unique(values[known].astype(str), return_index=True, return_counts=True)
    return np.asarray(known[first[np.argsort(-count, kind="stable")[:MOST_POINTS]]])


def _effect(held: HeldOut, j: int, grid: Index, rows: Index) -> dict[str, Any]:
    values = column_values(held.table, j)
    known, numeric = is_present(values), is_number(values)
    curves = Functional(_curves(held, j, grid, rows), held.posterior.inflation, held.posterior.link)
    views = _views(held) if held.is_classifier else [None]
    return {
        "feature": int(j),
        "name": held.names[j],
        "numeric": numeric,
        "missing": rounded(1 - known.mean()),
        "at": rounded(values[grid]) if numeric else [str(value) for value in values[grid]],
        "deciles": rounded(np.quantile(values[known].astype(np.float64), np.arange(1, 10) / 10))
        if numeric
        else [],
        "curves": [_bands(curves if k is None else _of_class(curves, k)) for k in views],
    }


def _of_class(curves: Functional, k: int) -> Functional:
    return Functional(curves.values[..., k], curves.inflation, curves.link)


def _bands(curve: Functional) -> dict[str, Any]:
    bounds = curve.interval(LEVELS)
    return {
        "mean": rounded(curve.mean),
        "intervals": [
            {"lower": rounded(bounds[:, 0, k]), "upper": rounded(bounds[:, 1, k])}
            for k in range(len(LEVELS))
        ],
    }


def _curves(held: HeldOut, j: int, grid: Index, rows: Index) -> Array:
    """Average prediction of some draws at each value, shape (n_draws, n_values[, n_classes])."""
    posterior = held.posterior
    # every sampled row, once with each value
    repeated = take(held.table, np.tile(rows, len(grid)))
    table = with_column(repeated, j, held.table, np.repeat(grid, len(rows)))
    chosen = np.unique(np.linspace(0, len(posterior) - 1, MOST_DRAWS).astype(int))
    predicted = [posterior.algorithm.predict(posterior.models[k], table) for k in chosen]
    by_value = [each.reshape(len(grid), len(rows), *each.shape[1:]) for each in predicted]
    return np.stack([each.mean(axis=1) for each in by_value])
