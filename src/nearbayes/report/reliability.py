"""Reliability: whether probabilities, or intervals of y, come true as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

from nearbayes.core.credible import Functional
from nearbayes.metrics import coverage, expected_calibration_error, width
from nearbayes.report.heldout import LEVELS, MOST_CLASSES, HeldOut
from nearbayes.report.numbers import counted, percent, rounded

__all__ = ["held_out_coverage", "predictive_sets", "reliability"]

Array = NDArray[np.float64]

N_GROUPS = 10
LEAST_ROWS = 10  # in a group of the reliability diagram
BAND = 0.9
CURVE_LEVELS = (0.1, 0.3, *LEVELS, 0.7)


def reliability(held: HeldOut) -> dict[str, Any] | None:
    """Grouped calibration of class probabilities; None for outcomes (see `held_out_coverage`).

    Rows are put into groups of equal size by predicted probability. Each group has its mean
    prediction with a credible interval, and the share of rows where the class was seen with a
    binomial (Jeffreys) interval.
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
            f"In {within} of {counted(total, 'group')} the predicted probability lies inside the "
            f"{percent(BAND)} interval of the share that was seen; about {BAND * total:.0f} would "
            "if every probability were right."
        ),
    }


def _views(held: HeldOut) -> list[dict[str, Any]]:
    """What reliability is shown of: one class of two, or the likeliest and each of several."""
    if len(held.classes) == 2:
        return [_view(held, f"probability of {held.classes[1]}", held.draws[..., 1], held.y == 1)]
    likeliest = held.mean.argmax(axis=1)
    of_likeliest = held.draws[:, np.arange(held.n), likeliest]
    views = [_view(held, "probability of the likeliest class", of_likeliest, held.y == likeliest)]
    if len(held.classes) <= MOST_CLASSES:
        views += [
            _view(held, f"probability of {name}", held.draws[..., k], held.y == k)
            for k, name in enumerate(held.classes)
        ]
    return views


def _view(held: HeldOut, name: str, draws: Array, seen: NDArray[np.bool_]) -> dict[str, Any]:
    n_groups = max(1, min(N_GROUPS, held.n // LEAST_ROWS))
    order = np.argsort(draws.mean(axis=0), kind="stable")
    return {
        "name": name,
        "groups": [_group(held, draws, seen, rows) for rows in np.array_split(order, n_groups)],
    }


def _group(held: HeldOut, draws: Array, seen: NDArray[np.bool_], rows: Any) -> dict[str, Any]:
    average = Functional(draws[:, rows].mean(axis=1), held.posterior.inflation, "logit")
    predicted, count, hits = float(average.mean), len(rows), int(seen[rows].sum())
    tails = np.array([(1 - BAND) / 2, (1 + BAND) / 2])
    band = beta.ppf(tails, hits + 0.5, count - hits + 0.5)
    band = np.array([0.0 if hits == 0 else band[0], 1.0 if hits == count else band[1]])
    return {
        "rows": count,
        "predicted": rounded(predicted),
        "credible": rounded(average.interval(BAND)),
        "seen": rounded(hits / count),
        "band": rounded(band),
        "agrees": bool(band[0] <= predicted <= band[1]),
    }


def predictive_sets(
    mean: Array, levels: tuple[float, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Classes from likeliest to least, and how many of them together reach each level.

    Parameters
    ----------
    mean : array of shape (n_rows, n_classes)
    levels : tuple of float

    Returns
    -------
    ranked : array of shape (n_rows, n_classes)
    size : array of shape (n_rows, n_levels)

    Examples
    --------
    >>> ranked, size = predictive_sets(np.array([[0.2, 0.7, 0.1]]), (0.5, 0.8))
    >>> ranked.tolist(), size.tolist()
    ([[1, 0, 2]], [[1, 2]])
    """
    ranked = np.argsort(-mean, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(mean, ranked, axis=1), axis=1)
    short = reached[:, :, None] < np.asarray(levels) - 1e-12  # sums of shares miss 1 by rounding
    return ranked, np.minimum(short.sum(axis=1) + 1, mean.shape[1])


def held_out_coverage(held: HeldOut) -> dict[str, Any]:
    """How often predictive intervals (or sets of classes) hold what was seen, by level."""
    levels = tuple(sorted(LEVELS if held.is_classifier else CURVE_LEVELS))
    if held.is_classifier:
        ranked, size = predictive_sets(held.mean, levels)
        place = (ranked == held.y[:, None]).argmax(axis=1)
        covered, widths = (place[:, None] < size).mean(axis=0), size.mean(axis=0)
    else:
        bounds = held.at(held.scored, lambda x: held.model.predict_interval(x, levels))
        covered = np.asarray(coverage(held.y[held.scored], bounds))
        widths = np.asarray(width(bounds))
    n = len(held.scored)
    tails = [(1 - BAND) / 2, (1 + BAND) / 2]
    bands = np.array([binom.ppf(tails, n, level) / n for level in levels])
    return {
        "rows": n,
        "of": held.n,
        "band": BAND,
        "levels": [
            {
                "level": level,
                "covered": rounded(share),
                "band": rounded(band),
                "width": rounded(size),
            }
            for level, share, band, size in zip(levels, covered, bands, widths, strict=True)
        ],
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
