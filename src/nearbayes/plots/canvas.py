"""Canvas: axes to draw on, and colours that all readers can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_COLOURS", "as_axes", "colours", "foreground", "percent"]

# Okabe and Ito's colours, which colour-blind readers tell apart; bright ones for dark paper.
ON_WHITE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F6A00")
ON_BLACK = ("#56B4E9", "#E69F00", "#2FD6A5", "#E8A5CC", "#F0E442")
MOST_COLOURS = len(ON_WHITE)


def as_axes(ax: Any = None) -> Axes:
    """Take the axes given, or make a figure with new ones; nothing is shown."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'nearbayes[plot]'.") from missing
    if ax is None:
        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be one matplotlib Axes, got {type(ax).__name__}: of several subplots, give "
            "one, such as axes[0]."
        )
    return ax


def colours(axes: Axes) -> tuple[str, ...]:
    """Colours to draw with on these axes; the first, blue, is for most things."""
    from matplotlib.colors import to_rgb

    return ON_WHITE if sum(to_rgb(axes.get_facecolor())) > 1.5 else ON_BLACK


def foreground(axes: Axes) -> Any:
    """Colour of text on these axes: black on white, white on black, as the style has it."""
    return axes.xaxis.label.get_color()


def percent(share: float) -> str:
    """A share in words.

    Examples
    --------
    >>> percent(0.9), percent(0.975)
    ('90 %', '97.5 %')
    """
    return f"{100 * share:.4g} %"
