r"""Efficiency: whether the algorithm leaves something to gain that its own fits could have had.

Theorem 1 asks that the excess error over the Bayes posterior mean (eq. excess-err-defn) be small
beside the spread. The Bayes mean is not known, but no algorithm that uses its rows well can lose
against the mean of two of its own fits to halves of them: that mean has seen the same rows, and a
variance that falls as 1/n is the same for both. So

.. math:: \mathrm{excess} \ge E|y - f_n|^2 - E|y - \tfrac12 (f_{n/2} + f'_{n/2})|^2,

on held-out real rows, is a lower bound of the excess error. Fits that copy the noise of single rows
gain a quarter of their error and more by such a mean, good ones lose a little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.refitting import Case

__all__ = ["NAME", "efficiency_line", "gains_by_halves"]

Array = NDArray[np.float64]
NAME = "efficiency"
UNIT = "share of the held-out squared error that a mean of two half fits removes"
LARGEST = 0.1
NO_ERROR = 1e-12  # of the variance of outcomes


def efficiency_line(case: Case) -> Line:
    """Share of the held-out squared error that the mean of two fits to halves would remove."""
    own, mean = _errors(case)
    gain, error = _gain(case)
    if own.mean() <= NO_ERROR * case.outcomes.var():
        words = "Held-out rows are predicted without error."
        advice = "Check that no column is a copy of the outcome, or known only after it."
        return Line(NAME, "good", words, advice, 0.0, 0.0, UNIT)
    details = {"whole": own, "halves": mean, "gain": gain, "error": error}
    if gain > LARGEST and gain > CLEARLY * error:
        words = (
            "The mean of two fits, each to one half of the rows, predicts held-out rows better "
            f"than the fit to all of them, by {gain:.0%} of the squared error: the learner does "
            "not use its rows well."
        )
        advice = (
            "Regularise the learner (larger leaves, more neighbours, early stopping) or use a "
            "forest or the default learner."
        )
        return Line(NAME, "warning", words, advice, gain, error, UNIT, details)
    words = "The learner uses its rows well: the mean of two fits to halves predicts no better."
    if gain > max(0.0, error):
        words = (
            "The mean of two fits to halves predicts held-out rows better by "
            f"{gain:.0%} ± {error:.0%} of the squared error, which may be chance or is little."
        )
    return Line(NAME, "good", words, "", gain, error, UNIT, details)


def gains_by_halves(case: Case) -> bool:
    """Whether the mean of two fits to halves predicts better, by more than chance."""
    gain, error = _gain(case)
    return gain > 2 * error


def _errors(case: Case) -> tuple[Array, Array]:
    """Squared errors at held-out rows of the fit to all other rows, and of the mean of halves."""
    y = case.outcomes
    own = ((y - case.gathered("whole")) ** 2).sum(axis=1)
    return own, ((y - case.gathered("halves")) ** 2).sum(axis=1)


def _gain(case: Case) -> tuple[float, float]:
    """Share of the squared error that the mean of halves removes, and its standard error."""
    own, mean = _errors(case)
    weights = case.data.counts
    size = np.average(own, weights=weights)
    if size == 0:
        return 0.0, 0.0
    gain = float(np.average(own - mean, weights=weights) / size)
    return gain, _error_of_ratio(own - mean, own, gain, weights)


def _error_of_ratio(part: Array, whole: Array, ratio: float, weights: Array) -> float:
    """Standard error of a ratio of two means over rows."""
    size = np.average(whole, weights=weights)
    shares = weights / weights.sum()
    return float(np.sqrt(np.sum((shares * (part - ratio * whole)) ** 2)) / size)
