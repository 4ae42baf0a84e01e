r"""Excess error: on simulated tasks, how much closer to the truth the algorithm could have come.

Theorem 1 asks that the excess error over the posterior mean be small beside the posterior variance
(eq. excess-err-defn and the assumption on efficiency):

.. math::

    E(\|\theta_A - \theta_0\|^2 - \|\bar\theta - \theta_0\|^2) \ll E\|\bar\theta - \theta_0\|^2.

A task is a truth :math:`\theta_0`, which is a draw of this posterior, and n rows of it. So the
prior is known: it is this posterior, and the algorithm gets its data, the real rows, beside the new
ones. The posterior mean is at least as close to the truth as the best mixture of the fit and of the
prior mean, which bounds the excess error from below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.jackknife import jackknife_error
from nearbayes.diagnostics.redrawing import replicates
from nearbayes.diagnostics.refitting import Case, as_columns

__all__ = ["ADVICE", "LARGEST", "NAME", "excess_line"]

Array = NDArray[np.float64]
NAME = "excess error"
UNIT = "excess error on simulated tasks, over the error of the posterior mean"
N_TASKS = 8
LARGEST = 1.0  # as large as the error of the posterior mean itself
ADVICE = "Regularise the learner, or use a forest or the default learner."


def excess_line(case: Case) -> Line:
    """Excess error of a fit on tasks simulated from the posterior."""
    tasks = replicates(case, N_TASKS, 6)
    models = case.fitted([_counted(case, task.data) for task in tasks], integer_seed(case.rng(4)))
    x = case.data.x
    fits = np.stack([as_columns(case.algorithm.predict([model], x)[0]) for model in models])
    truths = np.stack([task.truth for task in tasks])
    prior = case.truths.mean
    moved, wanted = (each.reshape(N_TASKS, -1) for each in (fits - prior, truths - prior))
    if not wanted.any():
        return Line(NAME, "unknown", "All draws are the same, so there are no tasks.", unit=UNIT)
    ratio, share = _excess(moved, wanted)
    error = jackknife_error(lambda *left: _excess(*left)[0], moved, wanted)
    details = {
        "fit": ((moved - wanted) ** 2).mean(axis=1),
        "mixture": ((share * moved - wanted) ** 2).mean(axis=1),
        "share": share,
    }
    words = (
        f"On data simulated from the draws, the squared error of the fit is {1 + ratio:.2g} times "
        "that of a posterior mean, or more."
    )
    if ratio > LARGEST and ratio > CLEARLY * error:
        said = f"{words} The algorithm is far from near-optimal on tasks like this one."
        return Line(NAME, "warning", said, ADVICE, ratio, error, UNIT, details)
    if ratio > LARGEST:
        said = f"{words} But this differs too much from task to task to tell."
        return Line(NAME, "unknown", said, "", ratio, error, UNIT, details)
    return Line(NAME, "good", words, "", ratio, error, UNIT, details)


def _excess(moved: Array, wanted: Array) -> tuple[float, float]:
    """Excess of the fit over the best mixture with the prior mean, and the mixture's share."""
    size = float(np.sum(moved**2))
    share = float(np.clip(np.sum(moved * wanted) / size, 0.0, 1.0)) if size else 0.0
    best = np.sum((share * moved - wanted) ** 2)
    return float(np.sum((moved - wanted) ** 2) / best - 1) if best else 0.0, share


def _counted(case: Case, both: Data) -> Data:
    """Real and new rows as a fit takes them: as counts of the real rows where it can."""
    coded, n = case.algorithm.coded(both), len(case.data.y)
    counts = case.algorithm.traits.counts
    merged = Data(case.coded.table, np.tile(case.coded.positions, 2), coded.y, coded.count)
    assert len(coded.y) == 2 * n
    return merged.merge(counts) if counts else merged
