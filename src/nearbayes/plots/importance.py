"""Importance: the posterior of feature importances, coefficients or permutation importances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Seeds
from nearbayes.draws.functional import Functional
from nearbayes.inspection.fitted import Fitted, check_model, checked_outcomes
from nearbayes.inspection.importance import Importances, own_importances, permutation_importances
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.plots.entries import as_entries
from nearbayes.tables.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["importance"]

INNER = 0.5  # coverage of the thick bars


def importance(
    model: Fitted,
    X: Any = None,
    y: Any = None,
    *,
    top: int = 10,
    names: Sequence[Any] | None = None,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Posterior of feature importances, or of coefficients, largest first.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
        Shows `feature_importances_` (scaled to sum to 1) or `coef_` of the estimator, or of the
        last step of a pipeline. With several classes or outputs, the mean absolute coefficient.
    X : table of shape (n_rows, n_columns), optional
        Rows, preferably held out. If given, coefficients are multiplied by the standard deviation
        of their feature in X.
    y : array of shape (n_rows,), optional
        With X, used for the permutation importance of estimators without importances of their own.
    top : int
        Number of features to show.
    names : sequence, optional
        Names of the features; by default those seen during fit.
    coverage : float
        Coverage of the thin bars, the best credible intervals known. Thick bars have 50 %.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_model(model)
    if not is_whole(top) or top < 1:
        raise ValueError(f"top must be an integer of at least 1, got {top!r}.")
    found = _importances(model, X, y)
    given = found.names if names is None else names
    columns, labels = as_entries(found.draws, given, most=len(found.names))
    order = np.argsort(-np.abs(columns.mean), kind="stable")[:top]
    shown = columns.at(order)
    axes = as_axes(ax)
    possible = (0.0, 1.0) if found.kind == "feature importance" else (-np.inf, np.inf)  # shares
    _draw_bars(axes, shown, [labels[place] for place in order], coverage, possible)
    scaled = X is not None and "coefficient" in found.kind
    axes.set_xlabel(f"{found.kind} × sd of the feature" if scaled else found.kind)
    axes.set_title(f"Posterior mean, {percent(INNER)} and {percent(coverage)} credible intervals")
    return axes


def _importances(model: Fitted, X: Any, y: Any) -> Importances:
    found = own_importances(model, X)
    if found is not None:
        return found
    if X is None or y is None:
        raise TypeError(
            "X and y must be given for permutation importance, because "
            f"{type(model.posterior_.draws[0]).__name__} has no feature_importances_ or coef_ of "
            "named features; or use plots.posterior(model.posterior_.apply(function))."
        )
    table, rng = as_table(X), Seeds(model.posterior_.provenance.seed).shared()
    return permutation_importances(model, table, checked_outcomes(model, table, y), rng)


def _draw_bars(
    axes: Axes,
    columns: Functional,
    labels: list[str],
    coverage: float,
    possible: tuple[float, float],
) -> None:
    places = np.arange(len(labels))[::-1]  # the largest on top
    for share, width in ((coverage, 2), (INNER, 6)):
        low, high = np.clip(columns.interval(share), *possible).T
        axes.hlines(places, low, high, color=colours(axes)[0], lw=width)
    axes.plot(columns.mean, places, "o", color=foreground(axes), ms=4)
    axes.axvline(0, color=foreground(axes), lw=0.8, ls=":")
    axes.set_yticks(places, labels)
