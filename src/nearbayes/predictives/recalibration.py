r"""Recalibration: corrects the probabilities from which labels are imputed.

A flexible classifier is overconfident at the rows it was fitted to, and one with class weights
predicts other frequencies than those in the data. Labels imputed from such probabilities repeat the
error at every refit. So they are imputed from

.. math:: \mathrm{softmax}(a \log \tilde p + b), \quad \tilde p = \frac{n p + 1/2}{n + K/2},

where the slope a is the maximum likelihood estimate for out-of-fold predictions, and the shifts b
make the mean of imputed probabilities over the real rows the frequencies of the classes. This is
for classes what noise from out-of-fold residuals is for numbers (`noise.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold, StratifiedKFold

from nearbayes.core.data import Data
from nearbayes.core.seeds import integer_seed
from nearbayes.tables.table import Table

__all__ = ["ENOUGH_ROWS", "Recalibration", "learn_recalibration"]

Array = NDArray[np.float64]
Rng = np.random.Generator
N_FOLDS = 5
ENOUGH_ROWS = 2_000  # rows out of fold: a slope and shifts need no more, and large fits are slow
PULL = 1.0  # weight of the identity in rows, against few or separable rows
MOST_ROUNDS, CLOSE = 200, 1e-6
SMALLEST = 1e-12


@dataclass(frozen=True)
class Recalibration:
    """A slope and shifts for the logarithms of class probabilities.

    Attributes
    ----------
    slope : float
        Below 1 for an overconfident fit.
    shift : array of shape (n_classes,)
    n : float
        Real rows: probabilities are kept half a row away from 0.
    foreseen : array of shape (n_classes,), optional
        Mean probability of each class out of fold, divided by its frequency.

    Examples
    --------
    >>> plain = Recalibration(1.0, np.zeros(2), n=100.0)
    >>> plain.applied(np.array([[0.0, 1.0]])).round(3).tolist()
    [[0.005, 0.995]]
    """

    slope: float
    shift: Array
    n: float
    foreseen: Array | None = None

    def applied(self, probabilities: Array) -> Array:
        """Probabilities to impute labels from, shape (n_rows, n_classes)."""
        return np.asarray(softmax(self.slope * _logs(probabilities, self.n) + self.shift, axis=1))


def learn_recalibration(
    fit: Callable[[Data, Rng], Any],
    predict: Callable[[Any, Table], Array],
    data: Data,
    n_classes: int,
    rng: Rng,
    *,
    with_slope: bool = True,
    enough: int = ENOUGH_ROWS,
) -> Recalibration:
    """Learn slope and shifts from real rows.

    Parameters
    ----------
    fit, predict : callable
        ``fit(data, rng)`` gives a model, ``predict(model, x)`` its probabilities.
    data : Data
        Real rows with class codes.
    n_classes : int
    rng : numpy.random.Generator
    with_slope : bool
        Whether to learn the slope; 1 otherwise, for linear models and for models with class
        weights, which shifts mostly correct.
    enough : int
        Sufficient number of rows out of fold.
    """
    slope, foreseen = 1.0, None
    if with_slope:
        logs, tested = _out_of_fold_logs(fit, predict, data, n_classes, rng, enough)
        y, counts = data.y[tested], data.counts[tested]
        slope = _most_likely_slope(logs, y, counts)
        frequency = np.bincount(y, counts, minlength=n_classes)
        foreseen = counts @ np.exp(logs) / np.maximum(frequency, SMALLEST)
    fitted = _logs(predict(fit(data, rng), data.x), data.n)
    return Recalibration(slope, _matched_shift(slope * fitted, data, n_classes), data.n, foreseen)


def _logs(probabilities: Array, n: float) -> Array:
    """Logarithms of probabilities, half a row away from 0."""
    n_classes = probabilities.shape[1]
    return np.asarray(np.log((n * probabilities + 0.5) / (n + 0.5 * n_classes)))


def _out_of_fold_logs(
    fit: Callable[[Data, Rng], Any],
    predict: Callable[[Any, Table], Array],
    data: Data,
    n_classes: int,
    rng: Rng,
    enough: int,
) -> tuple[Array, NDArray[np.intp]]:
    """Logarithms of probabilities of rows by models that were not fitted to them, and these rows.

    Folds are left out once there are enough rows, so that large data cost one more fit, not five.
    """
    n = len(data.y)
    seen = np.bincount(data.y)
    kind = StratifiedKFold if seen[seen > 0].min() >= N_FOLDS else KFold
    folds = kind(min(N_FOLDS, n), shuffle=True, random_state=integer_seed(rng))
    logs, tested = np.empty((n, n_classes)), np.zeros(n, dtype=bool)
    for train, test in folds.split(np.zeros(n), data.y):
        kept = data.select(train)
        model, rows = fit(kept, rng), data.select(test).rows()
        found = [predict(model, part.distinct) for part in rows.pieces()]
        logs[test] = _logs(np.concatenate(found), kept.size)
        tested[test] = True
        if tested.sum() >= enough:
            break
    found_at = np.flatnonzero(tested)
    return logs[found_at], found_at


def _most_likely_slope(logs: Array, y: NDArray[np.intp], weights: Array) -> float:
    """Maximum likelihood of slope and shifts; a ridge penalty pulls both to the identity."""
    n_classes = logs.shape[1]
    one_hot = np.eye(n_classes)[y]

    def loss(parameters: Array) -> tuple[float, Array]:
        slope, shift = np.exp(parameters[0]), parameters[1:]
        scores = slope * logs + shift
        missed = weights[:, None] * (softmax(scores, axis=1) - one_hot)
        value = -np.sum(weights[:, None] * one_hot * log_softmax(scores, axis=1))
        gradient = np.append(slope * np.sum(missed * logs), missed.sum(axis=0))
        return value + PULL * np.sum(parameters**2) / 2, gradient + PULL * parameters

    found = minimize(loss, np.zeros(1 + n_classes), jac=True, method="L-BFGS-B")
    return float(np.exp(found.x[0]))


def _matched_shift(scores: Array, data: Data, n_classes: int) -> Array:
    """Shifts with which mean probabilities are the frequencies of the classes."""
    weights = data.counts / data.size
    wanted = np.bincount(data.y, data.counts, minlength=n_classes)
    frequencies = np.log((wanted + 0.5) / (wanted + 0.5).sum())
    shift = np.zeros(n_classes)
    for _ in range(MOST_ROUNDS):
        gap = frequencies - np.log(weights @ softmax(scores + shift, axis=1))
        shift = shift + gap
        if np.abs(gap).max() < CLOSE:
            break
    return shift
