"""Dependence: partial dependence of the prediction on one feature, in every draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearbayes.estimators import PosteriorRegressor
from nearbayes.inspection.columns import Column, evenly_spaced
from nearbayes.inspection.fitted import Fitted, prediction_of, target_columns, thinned
from nearbayes.tables.table import n_rows

__all__ = ["MOST_ROWS", "Dependence", "partial_dependence", "predictive_band"]

Array = NDArray[np.float64]
MOST_ROWS = 100
LEAST_OUTCOMES = 4_000  # at each value, for the quantiles of y


class Dependence(NamedTuple):
    """Name of the prediction, mean (n_values,) and credible band (n_values, 2[, n_levels])."""

    name: str
    mean: Array
    credible: Array


def partial_dependence(
    model: Fitted,
    column: Column,
    target: Any = None,
    coverage: float | Sequence[float] = 0.9,
    most_draws: int | None = None,
) -> list[Dependence]:
    """Average every draw's predictions over rows, at each value of a column.

    Uses at most 100 evenly spaced rows, and at most `most_draws` draws. Returns one curve for each
    class or output of `target_columns`. Bands are calibrated on the simulated data sets of the
    model if these were kept; otherwise like intervals of predictions.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.linear_model import LinearRegression
    >>> from nearbayes.inspection.columns import column_of
    >>> X = np.arange(20.0).reshape(-1, 2)
    >>> model = nb.PosteriorRegressor(LinearRegression(), n_draws=5).fit(X, X[:, 0])
    >>> (curve,) = partial_dependence(model, column_of(X, 0))
    >>> curve.mean.shape, curve.credible.shape
    ((10,), (10, 2))
    """
    if len(column.shown) == 0:
        raise ValueError(f"feature {column.name!r} has only missing values in X.")
    few = model if most_draws is None else thinned(model, most_draws)
    table = column.imposed_on(_rows(column))
    draws = _by_value(few.posterior_predictions(table), column).mean(axis=2)
    columns, names = target_columns(model, target, draws.shape[-1])
    found, truths = model.posterior_.of_predictions(draws), model.posterior_.truths
    predicted = prediction_of(model)
    if truths is not None:
        found = truths.calibrated(
            lambda fitted: _by_value(predicted(fitted, table)[None], column)[0].mean(axis=1), found
        )
    mean, credible = found.mean, found.interval(coverage)
    return [
        Dependence(name, mean[:, k], credible[:, k]) for k, name in zip(columns, names, strict=True)
    ]


def predictive_band(
    model: PosteriorRegressor, column: Column, target: int | None = None, coverage: float = 0.9
) -> Array:
    """Predictive interval of y at each value, for rows like those of the table: (n_values, 2)."""
    rows, n_draws = _rows(column), len(model.posterior_)
    rounds = -(-LEAST_OUTCOMES // (n_draws * len(rows)))
    seed = model.posterior_.provenance.seed
    outcomes = model.sample(column.imposed_on(rows), n_draws * rounds, random_state=seed)
    tails = [(1 - coverage) / 2, (1 + coverage) / 2]
    return np.quantile(_by_value(outcomes, column)[..., target or 0], tails, axis=(0, 2)).T


def _rows(column: Column) -> NDArray[np.intp]:
    return evenly_spaced(n_rows(column.table), MOST_ROWS)


def _by_value(values: Array, column: Column) -> Array:
    """Predictions or outcomes as (n_draws, n_values, n_rows, n_targets)."""
    n_values = len(column.shown)
    return values.reshape(len(values), n_values, values.shape[1] // n_values, -1)
