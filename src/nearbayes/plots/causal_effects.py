"""Causal effects: what a model of a graph says would happen, with credible bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.causal.causal_model import CausalModel
from nearbayes.plots.canvas import MOST_COLOURS, as_axes, colours, foreground, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["effect", "interventional"]

N_VALUES, N_POINTS = 15, 60
TAIL = 0.05  # of the data, left out at both ends of a grid


def effect(
    model: CausalModel,
    cause: str,
    outcome: str,
    *,
    values: ArrayLike | None = None,
    category: Any = None,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Mean of a node when another one is set to each of some values.

    Parameters
    ----------
    model : fitted nearbayes.causal.SCM or DiffusionSCM
    cause, outcome : str
        Nodes.
    values : array, optional
        What the cause is set to; default 15 values between its .05 and .95 quantiles, or all its
        categories.
    category : object, optional
        Of an outcome with categories: the one whose probability is drawn; default the last.
    coverage : float
    ax : matplotlib Axes, optional
    """
    _check_fitted(model, cause, outcome)
    grid = _grid(model, cause) if values is None else np.atleast_1d(np.asarray(values))
    found = [model.interventional_mean(outcome, do={cause: value}) for value in grid.tolist()]
    place, label = _entry(model, outcome, category)
    means = np.array([each.mean[place] for each in found])
    bounds = np.array([each.interval(coverage)[place] for each in found])
    axes = as_axes(ax)
    colour = colours(axes)[0]
    if model.variables_[cause].kind == "category":
        x = np.arange(len(grid))
        axes.vlines(x, *bounds.T, color=colour, alpha=0.4, lw=10)
        axes.plot(x, means, "o", color=colour)
        axes.set_xticks(x, [str(value) for value in grid])
        axes.set_xlim(-0.5, len(grid) - 0.5)
    else:
        axes.fill_between(grid, *bounds.T, color=colour, alpha=0.4, lw=0)
        axes.plot(grid, means, color=colour)
        _mark_rows(axes, model, cause)
    axes.set_xlabel(f"{cause}, set")
    axes.set_ylabel(label)
    axes.set_title(f"Effect of {cause} on {outcome}, {percent(coverage)} intervals")
    return axes


def interventional(
    model: CausalModel,
    outcome: str,
    do: Mapping[str, Any] | list[Mapping[str, Any]] | None = None,
    *,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Distribution function of a node under one or several interventions.

    Parameters
    ----------
    model : fitted nearbayes.causal.SCM or DiffusionSCM
    outcome : str
        A node of numbers.
    do : mapping, or list of mappings, optional
        As in `model.sample`; default: nothing is done.
    coverage : float
    ax : matplotlib Axes, optional
    """
    _check_fitted(model, outcome)
    asked = do if isinstance(do, list) else [do]
    if not 1 <= len(asked) <= MOST_COLOURS:
        raise ValueError(f"do must have 1 to {MOST_COLOURS} interventions, got {len(asked)}.")
    ends = [model.interventional_quantiles(outcome, [0.002, 0.998], each).mean for each in asked]
    points = np.linspace(np.min(ends), np.max(ends), N_POINTS)
    axes = as_axes(ax)
    for each, colour in zip(asked, colours(axes), strict=False):
        found = model.interventional_cdf(outcome, points, each)
        axes.fill_between(points, *found.interval(coverage).T, color=colour, alpha=0.4, lw=0)
        axes.plot(points, found.mean, color=colour, label=_words(each))
    axes.set_xlabel(outcome)
    axes.set_ylabel("probability of at most that")
    axes.set_title(f"{outcome} under interventions, {percent(coverage)} intervals")
    axes.legend(fontsize="small")
    return axes


def _check_fitted(model: Any, *nodes: str) -> None:
    if not isinstance(model, CausalModel) or not hasattr(model, "posterior_"):
        raise TypeError(
            "model must be a fitted nearbayes.causal.SCM or DiffusionSCM, got "
            f"{type(model).__name__}."
        )
    for node in nodes:
        model.graph_.check_node(node, "node")


def _grid(model: CausalModel, cause: str) -> NDArray[Any]:
    variable = model.variables_[cause]
    if variable.kind == "category":
        return np.asarray(variable.categories, dtype=object)
    rows = model.seen_[cause]
    low, high = np.quantile(rows, [TAIL, 1 - TAIL])
    grid = np.linspace(low, high, N_VALUES)
    return np.unique(np.rint(grid)) if variable.kind == "integer" else grid


def _entry(model: CausalModel, outcome: str, category: Any) -> tuple[Any, str]:
    """Which entry of the mean is drawn, and its name."""
    variable = model.variables_[outcome]
    if variable.kind != "category":
        return ..., f"mean of {outcome}"
    chosen = variable.categories[-1] if category is None else category
    code = int(variable.codes([chosen], "category")[0])
    return code, f"P({outcome} = {chosen})"


def _mark_rows(axes: Axes, model: CausalModel, cause: str) -> None:
    """A tick for every real row."""
    rows = model.seen_[cause]
    low, high = axes.get_xlim()
    below = {"transform": axes.get_xaxis_transform(), "color": foreground(axes), "alpha": 0.4}
    axes.plot(rows, np.zeros(len(rows)), "|", ms=8, **below)
    axes.set_xlim(low, high)


def _words(do: Mapping[str, Any] | None) -> str:
    if not do:
        return "nothing done"
    parts = [
        f"{node} changed" if callable(value) else f"{node} = {value}" for node, value in do.items()
    ]
    return "do(" + ", ".join(parts) + ")"
