"""Cases: learners that the diagnosis must warn about, and learners that it must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from experiments.coverage.experiment import TREES, VALIDATION
from experiments.coverage.measures import Array
from experiments.coverage.truths import TRUTHS, Truth

CURVED = tuple(f"number, {name}" for name in ("smooth", "interactions", "steps", "high noise"))


def _line(x: Array) -> Array:
    return 1.5 * x[:, 0] - x[:, 1]


def _even(x: Array, rng: np.random.Generator) -> Array:
    return rng.normal(size=len(x))


def _growing(x: Array, rng: np.random.Generator) -> Array:
    return rng.normal(size=len(x)) * np.exp(x[:, 0] / 2)


def _skewed(x: Array, rng: np.random.Generator) -> Array:
    return rng.exponential(size=len(x)) - 1


def _in_the_middle(x: Array, rng: np.random.Generator) -> Array:
    return rng.normal(size=len(x)) * np.where(np.abs(x[:, 0]) < 0.67, 3.0, 0.3)


def _bent(x: Array) -> Array:
    return 2 * np.sin(2 * x[:, 0]) + x[:, 1]


LINES = (Truth(_line, noise=_even), Truth(_line, 10, noise=_even))
WRONG = (Truth(_line, noise=_growing), Truth(_line, noise=_skewed))
MIDDLE = (Truth(_line, noise=_in_the_middle),)
BENT = (Truth(_bent, noise=_even),)
CLASSES = tuple(f"class, {name}" for name in ("smooth", "interactions", "steps", "high noise"))
INTERPOLATING = {"n_estimators": 300, "max_depth": 8, "learning_rate": 0.3} | {
    "min_child_weight": 0,
    "reg_lambda": 0,
}


@dataclass(frozen=True)
class Case:
    """A learner, truths that replications take in turn, and whether a warning is due.

    Attributes
    ----------
    learner : callable
        Makes the learner.
    truths : tuple of Truth
    must_warn : bool
    stops : bool
        Whether the first quarter of the rows is for early stopping.
    noise : str
        The noise that the user asks for.
    """

    learner: Callable[[], Any]
    truths: tuple[Truth, ...]
    must_warn: bool
    stops: bool = False
    noise: str = "auto"

    def truth(self, split: int) -> Truth:
        """The truth of a replication."""
        return self.truths[split % len(self.truths)]

    def model(self, n_draws: int, seed: int, **options: Any) -> Any:
        """The posterior to fit, with default settings unless others are given."""
        given = {"random_state": seed, "progress": False, **options}
        if self.truths[0].is_class:
            return nb.PosteriorClassifier(self.learner(), n_draws=n_draws, **given)
        given["noise"] = self.noise
        return nb.PosteriorRegressor(self.learner(), n_draws=n_draws, **given)

    def rows(self, X: Array, y: Array) -> tuple[Array, Array, dict[str, Any]]:
        """Rows to fit to, and what `fit` needs beside them."""
        if not self.stops:
            return X, y, {}
        stop = round(VALIDATION * len(y))
        return X[stop:], y[stop:], {"eval_set": [(X[:stop], y[:stop])]}


def _classes() -> tuple[Truth, ...]:
    return tuple(TRUTHS[name] for name in CLASSES)


def _curved() -> tuple[Truth, ...]:
    return tuple(TRUTHS[name] for name in CURVED)


NEIGHBOURS = "5 neighbours"  # whose variance does not fall with n; for forecasts alone
CASES = {
    "1-nearest neighbour": Case(lambda: KNeighborsRegressor(1), _curved(), True),
    "deep tree": Case(lambda: DecisionTreeRegressor(random_state=0), _curved(), True),
    "wrong noise": Case(LinearRegression, WRONG, True, noise="gaussian"),
    "noise in the middle": Case(LinearRegression, MIDDLE, True),
    "line through a curve": Case(LinearRegression, BENT, True),
    "interpolating classifier": Case(
        lambda: XGBClassifier(**INTERPOLATING, n_jobs=1), _classes(), True
    ),
    "1-nearest neighbour, classes": Case(lambda: KNeighborsClassifier(1), _classes(), True),
    "linear regression": Case(LinearRegression, LINES, False),
    "tuned boosted tree": Case(lambda: XGBRegressor(**TREES, n_jobs=1), _curved(), False, True),
    "Gaussian process": Case(nb.gp.EmpiricalBayesGP, _curved(), False),
    "logistic regression": Case(LogisticRegression, (Truth(_line), Truth(_line, 10)), False),
    "tuned boosted classifier": Case(
        lambda: XGBClassifier(**TREES, n_jobs=1), _classes(), False, True
    ),
    NEIGHBOURS: Case(KNeighborsRegressor, _curved(), False),
    "default learner": Case(lambda: None, _curved(), False),
    "default learner, classes": Case(lambda: None, _classes(), False),
}
