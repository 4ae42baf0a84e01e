"""Verdicts: the picture of one line of a diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearbayes.diagnostics.diagnosis import Diagnosis, Line
from nearbayes.diagnostics.pictures import Mark
from nearbayes.plots.canvas import as_axes, colours, foreground

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["diagnosis"]


def diagnosis(found: Diagnosis, name: str, *, ax: Axes | None = None) -> Axes:
    """What was measured for one line of a diagnosis, beside what is expected.

    Parameters
    ----------
    found : Diagnosis
        Result of ``model.diagnose(X, y)`` or ``posterior.diagnose()``.
    name : str
        Name of the line, such as ``"noise"``.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib, nearbayes as nb
    >>> matplotlib.use("Agg")
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> posterior = nb.martingale_posterior(coin, [1, 0, 1, 1], random_state=0)
    >>> axes = nb.plots.diagnosis(posterior.diagnose(), "draws")
    >>> axes.get_title()
    'Are there enough draws?'
    """
    line = _checked(found, name)
    picture = line.picture
    if picture is None:
        raise ValueError(f"{name!r} has nothing to show: {line.words}")
    axes = as_axes(ax)
    for mark in picture.marks:
        _draw(axes, mark)
    if picture.log_x:
        axes.set_xscale("log")
    if picture.ticks:
        axes.set_xticks(range(len(picture.ticks)), picture.ticks)
    else:
        axes.legend(fontsize="small", frameon=False)
    axes.set_xlabel(picture.x_label)
    axes.set_ylabel(picture.y_label)
    axes.set_title(line.question)
    return axes


def _draw(axes: Axes, mark: Mark) -> None:
    colour = foreground(axes) if mark.expected else colours(axes)[0]
    x, y = np.array(mark.x), np.array(mark.y)
    style: dict[str, Any] = {"color": colour, "label": mark.label}
    if mark.kind == "line":
        axes.plot(x, y, lw=1.5, ls="--" if mark.expected else "-", **style)
    elif mark.kind == "points":
        axes.plot(x, y, "o", ms=4, alpha=0.7, **style)
    elif mark.kind == "band":
        axes.fill_between(x, y, np.array(mark.top), alpha=0.15, lw=0, **style)
    else:
        step = np.diff(x).min() if len(x) > 1 else 1.0
        axes.bar(x, y, width=0.8 * step, alpha=0.7, **style)


def _checked(found: Diagnosis, name: str) -> Line:
    if not isinstance(found, Diagnosis):
        raise TypeError(
            "found must be a result of model.diagnose(X, y) or posterior.diagnose(), got "
            f"{type(found).__name__}."
        )
    return found[name]
