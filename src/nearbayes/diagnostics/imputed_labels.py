"""Labels: whether held-out labels have the Brier score of labels that a model imputes.

A model that is too sure of its labels imputes others than the real ones, which have a larger score
then; one that is not sure enough, a smaller one (Spiegelhalter, 1986).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from nearbayes.core.data import Rows
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.refitting import Case, HeldOutFold
from nearbayes.tables.table import Table

__all__ = ["NAME", "SURE", "imputed_at", "labels_line"]

NAME = "noise"
UNIT = "Brier score of held-out labels over that of imputed ones"
N_SAMPLES = 99
SURE = 0.001  # p-value of a kind of tests
LARGEST_RATIO = 0.1  # of Brier scores
SMOOTHER = "Use a smoother learner, or wrap it in sklearn.calibration.CalibratedClassifierCV."
CLOSER = (
    "Use a learner that follows the data more closely (a weaker penalty), or wrap it in "
    "sklearn.calibration.CalibratedClassifierCV."
)


def labels_line(case: Case, rng: Any) -> Line:
    """Brier score of held-out labels against that of labels that the model imputes."""
    real, imputed = [], []
    n_classes = case.outcomes.shape[1]
    for fold in case.folds:
        codes, _ = imputed_at(case, fold, rng)
        chances = np.stack([(codes == k).mean(axis=1) for k in range(n_classes)], axis=1)
        size = (chances**2).sum(axis=1)
        y = case.outcomes[fold.rows[fold.few]]
        real.append(1 + size - 2 * (chances * y).sum(axis=1))
        imputed.append(1 + size[:, None] - 2 * np.take_along_axis(chances, codes, axis=1))
    own, others = np.concatenate(real), np.concatenate(imputed)
    expected = others.mean()
    chance = np.sqrt(others.var(axis=1).sum()) / len(own)
    details = {"real": own, "imputed": others.mean(axis=1)}
    if expected == 0:
        words = "The model imputes labels without any doubt."
        bad = own.mean() > 0
        said = f"{words} Held-out labels are often others." if bad else words
        return Line(NAME, "warning" if bad else "good", said, SMOOTHER if bad else "", unit=UNIT)
    ratio, error = float(own.mean() / expected), float(chance / expected)
    words = f"Held-out labels have {ratio:.2f} times the Brier score of imputed ones."
    if abs(ratio - 1) > max(LARGEST_RATIO, stats.norm.isf(SURE / 2) * error):
        doubt, advice = ("too sure", SMOOTHER) if ratio > 1 else ("not sure enough", CLOSER)
        said = f"{words} The model is {doubt} of the labels that it imputes."
        return Line(NAME, "warning", said, advice, ratio, error, UNIT, details)
    return Line(NAME, "good", words, "", ratio, error, UNIT, details)


def imputed_at(case: Case, fold: HeldOutFold, rng: Any) -> tuple[Any, Table]:
    """Outcomes imputed at the rows to look at, `N_SAMPLES` per row, and those rows."""
    x = case.data.select(fold.rows[fold.few]).x
    n = len(fold.few)
    samples = np.asarray(fold.predictive.sample(Rows.repeated(x, np.full(n, N_SAMPLES)), rng))
    return samples.reshape(n, N_SAMPLES, *samples.shape[1:]), x
