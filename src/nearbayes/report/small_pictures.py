"""Small pictures: marks of a diagnosis as numbers for an inline SVG, which needs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

__all__ = ["small_picture"]

WIDTH, HEIGHT = 320.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 10.0, 8.0, 22.0
BAR = 0.8  # of the distance between bars
N_TICKS = 4
Scale = Callable[[float], float]


def small_picture(picture: Mapping[str, Any]) -> dict[str, Any]:
    """Paths, ticks and a legend in pixels.

    Parameters
    ----------
    picture : mapping
        `nearbayes.diagnostics.Picture.to_dict()`.

    Returns
    -------
    dict with "width", "height", "marks" (kind, label, expected, path), "x_ticks", "y_ticks" (at,
    text), "x_label" and "y_label"

    Examples
    --------
    >>> mark = {"kind": "line", "label": "a", "x": [1, 2], "y": [0, 5], "top": []}
    >>> found = small_picture({"x_label": "x", "y_label": "y", "ticks": [], "log_x": False,
    ...     "marks": [mark | {"expected": False}]})
    >>> found["marks"][0]["path"], [tick["text"] for tick in found["y_ticks"]]
    ('M44 168L310 8', ['0', '2', '4'])
    """
    marks = picture["marks"]
    step = _distance_of_bars(marks)
    low, high = _ends(chain.from_iterable(_reach(mark, step) for mark in marks))
    bottom, top = _ends(
        chain([0.0], *(mark["y"] for mark in marks), *(mark["top"] for mark in marks))
    )
    log = bool(picture["log_x"]) and low > 0
    across = _scale(low, high, LEFT, WIDTH - RIGHT, log)
    up = _scale(bottom, top, HEIGHT - BOTTOM, TOP, False)
    named = [(float(place), str(text)) for place, text in enumerate(picture["ticks"])]
    x_ticks = named or [(value, _shown(value)) for value in _round_numbers(low, high, log)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "marks": [
            {
                "kind": mark["kind"],
                "label": mark["label"],
                "expected": mark["expected"],
                "path": _path(mark, across, up, step),
            }
            for mark in marks
        ],
        "x_ticks": [{"at": across(value), "text": text} for value, text in x_ticks],
        "y_ticks": [
            {"at": up(value), "text": _shown(value)} for value in _round_numbers(bottom, top, False)
        ],
        "x_label": picture["x_label"],
        "y_label": picture["y_label"],
        "named": bool(named),
    }


def _path(mark: Mapping[str, Any], across: Scale, up: Scale, step: float) -> str:
    """The path of an SVG."""
    x, y = [across(value) for value in mark["x"]], [up(value) for value in mark["y"]]
    if mark["kind"] == "line":
        return _line(zip(x, y, strict=True))
    if mark["kind"] == "band":
        back = zip(reversed(x), [up(value) for value in reversed(mark["top"])], strict=True)
        return _line(chain(zip(x, y, strict=True), back)) + "Z"
    if mark["kind"] == "points":
        return "".join(f"M{a:g} {b:g}h0" for a, b in zip(x, y, strict=True))
    half, floor = step * BAR / 2, up(0.0)
    edges = [(across(value - half), across(value + half)) for value in mark["x"]]
    return "".join(
        f"M{a:g} {floor:g}V{b:g}H{c:g}V{floor:g}Z" for (a, c), b in zip(edges, y, strict=True)
    )


def _line(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in points)


def _distance_of_bars(marks: Iterable[Mapping[str, Any]]) -> float:
    """Between centres of neighbouring bars."""
    centres = sorted({x for mark in marks if mark["kind"] == "bars" for x in mark["x"]})
    return float(np.diff(centres).min()) if len(centres) > 1 else 1.0


def _reach(mark: Mapping[str, Any], step: float) -> list[float]:
    """Ends of a mark on the x axis."""
    if mark["kind"] != "bars":
        return list(mark["x"])
    return [x + side * step / 2 for x in mark["x"] for side in (-1, 1)]


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """Smallest and largest number, which differ."""
    finite = [value for value in values if np.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    return (low, high) if high > low else (low, low + 1.0)


def _scale(low: float, high: float, start: float, end: float, log: bool) -> Scale:
    """From numbers to pixels."""
    first, last = (np.log(low), np.log(high)) if log else (low, high)

    def pixel(value: float) -> float:
        at = np.log(value) if log else value
        return round(float(start + (end - start) * (at - first) / (last - first)), 1)

    return pixel


def _round_numbers(low: float, high: float, log: bool) -> list[float]:
    """A few round numbers between two ends."""
    if log:
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        steps = (1, 2, 5) if high / low < 100 else (1,)
        found = [step * 10.0**power for power in powers for step in steps]
        inside = [value for value in found if low <= value <= high]
        if len(inside) > 1:
            return inside
    step = 10.0 ** np.floor(np.log10((high - low) / N_TICKS))
    step *= next(each for each in (1, 2, 5, 10) if (high - low) / (step * each) <= N_TICKS)
    count = range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    return [float(f"{step * k:.6g}") for k in count]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
