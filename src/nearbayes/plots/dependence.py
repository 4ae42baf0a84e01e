"""Dependence: partial dependence on one feature, with credible and predictive bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearbayes.estimators import PosteriorRegressor
from nearbayes.inspection.columns import Column, column_of
from nearbayes.inspection.dependence import Dependence, partial_dependence, predictive_band
from nearbayes.inspection.fitted import Fitted, check_model
from nearbayes.plots.canvas import MOST_COLOURS, as_axes, colours, foreground, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["intervals"]


def intervals(
    model: Fitted,
    X: Any,
    feature: str | int,
    *,
    target: Any = None,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Partial dependence of the prediction on one feature, with intervals.

    At every value of the feature, the prediction is averaged over the other features in the rows
    of X. Shows its credible interval and, for regressors, the predictive interval of y.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
        Rows to average over; if there are more than 100, 100 evenly spaced ones.
    feature : str or int
        Name or index of a column. It is shown at its values in X; with more than 30, at 30
        quantiles, or at the 30 most frequent categories.
    target : object, optional
        A class, or the index of an output. Default: the second of two classes, else all.
    coverage : float
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_model(model)
    column = column_of(X, feature)
    drawn = partial_dependence(model, column, target, coverage)
    if len(drawn) > MOST_COLOURS:
        raise ValueError(
            f"target must be given, because at most {MOST_COLOURS} curves can be drawn, got "
            f"{len(drawn)}."
        )
    predictive = None
    if isinstance(model, PosteriorRegressor) and len(drawn) == 1:
        predictive = predictive_band(model, column, target, coverage)
    axes = as_axes(ax)
    for each, colour in zip(drawn, colours(axes), strict=False):
        _draw(axes, column, each, predictive, colour)
    _mark_values(axes, column)
    axes.set_ylabel(drawn[0].name if len(drawn) == 1 else "prediction")
    axes.set_title(f"Partial dependence with {percent(coverage)} intervals")
    axes.legend(*_once(axes), fontsize="small")
    return axes


def _draw(axes: Axes, column: Column, curve: Dependence, predictive: Any, colour: str) -> None:
    """Draw a curve with bands, or points with bars for a categorical feature."""
    bands = [(curve.credible, 0.4, 10, "credible interval of the mean")]
    if predictive is not None:
        bands.insert(0, (predictive, 0.2, 4, "predictive interval of y"))
    x = column.grid if column.is_ordered else np.arange(len(column.grid))
    for band, opacity, width, label in bands:
        if column.is_ordered:
            axes.fill_between(x, *band.T, color=colour, alpha=opacity, lw=0, label=label)
        else:
            axes.vlines(x, *band.T, color=colour, alpha=opacity, lw=width, label=label)
    axes.plot(x, curve.mean, "-" if column.is_ordered else "o", color=colour, label=curve.name)


def _mark_values(axes: Axes, column: Column) -> None:
    """Mark the values of the data: a tick for each row, or the categories."""
    axes.set_xlabel(column.name)
    if column.is_ordered:
        below = {"transform": axes.get_xaxis_transform(), "color": foreground(axes), "alpha": 0.4}
        axes.plot(column.values, np.zeros(len(column.values)), "|", ms=8, **below)
    else:
        axes.set_xticks(np.arange(len(column.grid)), [str(value) for value in column.grid])
        axes.set_xlim(-0.5, len(column.grid) - 0.5)
        if len(column.grid) < column.n_distinct:
            shown = f"{len(column.grid)} most frequent of {column.n_distinct} categories"
            axes.set_xlabel(f"{column.name} ({shown})")


def _once(axes: Axes) -> tuple[list[Any], list[Any]]:
    """Legend entries without repeats, as all curves have the same bands."""
    first: dict[Any, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        first.setdefault(label, handle)
    return list(first.values()), list(first)
