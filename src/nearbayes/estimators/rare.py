"""Rare: warns if a class is predicted so rarely that intervals of its probability do not cover.

A flexible learner that has seen a class a few times memorises those rows: out of fold, it predicts
only a fraction of the class's frequency. Calibrated intervals are wide in units of the draws'
spread, but they are around a prediction that is many times too small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearbayes.core.data import Data
from nearbayes.telling import warn

__all__ = ["RareClassWarning", "warn_of_rare_classes"]

TOO_SELDOM = 0.6  # share of the frequency of a class, out of fold
FEW, RARE = 20, 0.05  # rows of a class, and their share of all


class RareClassWarning(UserWarning):
    """Intervals of a class cannot be trusted, because it is predicted far too rarely."""


def warn_of_rare_classes(algorithm: Any, data: Data) -> None:
    """Warn about classes with few rows, or a much too small mean probability out of fold.

    Call it from `fit`: the warning points at the line that called it.

    Parameters
    ----------
    algorithm : ClassifierAlgorithm
        Prepared, so that it knows its out-of-fold predictions.
    data : Data
        The real rows.
    """
    fitting = getattr(algorithm, "fitting", None)
    if fitting is None or not fitting.traits.calibrate:
        return
    name = type(fitting.last).__name__
    for label, share in zip(algorithm.classes.tolist(), _foreseen(algorithm), strict=True):
        rows = data.counts[np.asarray(data.y == label)].sum()
        why = ""
        if share < TOO_SELDOM:
            why = (
                f" and for rows that it was not fitted to, {name} predicts it {share:.2f} times as "
                "often as it occurs, so its probability is too small nearly everywhere."
            )
        elif rows < FEW and rows < RARE * data.n:
            why = f" too few for {name} to tell what they have in common from chance."
        if why:
            warn(
                f"intervals of class {label!r} cannot be trusted: it has {rows:g} rows,{why} Add "
                "rows of this class, or use a simpler estimator, such as LogisticRegression.",
                RareClassWarning,
            )


def _foreseen(algorithm: Any) -> Any:
    """Mean probability of each class out of fold, divided by its frequency; 1 if not known."""
    learned = algorithm.recalibration
    if learned is None or learned.foreseen is None:
        return np.ones(len(algorithm.classes))
    return learned.foreseen
