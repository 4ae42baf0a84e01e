r"""Drift: whether the expected refit moves the quantities of interest.

Asm. approx-martingale: :math:`E_{\hat z \sim p_\theta} A(\theta, \hat z) = \theta`, nearly. The
mean over draws of where paths end, less where they start, is its sum over all refits. It is
measured in standard deviations of the posterior as its intervals show it: a bias of half of one
costs a 90 % interval 5 % of its coverage. Calibration by simulation counts that bias among the
errors that its intervals have to cover, so that only a larger one is a fault.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.finished_paths import without_finish
from nearbayes.draws.credible import reach_of
from nearbayes.draws.path_trace import Trace

__all__ = ["NAME", "drift_line", "growth_exponent", "untraced"]

Array = NDArray[np.float64]
NAME = "martingale drift"
UNIT = "posterior sds"
LARGEST, LARGEST_CALIBRATED = 0.5, 1.0
REGULAR, STRANGE = -2.0, 2.0  # an exponent further away is chance, or follows no power
FEWEST_DRAWS = 8
COVERAGE = 0.9  # of the intervals whose width is the measure


def drift_line(posterior: Posterior) -> Line:
    """Root mean square over quantities of the drift, in posterior standard deviations."""
    trace = posterior.trace
    reason = untraced(trace)
    if trace is None or reason:
        return Line(NAME, "unknown", reason, unit=UNIT)
    sd = _widening(posterior) * trace.values[:, -1].std(axis=0, ddof=1)
    if not sd.any():
        words = "Refits on imputed rows change no draw."
        return Line(NAME, "warning", words, STUCK, 0.0, unit=UNIT)
    drift, chance = _of(trace.values[:, -1] - trace.values[:, 0], sd)
    steps = [_of(each, sd) for each in np.diff(trace.values, axis=1).swapaxes(0, 1)]
    exponent = growth_exponent(without_finish(posterior, trace))
    details = {
        "n_rows": trace.n_rows[1:],
        "drift": np.array([each[0] for each in steps]),
        "chance": np.array([each[1] for each in steps]),
        "law": exponent,
    }
    words = (
        f"On average, refits on imputed rows shift predictions by {drift:.2g} standard deviations "
        "of the posterior in all"
    )
    law = f" Variances of steps fall as n^{exponent:.1f} (n^-2 in theory)."
    law = law if abs(exponent - REGULAR) <= STRANGE else ""
    calibrated = posterior.calibration is not None
    if drift > (LARGEST_CALIBRATED if calibrated else LARGEST) and drift > CLEARLY * chance:
        said = f"{words}, so that intervals are off centre: the draws are no martingale.{law}"
        advice = "Tune the learner or use fewer refits"
        advice += "." if calibrated else ", or calibration='simulation', which allows for it."
        return Line(NAME, "warning", said, advice, drift, chance, UNIT, details)
    reason = "may be chance" if not calibrated else "calibrated intervals allow for"
    allowed = reason if drift > LARGEST else "is little"
    return Line(NAME, "good", f"{words}, which {allowed}.{law}", "", drift, chance, UNIT, details)


STUCK = "Use a learner whose fit follows the data, or inputs other than the urn."


def _widening(posterior: Posterior) -> float:
    """How much wider intervals are than the draws alone would make them."""
    if posterior.calibration is None:
        return posterior.inflation
    n_draws = len(posterior)
    return posterior.calibration.factor(COVERAGE, n_draws) / reach_of(COVERAGE, n_draws)


def untraced(trace: Trace | None) -> str:
    """Why paths cannot be diagnosed; empty if they can."""
    if trace is None:
        return "No path was noted: this method or model has none, or the file is an old one."
    if len(trace.values) < FEWEST_DRAWS:
        return f"At least {FEWEST_DRAWS} draws are needed, got {len(trace.values)}."
    if len(trace.n_rows) < 2:
        return "There is no refit to look at."
    return ""


def _of(change: Array, sd: Array) -> tuple[float, float]:
    """Rms over quantities of the mean change less what chance adds, and that chance."""
    scale = np.mean(sd**2)
    chance = np.mean(change.var(axis=0, ddof=1)) / len(change) / scale
    square = np.mean(change.mean(axis=0) ** 2) / scale
    return float(np.sqrt(max(0.0, square - chance))), float(np.sqrt(chance))


def growth_exponent(trace: Trace) -> float:
    """Exponent of n in the variance of increments per imputed row; -2 in regular models."""
    rows, blocks = trace.n_rows[1:], np.diff(trace.n_rows)
    variance = np.diff(trace.values, axis=1).var(axis=0, ddof=1).mean(axis=1)
    moves = variance > 0
    if moves.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(rows[moves]), np.log(variance[moves] / blocks[moves]), 1)[0])
