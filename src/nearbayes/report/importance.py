"""Importance of features with posterior uncertainty, and how importances move together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.credible import Functional
from nearbayes.core.tables import take
from nearbayes.core.types import Rng
from nearbayes.metrics import brier
from nearbayes.report.columns import column_values, is_number, with_column
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.numbers import counted, rounded

__all__ = ["importance"]

Array = NDArray[np.float64]

MOST_SHOWN = 15
MOST_CORRELATED = 10
MOST_DRAWS = 40  # for permutation importance; quantiles of 40 draws reach 95 % coverage
MOST_ROWS = 500
MOST_SHUFFLED = 30  # columns; the base model chooses among more


def importance(held: HeldOut, rng: Rng) -> dict[str, Any] | None:
    """Posterior of importances, largest first; None if draws were kept as predictions alone.

    From the draws' `feature_importances_` or `coef_` where they have them, else by shuffling.
    """
    if not held.keeps_models:
        return None
    columns, functional, about = _importances(held, rng)
    size = np.abs(functional.mean)
    order = np.argsort(-size, kind="stable")[:MOST_SHOWN]
    top = Functional(functional.values[:, order], functional.inflation)
    bounds = top.interval(LEVELS)
    first = (np.abs(functional.values).argmax(axis=1)[:, None] == order).mean(axis=0)
    return {
        "about": about,
        "draws": len(functional.values),
        "of": len(held.names),
        "feature": [int(columns[k]) for k in order],
        "name": [held.names[columns[k]] for k in order],
        "mean": rounded(top.mean),
        "sd": rounded(top.std),
        "intervals": [
            {"lower": rounded(bounds[:, 0, k]), "upper": rounded(bounds[:, 1, k])}
            for k in range(len(LEVELS))
        ],
        "largest": rounded(first),
        "correlation": rounded(_correlation(top.values[:, :MOST_CORRELATED])),
    }


def _correlation(values: Array) -> Array:
    """Posterior correlations; NaN for what does not vary from draw to draw."""
    correlation = np.full((values.shape[1],) * 2, np.nan)
    varies = np.flatnonzero(np.ptp(values, axis=0) > 0)
    if len(varies) > 1 and len(values) > 2:
        correlation[np.ix_(varies, varies)] = Functional(values[:, varies]).correlation()
    return correlation


def _importances(held: HeldOut, rng: Rng) -> tuple[NDArray[np.intp], Functional, str]:
    """Columns, draws of their importances, and what these are."""
    every, first = np.arange(len(held.names)), held.posterior.draws[0]
    if _shape(first, "feature_importances_") == every.shape:
        return (
            every,
            held.posterior.apply(_shares),
            ("The estimator's own feature importances, as shares that sum to 1 in every draw."),
        )
    if _shape(first, "coef_")[-1:] == every.shape:
        return every, held.posterior.apply(_scaled_coefficients(held)), _about_coefficients(first)
    return _by_shuffling(held, rng)


def _shape(estimator: Any, name: str) -> tuple[int, ...]:
    return np.asarray(getattr(estimator, name, ())).shape


def _shares(estimator: Any) -> Array:
    values = np.asarray(estimator.feature_importances_, dtype=np.float64)
    total = values.sum()
    return values / total if total > 0 else values


def _scaled_coefficients(held: HeldOut) -> Any:
    """Coefficients per standard deviation of their column; of several classes, their mean size."""
    columns = [column_values(held.table, j) for j in range(len(held.names))]
    sds = np.array([np.nanstd(c.astype(np.float64)) if is_number(c) else 1.0 for c in columns])

    def scaled(estimator: Any) -> Array:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64)) * sds
        if len(coefficients) == 1:
            return np.asarray(coefficients[0])
        return np.asarray(np.abs(coefficients).mean(axis=0))

    return scaled


def _about_coefficients(estimator: Any) -> str:
    size = "" if len(np.atleast_2d(estimator.coef_)) == 1 else " (mean size over classes)"
    return (
        f"Coefficients{size} times the standard deviation of their column among the held-out "
        "rows: the change of the linear predictor for a typical change of the feature."
    )


def _by_shuffling(held: HeldOut, rng: Rng) -> tuple[NDArray[np.intp], Functional, str]:
    rows = rng.permutation(held.n)[:MOST_ROWS]
    models = _some(held.posterior.models, MOST_DRAWS)
    columns, chosen = np.arange(len(held.names)), ""
    shuffled = rng.permutation(len(rows))
    if len(columns) > MOST_SHUFFLED:
        by_base = _rises(held, held.posterior.first, rows, shuffled, columns)
        columns = np.argsort(-by_base, kind="stable")[:MOST_SHUFFLED]
        chosen = f" The {MOST_SHUFFLED} columns that matter most to the base model were shuffled."
    values = np.stack([_rises(held, model, rows, shuffled, columns) for model in models])
    score = "Brier score" if held.is_classifier else "root mean squared error"
    about = (
        f"Permutation importance: how much the {score} of {counted(len(rows), 'held-out row')} "
        f"rises when the column is shuffled, in {counted(len(models), 'draw')}.{chosen}"
    )
    return columns, Functional(values, held.posterior.inflation), about


def _some(models: Any, most: int) -> list[Any]:
    """Some draws, evenly spaced."""
    return [models[k] for k in np.unique(np.linspace(0, len(models) - 1, most).astype(int))]


def _rises(held: HeldOut, model: Any, rows: Any, shuffled: NDArray[np.intp], columns: Any) -> Array:
    """Rise of one model's loss when each column is shuffled."""
    table, y = take(held.table, rows), held.y[rows]
    algorithm = held.posterior.algorithm

    def loss(inputs: Any) -> float:
        predicted = algorithm.predict(model, inputs)
        if held.is_classifier:
            return brier(y, predicted)
        return float(np.sqrt(np.mean((y - predicted) ** 2)))

    before = loss(table)
    return np.array([loss(with_column(table, j, table, shuffled)) - before for j in columns])
