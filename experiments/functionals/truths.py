"""Truths with a treatment: five normal inputs, and a binary one that depends on the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
TREATMENT = 5


@dataclass(frozen=True)
class TreatedTruth:
    """A regression function with normal noise, or the probability of class 1.

    Attributes
    ----------
    function : callable
        Of rows with six columns, the last of which is the treatment, 0 or 1.
    is_class : bool
    """

    function: Callable[[Array], Array]
    is_class: bool = False

    def simulated(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Rows and outcomes; the treatment is likelier where the first input is large."""
        X = rng.normal(size=(n, TREATMENT + 1))
        X[:, TREATMENT] = rng.random(n) < expit(X[:, 0])
        mean = self.function(X)
        if self.is_class:
            return X, np.asarray(rng.random(n) < mean).astype(np.float64)
        return X, mean + rng.normal(size=n)

    def predict(self, X: Array) -> Array:
        """The truth, as an estimator would predict it."""
        return self.function(X)


def _smooth(x: Array) -> Array:
    return np.sin(2 * x[:, 0]) + x[:, 1] ** 2 / 2 + x[:, TREATMENT] * (1 + x[:, 2] / 2)


def _steps(x: Array) -> Array:
    return 2.0 * (x[:, 0] > 0) + x[:, 1] * x[:, 2] + 0.7 * x[:, TREATMENT]


def _class(x: Array) -> Array:
    score = 1.5 * x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.8 * x[:, TREATMENT] - 0.4
    return np.asarray(expit(score))


TRUTHS = {
    "number, smooth": TreatedTruth(_smooth),
    "number, steps": TreatedTruth(_steps),
    "class": TreatedTruth(_class, is_class=True),
}
