"""Reliability: whether things happen as often as the model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from nearbayes.core.credible import as_levels
from nearbayes.core.schedule import is_whole
from nearbayes.core.tables import as_table, n_rows
from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor
from nearbayes.metrics import coverage as share_covered
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.plots.fitted import Fitted, check_model, credible_interval_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bins", "bins_of", "reliability"]

Array = NDArray[np.float64]
LEVELS = np.arange(5, 100, 5) / 100


@dataclass(frozen=True)
class Bins:
    """Rows in bins of like probability.

    Attributes
    ----------
    name : str
        The event whose probability it is.
    said : array of shape (n_bins,)
        Mean probability that the model gives.
    credible : array of shape (n_bins, 2)
        Its credible interval, over draws.
    seen : array of shape (n_bins,)
        Share of rows where the event happened.
    chance : array of shape (n_bins, 2)
        Where that share would be if `said` were true: the binomial interval.
    """

    name: str
    said: Array
    credible: Array
    seen: Array
    chance: Array


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
    """Compare what the model says with what happened, on rows that it was not fitted to.

    For a classifier: in bins with equally many rows, how often the class was seen against its mean
    probability. Points outside the grey band (binomial) are more than chance; horizontal bars are
    credible intervals of the probability. For a regressor: the share of outcomes in central
    predictive intervals against the level of the interval, with its binomial band.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
    target : object, optional
        A class; default: the second of two classes; with more, the likeliest class of each row.
    n_bins : int
    coverage : float
        Of the bands and bars.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_model(model)
    level = float(as_levels(coverage)[0])
    outcomes = _checked_outcomes(X, y)
    if isinstance(model, PosteriorRegressor):
        if target is not None:
            raise ValueError(f"target is for classifiers, got {target!r} with a regressor.")
        return _draw_levels(as_axes(ax), model, X, outcomes, level)
    return _draw_bins(as_axes(ax), bins_of(model, X, outcomes, target, n_bins, level), level)


def bins_of(
    model: PosteriorClassifier, X: Any, y: NDArray[Any], target: Any, n_bins: int, coverage: float
) -> Bins:
    """Sort rows by probability into bins with equally many rows."""
    if not is_whole(n_bins) or not 1 <= n_bins <= len(y):
        raise ValueError(
            f"n_bins must be a whole number from 1 to the {len(y)} rows of X, got {n_bins!r}."
        )
    draws, happened, name = _event(model, X, y, target)
    bins = np.array_split(np.argsort(draws.mean(axis=0), kind="stable"), n_bins)
    by_bin = np.stack([draws[:, rows].mean(axis=1) for rows in bins], axis=1)
    said = by_bin.mean(axis=0)
    sizes = np.array([len(rows) for rows in bins])
    return Bins(
        name,
        said,
        credible_interval_of(model, by_bin, coverage),
        np.array([happened[rows].mean() for rows in bins]),
        _binomial_band(coverage, sizes, said),
    )


def _event(
    model: PosteriorClassifier, X: Any, y: NDArray[Any], target: Any
) -> tuple[Array, NDArray[np.bool_], str]:
    """Every draw's probability of the event, whether it happened, and what it is."""
    draws, classes = model.posterior_predictions(X), model.classes_
    if not np.isin(y, classes).all():
        raise ValueError(f"y must hold only classes of the model, {classes.tolist()}.")
    if target is None and len(classes) > 2:
        likeliest = draws.mean(axis=0).argmax(axis=1)
        chosen = draws[:, np.arange(len(y)), likeliest]
        return chosen, y == classes[likeliest], "likeliest class"
    wanted = classes[1] if target is None else target
    if wanted not in classes.tolist():
        raise ValueError(f"target must be one of {classes.tolist()}, got {target!r}.")
    return draws[:, :, classes.tolist().index(wanted)], y == wanted, f"class {wanted}"


def _binomial_band(coverage: float, sizes: Any, shares: Array) -> Array:
    """Interval of the share of successes if their probability is known, shape (n, 2)."""
    exact = np.clip(shares, 0, 1)
    return np.stack(binom.interval(coverage, sizes, exact), axis=-1) / np.reshape(sizes, (-1, 1))


def _draw_bins(axes: Axes, bins: Bins, coverage: float) -> Axes:
    grey, share = foreground(axes), percent(coverage)
    blue, orange, *_ = colours(axes)
    axes.plot([0, 1], [0, 1], color=grey, lw=1, ls="--", label="reliable")
    chance = f"{share} of chance, if reliable (binomial)"
    axes.fill_between(bins.said, *bins.chance.T, color=grey, alpha=0.15, lw=0, label=chance)
    interval = f"{share} credible interval"
    axes.hlines(bins.seen, *bins.credible.T, color=blue, lw=2, alpha=0.7, label=interval)
    axes.plot(bins.said, bins.seen, "o", color=orange, label="bins")
    axes.set_xlabel(f"mean probability of {bins.name}")
    axes.set_ylabel("share of rows with that class")
    axes.set_title(f"Reliability in {len(bins.said)} bins with equally many rows")
    axes.legend(fontsize="small")
    return axes


def _draw_levels(
    axes: Axes, model: PosteriorRegressor, X: Any, y: NDArray[Any], coverage: float
) -> Axes:
    if y.ndim > 1:
        raise ValueError(f"y must have one outcome per row, got shape {y.shape}.")
    covered = share_covered(y, model.predict_interval(X, LEVELS.tolist()))
    band = _binomial_band(coverage, len(y), LEVELS)
    grey = foreground(axes)
    axes.plot([0, 1], [0, 1], color=grey, lw=1, ls="--", label="reliable")
    chance = f"{percent(coverage)} of chance, if reliable (binomial)"
    axes.fill_between(LEVELS, *band.T, color=grey, alpha=0.15, lw=0, label=chance)
    axes.plot(LEVELS, covered, "o-", color=colours(axes)[0], ms=4, label="predictive intervals")
    axes.set_xlabel("level of the predictive interval")
    axes.set_ylabel("share of y inside")
    axes.set_title(f"Coverage of predictive intervals, {len(y)} rows")
    axes.legend(fontsize="small")
    return axes


def _checked_outcomes(X: Any, y: ArrayLike) -> NDArray[Any]:
    outcomes, rows = np.asarray(y), n_rows(as_table(X))
    if len(outcomes) != rows:
        raise ValueError(f"y must have one outcome for each of {rows} rows, got {len(outcomes)}.")
    return outcomes
