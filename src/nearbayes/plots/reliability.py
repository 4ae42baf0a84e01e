"""Reliability: whether predicted probabilities and coverage match observed frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.core.schedule import is_whole
from nearbayes.draws.credible import as_levels
from nearbayes.estimators import PosteriorClassifier
from nearbayes.inspection.fitted import Fitted, checked_outcomes, target_columns
from nearbayes.inspection.reliability import Groups, binomial_band, event, grouped
from nearbayes.metrics import coverage as share_covered
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.tables.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["reliability"]

LEVELS = np.arange(5, 100, 5) / 100


def reliability(
    model: Fitted,
    X: Any,
    y: ArrayLike,
    *,
    target: Any = None,
    n_bins: int = 10,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Compare predictions with observed frequencies, on held-out rows.

    For a classifier, rows are put into bins of equal size, and the share of rows with the class is
    shown against its mean probability. The grey band is a binomial interval if the probability is
    right; horizontal bars are credible intervals of the probability. For a regressor, the share of
    outcomes inside predictive intervals is shown against their level, with a binomial band.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
    target : object, optional
        A class. Default: the second of two classes, or the most likely class of each row.
    n_bins : int
    coverage : float
        Coverage of the bands and bars.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    outcomes = checked_outcomes(model, as_table(X), y)
    level = float(as_levels(coverage)[0])
    if isinstance(model, PosteriorClassifier):
        bins, name = _bins(model, X, outcomes, target, n_bins, level)
        return _draw_bins(as_axes(ax), bins, name, level)
    if target is not None:
        raise ValueError(f"target must be None for a regressor, got {target!r}.")
    covered = share_covered(outcomes, model.predict_interval(X, LEVELS.tolist()))
    return _draw_levels(as_axes(ax), covered, len(outcomes), level)


def _bins(
    model: PosteriorClassifier, X: Any, y: NDArray[Any], target: Any, n_bins: int, coverage: float
) -> tuple[Groups, str]:
    """Rows in bins by the probability of the target class, and the name of that class."""
    if not is_whole(n_bins) or not 1 <= n_bins <= len(y):
        raise ValueError(
            f"n_bins must be an integer from 1 to the number of rows, {len(y)}, got {n_bins!r}."
        )
    columns, _ = target_columns(model, target, len(model.classes_))
    wanted = columns[0] if len(columns) == 1 else None
    draws, happened = event(model.posterior_predictions(X), y, wanted)
    name = "the most likely class" if wanted is None else f"class {model.classes_[wanted]}"
    return grouped(model, draws, happened, n_bins, coverage), name


def _draw_bins(axes: Axes, bins: Groups, name: str, coverage: float) -> Axes:
    blue, orange, *_ = colours(axes)
    _draw_chance(axes, bins.said, bins.chance, coverage)
    interval = f"{percent(coverage)} credible interval"
    axes.hlines(bins.seen, *bins.credible.T, color=blue, lw=2, alpha=0.7, label=interval)
    axes.plot(bins.said, bins.seen, "o", color=orange, label="bins")
    axes.set(xlabel=f"mean probability of {name}", ylabel="share of rows with that class")
    axes.set_title(f"Reliability in {len(bins.said)} bins of equal size")
    axes.legend(fontsize="small")
    return axes


def _draw_levels(axes: Axes, covered: Any, n_rows: int, coverage: float) -> Axes:
    _draw_chance(axes, LEVELS, binomial_band(coverage, n_rows, LEVELS), coverage)
    axes.plot(LEVELS, covered, "o-", color=colours(axes)[0], ms=4, label="predictive intervals")
    axes.set(xlabel="level of the predictive interval", ylabel="share of y inside")
    axes.set_title(f"Coverage of predictive intervals, {n_rows} rows")
    axes.legend(fontsize="small")
    return axes


def _draw_chance(axes: Axes, said: Any, band: Any, coverage: float) -> None:
    """Draw the diagonal, and the binomial band around it."""
    grey = foreground(axes)
    axes.plot([0, 1], [0, 1], color=grey, lw=1, ls="--", label="reliable")
    chance = f"{percent(coverage)} binomial band, if reliable"
    axes.fill_between(said, *band.T, color=grey, alpha=0.15, lw=0, label=chance)
