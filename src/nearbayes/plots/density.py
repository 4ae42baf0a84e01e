"""Density: the posterior of one or a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from nearbayes.draws.functional import Functional
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.plots.entries import as_entries, entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["density_curve", "posterior"]

Array = NDArray[np.float64]
MOST_ENTRIES = 20
POINTS = 256
LOWEST = {"identity": -np.inf, "log": 0.0, "logit": 0.0}
HIGHEST = {"identity": np.inf, "log": np.inf, "logit": 1.0}


def posterior(
    functional: Functional,
    names: Sequence[Any] | str | None = None,
    *,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Density of the draws of a quantity, with mean and credible interval.

    Several entries are drawn one above the other, all with the same height.

    Parameters
    ----------
    functional : Functional
        Result of ``posterior.apply(function)``: a number, or a vector of up to 20 entries.
    names : sequence or str, optional
        One name per entry.
    coverage : float
        Coverage of the credible interval. Draws are spread as far as intervals reach.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    columns, labels = as_entries(functional, names, MOST_ENTRIES)
    bounds = columns.interval(coverage)
    axes = as_axes(ax)
    if len(labels) == 1:
        _draw_density(axes, entry(columns, 0), bounds[0], coverage)
        axes.set_xlabel(labels[0])
    else:
        _draw_ridges(axes, columns, labels, bounds)
        axes.set_title(f"Posterior densities, means and {percent(coverage)} credible intervals")
    return axes


def density_curve(functional: Functional, through: Sequence[float] = ()) -> tuple[Array, Array]:
    """Kernel density of the draws of a number, spread as far as intervals reach.

    Parameters
    ----------
    functional : Functional
    through : sequence of float
        Values to include in the grid.

    Returns
    -------
    grid, density : arrays of equal length; empty if all draws are equal
    """
    draws = functional.adjusted()
    if np.ptp(draws) <= 1e-12 * np.abs(draws).max():
        return np.empty(0), np.empty(0)
    kernel = gaussian_kde(draws)
    reach = 3 * np.sqrt(kernel.covariance[0, 0])
    # the kernel must not extend below a probability of 0 or above 1
    low = max(draws.min() - reach, LOWEST[functional.link])
    high = min(draws.max() + reach, HIGHEST[functional.link])
    grid = np.sort(np.concatenate([np.linspace(low, high, POINTS), through]))
    return grid, np.asarray(kernel(grid))


def _draw_density(axes: Axes, number: Functional, bounds: Array, coverage: float) -> None:
    grid, density = density_curve(number, bounds.tolist())
    blue = colours(axes)[0]
    inside = (grid >= bounds[0]) & (grid <= bounds[1])
    axes.plot(grid, density, color=blue, label="density")
    interval = f"{percent(coverage)} credible interval"
    axes.fill_between(grid[inside], density[inside], color=blue, alpha=0.3, lw=0, label=interval)
    axes.axvline(float(number.mean), color=foreground(axes), ls="--", lw=1, label="mean")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("posterior density")
    axes.set_title(f"Posterior of {len(number.values)} draws")
    axes.legend()


def _draw_ridges(axes: Axes, columns: Functional, labels: list[str], bounds: Array) -> None:
    blue = colours(axes)[0]
    places = np.arange(len(labels))[::-1]  # the first on top
    for each, place in enumerate(places.tolist()):
        grid, density = density_curve(entry(columns, each))
        if len(grid):
            height = place + 0.8 * density / density.max()
            axes.fill_between(grid, place, height, color=blue, alpha=0.3, lw=0)
            axes.plot(grid, height, color=blue, lw=1)
    axes.hlines(places, bounds[:, 0], bounds[:, 1], color=foreground(axes), lw=2)
    axes.plot(columns.mean, places, "o", color=foreground(axes), ms=5)
    axes.set_yticks(places, labels)
