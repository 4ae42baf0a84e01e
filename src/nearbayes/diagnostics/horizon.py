r"""Horizon: whether variance grows as the formula says.

The formula (App. C) has variance grow as :math:`c_j = n \sum_{i \le j} \Delta_i / D_i^2`. If by
half of the refits draws have reached less of their final variance than that, variance is still
growing faster than the formula thinks, and its correction for the rest is too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.drift import untraced
from nearbayes.diagnostics.finished_paths import is_finished

__all__ = ["NAME", "horizon_line"]

Array = NDArray[np.float64]
NAME = "horizon"
UNIT = "growth of variance by half-way, over the formula's"
LEAST_CAPTURED = 0.3
SLOWEST = 0.7
UNCERTAIN = 0.3  # standard error of the ratio
ROUNDING = 1e-9


def horizon_line(posterior: Posterior) -> Line:
    """Measured growth of the variance along paths, over that of the formula."""
    source, trace = posterior.provenance, posterior.trace
    if not source.blocks:
        method = source.method.replace("_", " ")
        return Line(NAME, "unknown", f"The {method} has no schedule to be cut short.", unit=UNIT)
    if is_finished(posterior):
        return Line(NAME, "good", "Paths are finished: nothing is left to capture.", unit=UNIT)
    said = (
        f"The schedule captures {source.captured:.0%} of the variance by the formula, and sds are "
        f"multiplied by {source.inflation:.2f} for the rest."
    )
    if source.captured < LEAST_CAPTURED:
        advice = "Use more refits, such as n_refits=8."
        return Line(NAME, "warning", f"{said} That is much to make up for.", advice, unit=UNIT)
    reason = untraced(trace)
    if trace is None or reason:
        return Line(NAME, "unknown", f"{said} {reason}", unit=UNIT)
    formula = _formula(source.n, source.blocks, trace.n_rows)
    measured = trace.values.var(axis=0, ddof=1).mean(axis=1)
    details = {"n_rows": trace.n_rows, "formula": formula, "measured": measured}
    random_starts = measured[0] > ROUNDING * measured[-1]
    if random_starts or len(trace.n_rows) < 4 or measured[-1] == 0:
        more = " Draws start at random, so that is more than needed." if random_starts else ""
        return Line(NAME, "good", said + more, unit=UNIT, details=details)
    ratio, error = _half_way(trace.values, formula)
    if ratio + 2 * error < SLOWEST:
        words = (
            f"{said} But by half-way only {ratio:.0%} of what the formula says was reached: "
            "variance keeps growing, so intervals are too narrow."
        )
        advice = "Use a smoother learner (larger leaves, more neighbours), or calibrate."
        return Line(NAME, "warning", words, advice, ratio, error, UNIT, details)
    if error > UNCERTAIN:
        words = f"{said} There are too few draws to compare the growth of variance with it."
        return Line(NAME, "good", words, "", ratio, error, UNIT, details)
    slower = ratio + 2 * error < 1
    growth = "a little slower than" if slower else "as"
    words = f"{said} Variance grows {growth} the formula says{'' if slower else ', or faster'}."
    return Line(NAME, "good", words, "", ratio, error, UNIT, details)


def _formula(n: float, blocks: tuple[int, ...], n_rows: Array) -> Array:
    """Captured share after each of the steps that were noted."""
    rows = n + np.cumsum(blocks)
    share = np.append(0.0, np.cumsum(n * np.array(blocks) / rows**2))
    every = np.append(n, rows)
    return np.asarray(share[np.searchsorted(every, n_rows)])


def _half_way(values: Array, formula: Array) -> tuple[float, float]:
    """Measured over expected share of the final variance by half-way, and its jackknife error."""
    middle = max(1, (len(formula) - 1) // 2)
    expected = formula[middle] / formula[-1]
    ends = values[:, [middle, -1]]
    n_draws = len(ends)
    mean = ends.mean(axis=0)
    squares = (ends - mean) ** 2  # leaving out draw k lowers the sum by K / (K - 1) of its own
    left = (squares.sum(axis=0) - squares * n_draws / (n_draws - 1)).mean(axis=2)
    each = left[:, 0] / left[:, 1] / expected
    total = squares.sum(axis=0).mean(axis=1)
    error = np.sqrt((n_draws - 1) * each.var())
    return float(total[0] / total[1] / expected), float(error)
