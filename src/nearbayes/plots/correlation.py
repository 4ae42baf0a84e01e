"""Correlation: posterior correlations between the entries of a quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearbayes.draws.functional import Functional
from nearbayes.plots.canvas import as_axes
from nearbayes.plots.entries import as_entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["correlation"]

MOST_ENTRIES = 60
MOST_NUMBERS = 12  # entries; with more, numbers in the cells would be unreadable


def correlation(
    functional: Functional, names: Sequence[Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Matrix of posterior correlations between the entries of a quantity.

    Parameters
    ----------
    functional : Functional
        Result of ``posterior.apply(function)``: a vector of 2 to 60 entries. Cells of an entry
        that is constant over all draws are left empty.
    names : sequence, optional
        One name per entry.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    columns, labels = as_entries(functional, names, MOST_ENTRIES)
    if len(labels) < 2:
        raise ValueError("functional must have at least 2 entries, got 1.")
    matrix = columns.correlation()
    axes = as_axes(ax)
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.figure.colorbar(image, ax=axes, label="posterior correlation")
    places = np.arange(len(labels))
    axes.set_xticks(places, labels, rotation=90)
    axes.set_yticks(places, labels)
    axes.set_title(f"Posterior correlations, {len(columns.values)} draws")
    if len(labels) <= MOST_NUMBERS:
        _write_numbers(axes, matrix)
    return axes


def _write_numbers(axes: Axes, matrix: Any) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            colour = "white" if abs(value) > 0.6 else "black"  # cells are dark at both ends
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=8)
