"""Canvas: axes to draw on, and colour-blind safe colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_COLOURS", "as_axes", "colours", "foreground", "percent"]

# Colour-blind safe colours by Okabe and Ito; brighter ones for dark backgrounds.
ON_WHITE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6A00")
ON_BLACK = ("#56B4E9", "#E69F00", "#2FD6A5", "#E8A5CC", "#F0E442")
MOST_COLOURS = len(ON_WHITE)


def as_axes(ax: Any = None) -> Axes:
    """Return the given axes, or the axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'nearbayes[plot]'.") from missing
    if ax is None:
        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be a matplotlib Axes, got {type(ax).__name__}: pass one of several subplots, "
            "such as axes[0]."
        )
    return ax


def colours(axes: Axes) -> tuple[str, ...]:
    """Colours for these axes; the first one, blue, is the default."""
    from matplotlib.colors import to_rgb

    return ON_WHITE if sum(to_rgb(axes.get_facecolor())) > 1.5 else ON_BLACK


def foreground(axes: Axes) -> Any:
    """Colour of text on these axes, given by the matplotlib style."""
    return axes.xaxis.label.get_color()


def percent(share: float) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.9), percent(0.975)
    ('90 %', '97.5 %')
    """
    return f"{100 * share:.4g} %"
