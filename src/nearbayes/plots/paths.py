"""Paths: a quantity after every refit, draw by draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearbayes.draws.functional import Functional
from nearbayes.methods.martingale import Paths
from nearbayes.plots.canvas import as_axes, colours, foreground, percent
from nearbayes.plots.density import density_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["paths"]

MOST_LINES = 200


def paths(
    paths: Paths, name: str = "quantity", *, coverage: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Paths of a quantity from the first fit to the posterior, as rows are imputed.

    On the right are the density of the end points (filled) and that of the posterior (line), which
    is inflated for truncation.

    Parameters
    ----------
    paths : Paths
        Result of `nearbayes.martingale_paths` for a function that returns a number.
    name : str
        Name of the quantity.
    coverage : float
        Coverage of the credible interval on the right.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Axes with one line per draw (at most 200); the densities are on a child of them.

    Examples
    --------
    >>> import matplotlib, nearbayes as nb
    >>> matplotlib.use("Agg")
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> paths = nb.martingale_paths(coin, [1, 0, 1, 1], lambda p: p[0], random_state=0)
    >>> axes = nb.plots.paths(paths, "P(heads)")
    >>> len(axes.lines), axes.lines[0].get_xdata()[0]
    (50, np.float64(4.0))
    """
    _check(paths)
    axes = as_axes(ax)
    shown = paths.values[:MOST_LINES]
    opacity = float(np.clip(30 / len(shown), 0.15, 0.7))
    axes.plot(paths.n_rows, shown.T, color=colours(axes)[0], lw=0.8, alpha=opacity)
    axes.set_xscale("log")
    ticks = _ticks(paths.n_rows)
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"number of rows: {paths.n_rows[0]:,.0f} real, the others imputed")
    axes.set_ylabel(name)
    axes.set_title(f"{len(paths.values)} draws, refit by refit")
    _draw_ends(axes, paths.ends, coverage)
    return axes


def _draw_ends(axes: Axes, ends: Functional, coverage: float) -> None:
    """Densities beside the paths, on the same scale."""
    blue, orange, *_ = colours(axes)
    side = axes.inset_axes((1.02, 0, 0.28, 1), sharey=axes)
    raw, height = density_curve(Functional(ends.values))
    side.fill_betweenx(raw, height, color=blue, alpha=0.3, lw=0, label="ends of paths")
    grid, density = density_curve(ends)
    side.plot(density, grid, color=orange, label="posterior")
    low, high = ends.interval(coverage)
    label = f"{percent(coverage)} interval"
    side.vlines(0, low, high, color=foreground(axes), lw=4, label=label, clip_on=False)
    side.set_xlim(left=0)
    side.set_xticks([])
    side.tick_params(labelleft=False)
    side.spines[["top", "right", "bottom"]].set_visible(False)
    side.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.02), frameon=False)


def _ticks(n_rows: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Ticks at the number of real rows, its doublings, and the final number of rows."""
    first, last = float(n_rows[0]), float(n_rows[-1])
    doublings = int(np.log2(last / first / 1.3)) if last > 1.3 * first else 0
    return [*(first * 2**k for k in range(doublings + 1)), last]


def _check(paths: Paths) -> None:
    if not isinstance(paths, Paths):
        raise TypeError(
            "paths must be a result of nearbayes.martingale_paths(algorithm, data, function), got "
            f"{type(paths).__name__}."
        )
    if paths.values.ndim != 2:
        raise ValueError(
            f"paths must be those of a number, got draws of shape {paths.values.shape[2:]}: return "
            "one number from the function."
        )
    if len(paths.values) < 2 or len(paths.n_rows) < 2:
        raise ValueError(
            f"paths must have at least 2 draws and 1 refit, got {len(paths.values)} draws with "
            f"{len(paths.n_rows) - 1} refits."
        )
