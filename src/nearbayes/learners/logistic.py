"""Logistic: class probabilities of the smooth model, and their blend with those of trees."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from nearbayes.learners.boosting import all_classes
from nearbayes.learners.ridge import prior_precisions
from nearbayes.tables.table import Table

__all__ = ["blend", "class_precisions", "class_probabilities", "logistic"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
SMALLEST = 1e-7  # probability
MOST_NEWTON = 400  # with more coefficients, Newton's method is slower
LEAST = 1e-6  # of a precision


def logistic(functions: Array, codes: Codes, weights: Array) -> LogisticRegression:
    """Logistic regression with a penalty of half the squared coefficients."""
    n_coefficients = functions.shape[1] * len(np.unique(codes))
    solver = "newton-cholesky" if n_coefficients <= MOST_NEWTON else "lbfgs"
    model = LogisticRegression(C=1.0, solver=solver, max_iter=200, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(functions, codes, sample_weight=weights)


def class_probabilities(model: Any, rows: Table, n_classes: int) -> Array:
    """Probabilities of all classes, including those that a fit has not seen."""
    return all_classes(model.predict_proba(rows), model.classes_, n_classes)


def blend(smooth: Array, trees: Array, share: float) -> Array:
    """Probabilities whose logarithms are a weighted mean of two others.

    Examples
    --------
    >>> blend(np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]]), 0.5).round(2).tolist()
    [[0.33, 0.67]]
    """
    logs = [np.log(np.maximum(each, SMALLEST)) for each in (smooth, trees)]
    return np.asarray(softmax(share * logs[0] + (1 - share) * logs[1], axis=1))


def class_precisions(
    functions: Array, codes: Codes, weights: Array, groups: Codes, n_classes: int
) -> Array:
    r"""Precisions of coefficients of log-odds, from a linear model of the probabilities.

    A slope b of a probability p is about :math:`b / (p (1 - p))` in log-odds.
    """
    marks = np.eye(n_classes)[codes]
    marks = marks[:, 1:] if n_classes == 2 else marks
    precisions, noise = prior_precisions(functions, marks, weights, groups)
    shares = np.average(marks, axis=0, weights=weights)
    information = max(float(np.mean(shares * (1 - shares))), SMALLEST)
    return np.asarray(
        np.maximum(precisions * information**2 / max(noise, LEAST * information), LEAST)
    )
