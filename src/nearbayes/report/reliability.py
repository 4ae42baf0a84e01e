"""Reliability: whether probabilities, or intervals of y, come true as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.inspection.reliability import binomial_band, event, grouped, set_coverage
from nearbayes.metrics import coverage, expected_calibration_error, width
from nearbayes.report.heldout import LEVELS, MOST_CLASSES, HeldOut
from nearbayes.report.rounding import counted, percent, rounded

__all__ = ["held_out_coverage", "reliability"]

Array = NDArray[np.float64]

N_GROUPS = 10
LEAST_ROWS = 10  # in a group of the reliability diagram
BAND = 0.9
CURVE_LEVELS = (0.1, 0.3, *LEVELS, 0.7)


def reliability(held: HeldOut) -> dict[str, Any] | None:
    """Grouped calibration of class probabilities; None for outcomes (see `held_out_coverage`).

    Rows are put into groups of equal size by predicted probability. Each group has its mean
    prediction with a credible interval, the share of rows where the class was seen, and the band
    that the share would be in, but for chance, if the prediction were right (binomial).
    """
    if not held.is_classifier:
        return None
    views = _views(held)
    within = sum(group["agrees"] for group in views[0]["groups"])
    total = len(views[0]["groups"])
    return {
        "views": views,
        "band": BAND,
        "error": rounded(expected_calibration_error(held.y, held.mean)),
        "words": (
            f"In {within} of {counted(total, 'group')} the share that was seen is as near to the "
            f"predicted probability as chance has it {percent(BAND)} of the time; about "
            f"{BAND * total:.0f} or more would be if every probability were right."
        ),
    }


def _views(held: HeldOut) -> list[dict[str, Any]]:
    """What reliability is shown of: one class of two, or the likeliest and each of several."""
    if len(held.classes) == 2:
        return [_view(held, f"probability of {held.classes[1]}", 1)]
    several = held.classes if len(held.classes) <= MOST_CLASSES else []
    each = [_view(held, f"probability of {name}", k) for k, name in enumerate(several)]
    return [_view(held, "probability of the likeliest class", None), *each]


def _view(held: HeldOut, name: str, k: int | None) -> dict[str, Any]:
    """Groups by the probability of class k, or of the likeliest one."""
    n_groups = max(1, min(N_GROUPS, held.n // LEAST_ROWS))
    groups = grouped(held.model, *event(held.draws, held.y, k), n_groups, BAND)
    low, high = groups.chance.T
    by_group = {
        "rows": groups.sizes.tolist(),
        "predicted": rounded(groups.said),
        "credible": rounded(groups.credible),
        "seen": rounded(groups.seen),
        "band": rounded(groups.chance),
        "agrees": ((low <= groups.seen) & (groups.seen <= high)).tolist(),
    }
    return {"name": name, "groups": _records(by_group)}


def _records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """One dictionary per row of columns of one length."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def held_out_coverage(held: HeldOut) -> dict[str, Any]:
    """How often predictive intervals (or sets of classes) hold what was seen, by level."""
    levels = tuple(sorted(LEVELS if held.is_classifier else CURVE_LEVELS))
    if held.is_classifier:
        covered, widths = set_coverage(held.y, held.mean, levels)
    else:
        bounds = held.at(held.scored, lambda x: held.model.predict_interval(x, levels))
        covered = np.asarray(coverage(held.y[held.scored], bounds))
        widths = np.asarray(width(bounds))
    n = len(held.scored)
    bands = binomial_band(BAND, n, levels)
    by_level = {
        "level": list(levels),
        "covered": rounded(covered),
        "band": rounded(bands),
        "width": rounded(widths),
    }
    return {
        "rows": n,
        "of": held.n,
        "band": BAND,
        "levels": _records(by_level),
        "words": _coverage_words(held, levels, covered, bands),
    }


def _coverage_words(held: HeldOut, levels: Any, covered: Array, bands: Array) -> str:
    at = levels.index(0.9)
    share, (low, high) = covered[at], bands[at]
    said = f"{percent(0.9)} {'sets' if held.is_classifier else 'predictive intervals'}"
    found = f"{said} held {percent(share)} of what was seen"
    if share < low:
        return f"{found}: too little, by more than chance explains. Read intervals as too narrow."
    if share > high and held.is_classifier:
        return f"{found}. Sets cover more than they say wherever the last class overshoots."
    if share > high:
        return f"{found}: more than they say, beyond chance. Read intervals as too wide."
    return f"{found}, which is what they say, up to chance."
