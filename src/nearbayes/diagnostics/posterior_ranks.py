r"""Calibration: posterior simulation-based calibration (Säilynoja et al., arXiv 2502.03279).

Take a draw as the truth, replicate the rows from it, draw the posterior of real and replicated rows
together, and rank the truth among its draws. If the posterior is self-consistent, ranks are
uniform. It is asked where the real data are, not all over a prior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.redrawing import Draw, replicates
from nearbayes.diagnostics.refitting import Case
from nearbayes.methods.tracing import evenly

__all__ = ["NAME", "calibration_line"]

Array = NDArray[np.float64]
NAME = "calibration"
UNIT = "share of truths in 80 % intervals of posteriors of replicated rows"
N_SETS, N_DRAWS = 20, 19
CENTRAL = 0.8
LARGEST = 0.1
MOST_ROWS = 16
N_BINS = 5
SURE = 0.01  # chance that a bar is outside its band


def calibration_line(case: Case, draw: Draw) -> Line:
    """Ranks of known truths among the draws of posteriors of real and replicated rows."""
    rng = case.rng(5)
    few = evenly(len(case.data.y), MOST_ROWS)
    x = case.data.select(few).x
    ranks = []
    for task in replicates(case, N_SETS, 5):
        again = draw(
            getattr(case.algorithm, "algorithm", case.algorithm),
            task.data,
            n_draws=N_DRAWS,
            random_state=integer_seed(rng),
            progress=False,
        )
        values = case.spread_of(again, x).reshape(len(again), len(few), -1)
        below = (values < task.truth[few]).sum(axis=0)
        ties = (values == task.truth[few]).sum(axis=0)
        ranks.append((below + rng.random(below.shape) * (ties + 1)) / (len(again) + 1))
    calibrated = case.posterior.calibration is not None
    return _line(np.array(ranks).reshape(N_SETS, -1), calibrated)


def _line(ranks: Array, calibrated: bool = False) -> Line:
    """The verdict on ranks, shape (n_sets, n_quantities), in (0, 1).

    Calibrated intervals allow for a bias that draws taken as truths need not have, so that they may
    well hold more of these truths than they say.
    """
    inside = (np.abs(2 * ranks - 1) <= CENTRAL).mean(axis=1)
    covered = float(inside.mean())
    error = float(inside.std(ddof=1) / np.sqrt(len(ranks)))
    counts = np.histogram(ranks, bins=N_BINS, range=(0, 1))[0] / ranks.size
    # quantities of one set go together: the band is that of as many ranks as there are sets
    tail = SURE / 2 / N_BINS
    low, high = stats.binom.ppf([tail, 1 - tail], len(ranks), 1 / N_BINS) / len(ranks)
    details = {"shares": counts, "low": low, "high": high, "ranks": ranks}
    words = f"{CENTRAL:.0%} intervals hold {covered:.0%} of known truths."
    simulation = "" if calibrated else "calibration='simulation', or "
    if abs(covered - CENTRAL) > max(LARGEST, CLEARLY * error):
        if covered > CENTRAL and calibrated:
            said = f"{words} Calibration makes intervals wider than these truths need."
            return Line(NAME, "good", said, "", covered, error, UNIT, details)
        way = "narrow" if covered < CENTRAL else "wide"
        said = f"{words} Intervals are too {way}."
        advice = f"Use {simulation}another learner."
        return Line(NAME, "warning", said, advice, covered, error, UNIT, details)
    outside = (counts < low) | (counts > high)
    if outside.any():
        said = f"{words} But truths lie on one side of the draws more often than chance allows."
        advice = f"Use {simulation}a learner with less bias."
        return Line(NAME, "warning", said, advice, covered, error, UNIT, details)
    return Line(
        NAME,
        "good",
        f"{words} Ranks are as even as chance among {len(ranks)} data sets allows.",
        "",
        covered,
        error,
        UNIT,
        details,
    )
