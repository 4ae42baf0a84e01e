r"""Forecast: what more rows would buy.

The loop has simulated larger data already. If the variance of increments per imputed row falls as
:math:`m^{-(1 + a)}` with m rows, the variance that is left at m falls as :math:`m^{-a}`, and widths
of intervals as :math:`m^{-a/2}`; a = 1 in regular models (App. C). The exponent is measured along
the paths. Where it is far from 1, the learner grows with its rows, and on imputed rows, which hold
no more than the last fit, differently than on real ones: boosted trees of real data sets go about a
third of the way from 1 to what their paths show (experiments/diagnostics). Held-out squared error
loses what the posterior variance loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import is_whole
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.drift import growth_exponent, untraced
from nearbayes.diagnostics.finished_paths import without_finish
from nearbayes.diagnostics.refitting import CannotTellError, Case
from nearbayes.draws.path_trace import Trace

__all__ = ["NAME", "forecast_line", "rows_of"]

Array = NDArray[np.float64]
NAME = "more data"
REGULAR = 1.0
SHARE, SHARE_ERROR = 0.35, 0.1  # of the way from 1 to the exponent of the paths
SPREAD = 0.8  # of such exponents around 1, over learners and data sets
LEAST, MOST = 0.0, 2.0


def rows_of(at: Any, n: float) -> Array:
    """Numbers of rows: floats are multiples of n, integers are rows.

    Examples
    --------
    >>> rows_of((2.0, 500), 100.0).tolist()
    [200.0, 500.0]
    """
    values = [at] if np.ndim(at) == 0 else list(at)
    rows = [float(each) if is_whole(each) else float(each) * n for each in values]
    if not rows or not all(np.isfinite(each) and each > 0 for each in rows):
        raise ValueError(
            f"at must be numbers of rows, or multiples of n such as (2.0, 5.0), got {at!r}."
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
    exponent, error = exponent_of(without_finish(posterior, trace))
    ratio = (rows / n) ** (-exponent / 2)
    low = (rows / n) ** (-min(MOST, exponent + 2 * error) / 2)
    high = (rows / n) ** (-max(LEAST, exponent - 2 * error) / 2)
    ends = np.sort(np.stack([low, high]), axis=0)
    details = {"n": n, "rows": rows, "ratio": ratio, "low": ends[0], "high": ends[1]}
    parts = [f"{r:.0%} at {m:,.0f} rows" for r, m in zip(ratio, rows, strict=True)]
    words = f"Intervals would have this part of their width: {', '.join(parts)}."
    if case is not None:
        score = _scores(case, (rows / n) ** -exponent)
        details |= score
        words += _score_words(score, case) if score else ""
    spread = float(np.abs(np.log(rows[0] / n)) * error / 2 * ratio[0])
    return Line(NAME, "forecast", words, "", float(ratio[0]), spread, unit, details)


def exponent_of(trace: Trace) -> tuple[float, float]:
    """Exponent a of the variance that is left, and its error: the measured one, drawn to 1.

    The draw is stronger where few draws make the measured exponent uncertain.
    """
    n_draws = len(trace.values)
    parts = np.array_split(np.arange(n_draws), min(n_draws, 10))
    left = [
        growth_exponent(Trace(trace.n_rows, np.delete(trace.values, part, axis=0)))
        for part in parts
    ]
    measured = -1 - growth_exponent(trace)
    if not np.isfinite([measured, *left]).all():
        return REGULAR, SHARE * SPREAD
    variance = (len(parts) - 1) * np.var(left)
    weight = SHARE * SPREAD**2 / (SPREAD**2 + variance)
    away = measured - REGULAR
    error = np.sqrt(weight**2 * variance + (SHARE_ERROR * away) ** 2)
    return float(np.clip(REGULAR + weight * away, LEAST, MOST)), float(error)


def _scores(case: Case, left: Array) -> dict[str, Any]:
    """Held-out squared error now and with more rows, root of it for numbers."""
    now = float(
        np.average(
            ((case.outcomes - case.gathered("whole")) ** 2).sum(axis=1), weights=case.data.counts
        )
    )
    try:
        spread = min(case.spread, now)
    except CannotTellError:
        return {}
    then = now - spread * (1 - left)
    return {"score": now, "scores": then}


def _score_words(score: dict[str, Any], case: Case) -> str:
    classes = case.algorithm.traits.classes is not None
    name, root = ("Brier score", 1.0) if classes else ("root mean squared error", 0.5)
    then = ", ".join(f"{value**root:.3g}" for value in score["scores"])
    return (
        f" Among the rows of the fit, held out in turn, the {name} is "
        f"{score['score'] ** root:.3g} now and would be {then}."
    )
