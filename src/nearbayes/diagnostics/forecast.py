r"""Forecast: what more rows would buy.

If variances fall as :math:`n^{-a}`, widths of intervals fall as :math:`n^{-a/2}`; a = 1 in regular
models (App. C). There a comes from the paths: if the variance of increments per imputed row falls
as :math:`m^{-(1 + a)}`, what is left at m rows falls as :math:`m^{-a}`.

Flexible learners are not regular: the variance of neighbours does not depend on n at all, and
paths do not show it, as imputed rows hold no more than the last fit. What is usual for them is
measured by ``python -m benchmarks.variance_exponents``. Beside that, a is measured by fits to
disjoint parts of the rows: how much less fits to halves differ than fits to quarters.

The held-out error is read off the learning curve: what fits to all other rows gain over fits to
half of them goes on with the power b,

.. math:: E(M) = E(m) - (E(m / 2) - E(m)) \frac{1 - (M / m)^{-b}}{2^b - 1}.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import is_number, is_whole
from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.drift import growth_exponent, untraced
from nearbayes.diagnostics.finished_paths import without_finish
from nearbayes.diagnostics.jackknife import jackknife_error
from nearbayes.diagnostics.refitting import N_FOLDS, Case, as_columns, part_of
from nearbayes.draws.path_trace import Trace

__all__ = [
    "NAME",
    "USUAL_ROWS",
    "exponent_of_parts",
    "forecast_line",
    "rows_of",
    "variances_of_parts",
]

Array = NDArray[np.float64]
Exponent = tuple[float, float]  # and its standard error
NAME = "more data"
USUAL_ROWS = (2.0, 5.0, 10.0)  # times those of the fit
REGULAR = 1.0
FLEXIBLE = (0.32, 0.23)  # mean and sd over flexible learners and data sets
SHARE, SHARE_ERROR = 0.35, 0.1  # of the way from 1 to the exponent of the paths
SPREAD = 0.8  # of such exponents around 1
LEAST, MOST = 0.0, 2.0
N_PARTS = 4
MOST_PARTS = 10  # of the draws, to be left out in turn
FEWEST_ROWS = 10  # of a part
NOT_A_POWER = 0.31  # by which exponents of posteriors differ from measured ones in these trials
CURVES = (0.4, 0.7, 1.0)  # powers b of the held-out error: slowest, usual, fastest
GROWN = N_FOLDS / (N_FOLDS - 1)  # rows at hand over those of a fit to all other rows


def rows_of(at: Any, n: float) -> Array:
    """Numbers of rows: floats are multiples of n, integers are rows; all are more than n.

    Examples
    --------
    >>> rows_of((2.0, 500), 100.0).tolist()
    [200.0, 500.0]
    """
    values = [at] if np.ndim(at) == 0 else list(at)
    numbers = bool(values) and all(is_number(each) and np.isfinite(each) for each in values)
    rows = [float(each) if is_whole(each) else float(each) * n for each in values if numbers]
    if not rows or not all(each > n for each in rows):
        raise ValueError(
            f"at must be numbers of rows above those of the fit, {n:g}, or multiples of them as "
            f"floats such as (2.0, 5.0), got {at!r}."
        )
    return np.array(rows)


def forecast_line(posterior: Posterior, case: Case | None, at: Sequence[float] | float) -> Line:
    """Width of intervals with more rows, over that with the rows at hand."""
    n, trace = posterior.provenance.n, posterior.trace
    rows = rows_of(at, n)
    unit = f"width of intervals with {rows[0]:,.0f} rows, over that now"
    reason = untraced(trace)
    if trace is None or reason:
        return Line(NAME, "unknown", reason, unit=unit)
    if not np.ptp(trace.values, axis=0).any():
        return Line(NAME, "unknown", "Draws do not differ, so no width can shrink.", unit=unit)
    if posterior.chunks.traits.calibrate:
        found = flexible_exponent(case)
    else:
        found = exponent_of(without_finish(posterior, trace))
    exponent, error = found
    ratio, chance = (rows / n) ** (-exponent / 2), np.exp(2 * _chance(trace, n))
    low = (rows / n) ** (-min(MOST, exponent + 2 * error) / 2) / chance
    high = (rows / n) ** (-max(LEAST, exponent - 2 * error) / 2) * chance
    details = {"n": n, "rows": rows, "ratio": ratio, "low": low, "high": high}
    parts = [
        f"{r:.0%} at {m:,.0f} rows ({a:.0%} to {b:.0%})"
        for r, m, a, b in zip(ratio, rows, low, high, strict=True)
    ]
    words = f"Intervals would have this part of their width: {', '.join(parts)}."
    if case is not None:
        score = _scores(case, rows / n)
        details |= score
        words += _score_words(score, case)
    spread = float(np.log(rows[0] / n) * error / 2 * ratio[0])
    return Line(NAME, "forecast", words, "", float(ratio[0]), spread, unit, details)


def flexible_exponent(case: Case | None) -> Exponent:
    """Exponent a of a flexible learner, measured by fits to parts of the rows where they are there.

    The measurement and what is usual count by their precision.
    """
    usual, sd = FLEXIBLE
    if case is None or len(case.data.y) < FEWEST_ROWS * N_PARTS * GROWN:
        return FLEXIBLE
    quarters, halves = variances_of_parts(case)
    if not (quarters > 0).all() or not (halves > 0).all():
        return FLEXIBLE
    measured = exponent_of_parts(quarters, halves)
    variance = jackknife_error(exponent_of_parts, quarters, halves) ** 2 + NOT_A_POWER**2
    weight = sd**2 / (sd**2 + variance)
    exponent = np.clip(usual + weight * (measured - usual), LEAST, MOST)
    return float(exponent), float(np.sqrt(weight * variance))


def exponent_of_parts(quarters: Array, halves: Array) -> float:
    """Exponent of n by which mean variances fall from quarters to halves of the rows."""
    return float(np.log2(quarters.mean() / halves.mean()))


def variances_of_parts(case: Case) -> tuple[Array, Array]:
    """Variances of fits to quarters and to halves of the rows, one of each per fold."""
    rng, every, sets = case.rng(7), np.arange(len(case.data.y)), []
    for fold in case.folds:
        others = np.setdiff1d(every, fold.rows)
        sets += [part_of(case.coded, part) for part in case.dealt(others, N_PARTS, rng)]
    models, quarters = case.fitted(sets, integer_seed(rng)), []
    for k, fold in enumerate(case.folds):
        x, own = case.data.select(fold.rows).x, models[N_PARTS * k : N_PARTS * (k + 1)]
        each = np.stack([as_columns(case.algorithm.predict([model], x)[0]) for model in own])
        quarters.append(each.var(axis=0, ddof=1).mean())
    halves = [2 * fold.apart.mean() for fold in case.folds]
    return np.array(quarters), np.array(halves)


def _chance(trace: Trace, n: float) -> float:
    """Standard error of the logarithm of the width now: few draws, and noise learned from n rows.

    The width with more rows is compared with it.
    """
    few_draws = jackknife_error(_log_spread, trace.values[:, -1], most_parts=MOST_PARTS)
    return float(np.sqrt(few_draws**2 + 1 / (2 * n)))


def _log_spread(draws: Array) -> float:
    return float(np.log(draws.std(axis=0, ddof=1).mean()))


def exponent_of(trace: Trace) -> Exponent:
    """Exponent a of the variance that is left, and its error: the measured one, shrunk towards 1.

    The fewer the draws, the stronger the shrinkage, as the measured exponent is less certain.
    """

    def exponent(values: Array) -> float:
        return -1 - growth_exponent(Trace(trace.n_rows, values))

    measured = exponent(trace.values)
    variance = jackknife_error(exponent, trace.values, most_parts=MOST_PARTS) ** 2
    if not np.isfinite([measured, variance]).all():
        return REGULAR, SHARE * SPREAD
    weight = SHARE * SPREAD**2 / (SPREAD**2 + variance)
    away = measured - REGULAR
    error = np.sqrt(weight**2 * variance + (SHARE_ERROR * away) ** 2)
    return float(np.clip(REGULAR + weight * away, LEAST, MOST)), float(error)


def _scores(case: Case, times: Array) -> dict[str, Any]:
    """Held-out squared error now, and with more rows by learning curves of several powers."""
    y, whole = case.outcomes, case.gathered("whole")
    own = ((y - whole) ** 2).sum(axis=1)
    half = ((y - case.gathered("halves")) ** 2 + case.gathered("apart")).sum(axis=1)
    shares = case.data.counts / case.data.counts.sum()
    now, gain = float(np.sum(shares * own)), float(np.sum(shares * (half - own)))
    error = float(np.sqrt(np.sum((shares * (half - own - gain)) ** 2)))
    gains = np.maximum([gain + 2 * error, gain, gain - 2 * error], 0.0)
    found = [
        now - each * (1 - (times * GROWN) ** -power) / (2**power - 1)
        for each, power in zip(gains, CURVES, strict=True)
    ]
    low, usual, high = np.maximum(found, 0.0)
    return {"score": now, "scores": usual, "scores_low": low, "scores_high": high}


def _score_words(score: dict[str, Any], case: Case) -> str:
    classes = case.algorithm.traits.classes is not None
    name, root = ("Brier score", 1.0) if classes else ("root mean squared error", 0.5)
    each = zip(score["scores"], score["scores_low"], score["scores_high"], strict=True)
    then = ", ".join(
        f"{usual**root:.3g} ({low**root:.3g} to {high**root:.3g})" for usual, low, high in each
    )
    return (
        f" Among the rows of the fit, held out in turn, the {name} is "
        f"{score['score'] ** root:.3g} now and would be {then}."
    )
