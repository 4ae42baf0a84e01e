"""Importance: the posterior of feature importances or coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from nearbayes.core.credible import Functional
from nearbayes.core.schedule import is_whole
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.plots.entries import as_entries
from nearbayes.plots.fitted import Fitted, check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["importance", "importances_of"]

INNER = 0.5  # coverage of the thick bars


def importance(
    model: Fitted,
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
        Its estimator, or the last step of a pipeline, has `feature_importances_` or `coef_`; with
        several rows of coefficients (classes, outputs), their mean size counts.
    top : int
        How many features to show.
    names : sequence, optional
        Names of the features; default those of the frame that the model was fitted to.
    coverage : float
        Of the thin bars, credible intervals inflated for truncation; thick ones have 50 %.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_model(model)
    if not is_whole(top) or top < 1:
        raise ValueError(f"top must be a whole number, 1 or more, got {top!r}.")
    functional, kind = importances_of(model)
    given = _feature_names(model) if names is None else names
    columns, labels = as_entries(functional, given, most=functional.values.shape[1])
    order = np.argsort(-np.abs(columns.mean), kind="stable")[:top]
    shown = Functional(columns.values[:, order], columns.inflation)
    axes = as_axes(ax)
    _draw_bars(axes, shown, [labels[place] for place in order], coverage)
    axes.set_xlabel(kind)
    axes.set_title(f"Posterior mean, {percent(INNER)} and {percent(coverage)} credible intervals")
    return axes


def importances_of(model: Fitted) -> tuple[Functional, str]:
    """Draws of importances or coefficients, shape (n_draws, n_features), and which they are."""
    last = _last_step(model.posterior_.draws[0])
    if hasattr(last, "feature_importances_"):
        draws = model.posterior_.apply(lambda draw: _last_step(draw).feature_importances_)
        return draws, "feature importance"
    if not hasattr(last, "coef_"):
        raise TypeError(
            f"model must have feature_importances_ or coef_, but {type(last).__name__} has "
            "neither: give what you mean to plots.posterior(model.posterior_.apply(function))."
        )
    several = np.ndim(last.coef_) == 2 and len(last.coef_) > 1
    draws = model.posterior_.apply(lambda draw: _one_row(_last_step(draw).coef_))
    return draws, "mean size of coefficients" if several else "coefficient"


def _one_row(coefficients: Any) -> NDArray[np.float64]:
    table = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    return np.asarray(np.abs(table).mean(axis=0) if len(table) > 1 else table[0])


def _last_step(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _feature_names(model: Fitted) -> Any:
    """Names of what the last step was fitted to, where they are known."""
    names = getattr(model, "feature_names_in_", None)
    first = model.posterior_.draws[0]
    if not isinstance(first, Pipeline) or len(first.steps) == 1:
        return names
    return first[:-1].get_feature_names_out(names)


def _draw_bars(axes: Axes, columns: Functional, labels: list[str], coverage: float) -> None:
    places = np.arange(len(labels))[::-1]  # the largest on top
    for share, width in ((coverage, 2), (INNER, 6)):
        low, high = columns.interval(share).T
        axes.hlines(places, low, high, color=colours(axes)[0], lw=width)
    axes.plot(columns.mean, places, "o", color=foreground(axes), ms=4)
    axes.axvline(0, color=foreground(axes), lw=0.8, ls=":")
    axes.set_yticks(places, labels)
