"""Reliability: whether probabilities match frequencies, and intervals their coverage."""

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
    """Calibration of class probabilities by group; None for regression.

    Rows are put into groups of equal size by predicted probability. Each group has its mean
    prediction with a credible interval, the share of rows with the class, and a binomial interval
    of that share if the prediction is right.
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
            f"Rows with similar probabilities form {counted(total, 'group')}. In {within} of them, "
            "as many rows had the class as predicted, up to chance; if all probabilities are "
            f"right, about {BAND * total:.0f} should."
        ),
    }


def _views(held: HeldOut) -> list[dict[str, Any]]:
    """Views of one class of two, or of the most likely class and each of several."""
    if len(held.classes) == 2:
        k = held.focus
        return [_view(held, f"probability of {held.classes[k]}", k)]
    several = held.classes if len(held.classes) <= MOST_CLASSES else []
    each = [_view(held, f"probability of {name}", k) for k, name in enumerate(several)]
    return [_view(held, "probability of the most likely class", None), *each]


def _view(held: HeldOut, name: str, k: int | None) -> dict[str, Any]:
    """Groups by the probability of class k, or of the most likely class if k is None."""
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
    """Convert columns of equal length to one dictionary per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def held_out_coverage(held: HeldOut) -> dict[str, Any]:
    """Coverage of predictive intervals (or sets of classes) on these rows, by level."""
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
    found = f"{said} covered {percent(share)} of these outcomes"
    if share < low:
        return f"{found}, significantly less than stated: the intervals are too narrow."
    if share > high and held.is_classifier:
        return f"{found}. Sets often cover more than stated, because they consist of whole classes."
    if share > high:
        return f"{found}, significantly more than stated: the intervals are too wide."
    return f"{found}, as expected up to chance."
