"""Dependence: how the prediction moves with one feature, with credible and predictive bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.credible import as_levels
from nearbayes.estimators import PosteriorRegressor
from nearbayes.plots.canvas import MOST_COLOURS, as_axes, colours, foreground, percent
from nearbayes.plots.columns import Column, column_of
from nearbayes.plots.fitted import Fitted, check_model, credible_interval_of, target_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Dependence", "intervals", "partial_dependence"]

Array = NDArray[np.float64]
MOST_ROWS = 100
LEAST_OUTCOMES = 4_000  # at each value, for the quantiles of y


@dataclass(frozen=True)
class Dependence:
    """Partial dependence of a prediction on one feature.

    Attributes
    ----------
    name : str
        What is predicted.
    mean : array of shape (n_values,)
    credible : array of shape (n_values, 2)
        Of the partial dependence: what is known of the model.
    predictive : array of shape (n_values, 2), optional
        Of a new y, of a row like those of X with the feature at that value.
    """

    name: str
    mean: Array
    credible: Array
    predictive: Array | None = None


def intervals(
    model: Fitted,
    X: Any,
    feature: str | int,
    *,
    target: Any = None,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Prediction along one feature, with its credible interval and, for y, the predictive one.

    What is drawn is the partial dependence: at every value of the feature, the prediction is
    averaged over the other features as they are in the rows of X.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
        Rows to average over; 100 of them, evenly spaced, if there are more.
    feature : str or int
        Name or number of a column: numbers, dates or names. Shown at the values it has in X, or
        at 30 quantiles.
    target : object, optional
        A class, or the number of an output; default: the second of two classes, else all.
    coverage : float
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_model(model)
    column = column_of(X, feature)
    drawn = partial_dependence(model, column, target, coverage)
    axes = as_axes(ax)
    for each, colour in zip(drawn, colours(axes), strict=False):
        _draw(axes, column, each, colour)
    _mark_values(axes, column)
    axes.set_ylabel(drawn[0].name if len(drawn) == 1 else "prediction")
    axes.set_title(f"Partial dependence with {percent(coverage)} intervals")
    axes.legend(*_once(axes), fontsize="small")
    return axes


def partial_dependence(
    model: Fitted, column: Column, target: Any = None, coverage: float = 0.9
) -> list[Dependence]:
    """Average every draw's predictions over rows, at each value of a column.

    Returns
    -------
    list of Dependence
        One for each class or output asked for.
    """
    level = float(as_levels(coverage)[0])
    n = len(column.table)
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).round().astype(np.intp))
    imposed = column.imposed_on(rows)
    draws = _by_value(model.posterior_predictions(imposed), len(column.shown)).mean(axis=2)
    columns, names = target_columns(model, target, draws.shape[-1])
    if len(columns) > MOST_COLOURS:
        raise ValueError(
            f"target must be given: {len(columns)} curves are more than the {MOST_COLOURS} that "
            "can be told apart."
        )
    mean, credible = draws.mean(axis=0), credible_interval_of(model, draws, level)
    predictive = None
    if isinstance(model, PosteriorRegressor) and len(columns) == 1:
        predictive = _predictive(model, imposed, len(column.shown), len(rows), level)
    return [
        Dependence(
            name, mean[:, k], credible[:, k], None if predictive is None else predictive[:, k]
        )
        for k, name in zip(columns, names, strict=True)
    ]


def _by_value(values: Array, n_values: int) -> Array:
    """Predictions or outcomes as (n_draws, n_values, n_rows, n_columns)."""
    return values.reshape(len(values), n_values, values.shape[1] // n_values, -1)


def _predictive(
    model: PosteriorRegressor, imposed: Any, n_values: int, n_rows: int, coverage: float
) -> Array:
    """Quantiles of outcomes of all rows and draws at each value, shape (n_values, n_columns, 2)."""
    n_draws = len(model.posterior_)
    rounds = -(-LEAST_OUTCOMES // (n_draws * n_rows))
    seed = model.posterior_.provenance.seed
    outcomes = model.sample(imposed, n_draws * rounds, random_state=seed)
    tails = [(1 - coverage) / 2, (1 + coverage) / 2]
    return np.moveaxis(np.quantile(_by_value(outcomes, n_values), tails, axis=(0, 2)), 0, -1)


def _draw(axes: Axes, column: Column, curve: Dependence, colour: str) -> None:
    """One curve with its bands, or points with bars where the feature has names for values."""
    bands = [(curve.credible, 0.4, 10, "credible, of the mean prediction")]
    if curve.predictive is not None:
        bands.insert(0, (curve.predictive, 0.2, 4, "predictive, of y"))
    x = column.grid if column.is_ordered else np.arange(len(column.grid))
    for band, opacity, width, label in bands:
        if column.is_ordered:
            axes.fill_between(x, *band.T, color=colour, alpha=opacity, lw=0, label=label)
        else:
            axes.vlines(x, *band.T, color=colour, alpha=opacity, lw=width, label=label)
    axes.plot(x, curve.mean, "-" if column.is_ordered else "o", color=colour, label=curve.name)


def _mark_values(axes: Axes, column: Column) -> None:
    """Where the data are: a mark for each row, or the names."""
    axes.set_xlabel(column.name)
    if column.is_ordered:
        below = {"transform": axes.get_xaxis_transform(), "color": foreground(axes), "alpha": 0.4}
        axes.plot(column.values, np.zeros(len(column.values)), "|", ms=8, **below)
    else:
        axes.set_xticks(np.arange(len(column.grid)), [str(value) for value in column.grid])
        axes.set_xlim(-0.5, len(column.grid) - 0.5)


def _once(axes: Axes) -> tuple[list[Any], list[Any]]:
    """Entries for a legend, without repeats: all curves have the same bands."""
    first: dict[Any, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        first.setdefault(label, handle)
    return list(first.values()), list(first)
