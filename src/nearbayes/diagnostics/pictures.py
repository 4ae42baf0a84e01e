"""Pictures: what is to be seen of a line of a diagnosis, as marks that any page can draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

__all__ = ["Mark", "Picture", "picture_of"]

Kind = Literal["line", "points", "bars", "band"]
Details = Mapping[str, Any]
DIGITS = 4
MOST_POINTS = 200
N_BINS = 10
BAND = 0.95  # of a histogram: all bars are inside so often if nothing is wrong


@dataclass(frozen=True)
class Mark:
    """Points of one kind.

    Attributes
    ----------
    kind : "line", "points", "bars" or "band"
    label : str
    x, y : tuple of float
        For bars, x are the centres. For a band, y is its lower end.
    top : tuple of float
        Upper end of a band.
    expected : bool
        Whether this is what is expected, to compare what was measured with.
    """

    kind: Kind
    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    top: tuple[float, ...] = ()
    expected: bool = False


@dataclass(frozen=True)
class Picture:
    """Marks with the names of their axes.

    Attributes
    ----------
    x_label, y_label : str
    marks : tuple of Mark
    ticks : tuple of str
        Names of bars; empty where x is a number.
    log_x : bool
    """

    x_label: str
    y_label: str
    marks: tuple[Mark, ...]
    ticks: tuple[str, ...] = ()
    log_x: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts, for JSON."""
        return asdict(self)


def picture_of(name: str, details: Details) -> Picture | None:
    """The picture of a line; None where nothing was measured that could be shown.

    Examples
    --------
    >>> shown = picture_of("more data", {"n": 100.0, "rows": np.array([200.0]),
    ...     "ratio": np.array([0.7]), "low": np.array([0.6]), "high": np.array([0.8])})
    >>> shown.marks[1].y
    (1.0, 0.7)
    """
    draw = PICTURES.get(name)
    return None if draw is None or not details else draw(details)


def _mark(
    kind: Kind, label: str, x: ArrayLike, y: ArrayLike, top: ArrayLike = (), expected: bool = False
) -> Mark:
    return Mark(kind, label, _rounded(x), _rounded(y), _rounded(top), expected)


def _rounded(values: ArrayLike) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in np.ravel(np.asarray(values, np.float64)))


def _drift(found: Details) -> Picture:
    rows, y_label = found["n_rows"], "shift of predictions by a refit, in sds"
    limit = _mark("band", "by chance", rows, np.zeros(len(rows)), 2 * found["chance"], True)
    shift = _mark("points", "shift", rows, found["drift"])
    return Picture("rows, real and imputed", y_label, (limit, shift), log_x=True)


def _horizon(found: Details) -> Picture:
    rows, formula, measured = found["n_rows"], found["formula"], found["measured"]
    lines = [
        _mark("line", name, rows, values / values[-1], expected=expected)
        for name, values, expected in (
            ("by the formula", formula, True),
            ("measured", measured, False),
        )
        if values[-1] > 0
    ]
    return Picture(
        "rows, real and imputed", "share of the final variance of draws", tuple(lines), (), True
    )


def _draws(found: Details) -> Picture:
    curve = _mark("line", "expected", found["n_draws"], found["error"], expected=True)
    count, error = found["now"]
    now = _mark("points", "now", [count], [error])
    return Picture("draws", "relative error of an interval's width", (curve, now), (), True)


def _noise(found: Details) -> Picture:
    if "ranks" not in found:
        names = ("held-out labels", "imputed labels")
        return _compared("Brier score", names, found["real"], found["imputed"])
    ranks = np.ravel(found["ranks"])
    shares = np.histogram(ranks, bins=N_BINS, range=(0, 1))[0] / len(ranks)
    tail = (1 - BAND) / 2 / N_BINS
    ends = stats.binom.ppf([tail, 1 - tail], len(ranks), 1 / N_BINS) / len(ranks)
    return _ranks(shares, ends, "rank of a held-out outcome among imputed ones")


def _ranks(shares: np.ndarray[Any, Any], ends: Sequence[float], x_label: str) -> Picture:
    """A histogram, and the band that bars are in by chance."""
    n = len(shares)
    centres = (np.arange(n) + 0.5) / n
    band = _mark("band", "by chance", [0, 1], [ends[0]] * 2, [ends[1]] * 2, expected=True)
    return Picture(x_label, "share", (band, _mark("bars", "measured", centres, shares)))


def _compared(what: str, names: tuple[str, str], measured: Any, expected: Any) -> Picture:
    """Means of two groups, side by side."""
    marks = (
        _mark("bars", names[0], [0], [np.mean(measured)]),
        _mark("bars", names[1], [1], [np.mean(expected)], expected=True),
    )
    return Picture("", what, marks, names)


def _stability(found: Details) -> Picture:
    x, y = np.ravel(found["changed"]), np.ravel(found["moved"])
    few = np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int)
    ends = np.array([min(x.min(), 0.0), max(x.max(), 0.0)])
    marks = (
        _mark("line", "a fit that copies every row", ends, ends, expected=True),
        _mark("line", "slope", ends, found["influence"] * ends),
        _mark("points", "rows", x[few], y[few]),
    )
    return Picture("change of a row's outcome", "change of the prediction there", marks)


def _efficiency(found: Details) -> Picture:
    names = ("fit to all rows", "mean of two half fits")
    return _compared("held-out squared error", names, found["whole"], found["halves"])


def _excess(found: Details) -> Picture:
    names = ("fit", "posterior mean, at most")
    return _compared("squared error on simulated tasks", names, found["fit"], found["mixture"])


def _forecast(found: Details) -> Picture:
    order = np.argsort(found["rows"])
    rows, ratio, low, high = (
        np.append(start, found[name][order])
        for name, start in (("rows", found["n"]), ("ratio", 1.0), ("low", 1.0), ("high", 1.0))
    )
    marks = (_mark("band", "95 % band", rows, low, high, True), _mark("line", "width", rows, ratio))
    return Picture("rows", "width of intervals, over that now", marks, (), True)


def _calibration(found: Details) -> Picture:
    return _ranks(
        np.asarray(found["shares"]), (found["low"], found["high"]), "rank of a truth among draws"
    )


PICTURES: dict[str, Callable[[Details], Picture]] = {
    "martingale drift": _drift,
    "horizon": _horizon,
    "draws": _draws,
    "noise": _noise,
    "stability": _stability,
    "efficiency": _efficiency,
    "excess error": _excess,
    "more data": _forecast,
    "calibration": _calibration,
}
