"""Coverage and width of 90 % intervals of a probability or a regression function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from experiments.coverage.truths import TRUTHS, Truth
from experiments.runner.records import Record, Unit
from nearbayes.metrics import coverage, width

Array = NDArray[np.float64]

SIZES = (200, 400, 2_000)
NAMES = tuple(f"{name}, n={n}" for n in SIZES for name in TRUTHS)
METHODS = ("martingale", "bootstrap", "bart")
# early stopping on a quarter of the rows chooses the number of rounds
TREES = {"max_depth": 3, "learning_rate": 0.1, "n_estimators": 500, "early_stopping_rounds": 20}
VALIDATION = 0.25
N_POINTS = 500
LEVEL = 0.9


@dataclass(frozen=True)
class Coverage:
    """Truths and sizes in turn; a split is a replication."""

    data_sets: tuple[str, ...] = NAMES
    measured: tuple[str, ...] = METHODS
    n_splits: int = 2
    n_draws: int = 50
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, **TREES}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """BART for regression functions only."""
        bart = not _truth(unit).is_class
        return [name for name in self.measured if name != "bart" or bart]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit, and measure the coverage of intervals at new points."""
        truth = _truth(unit)
        rng = np.random.default_rng(_seed(unit))
        X = truth.inputs(_n(unit), rng)
        y = truth.outcomes(X, rng)
        points = truth.inputs(N_POINTS, rng)
        known = truth.function(points)
        if truth.is_class:
            known = expit(known)
        if method == "bart":
            from experiments.coverage.bart import bart_interval  # needs the experiments extra

            return _scored(known, {"raw": bart_interval(X, y, points, LEVEL, unit.split)})
        model = _fitted(truth, method, X, y, self.n_draws, unit.split)
        intervals = {
            "raw": _interval(model, points, adjust=False),
            "calibrated": _interval(model, points, adjust=True),
        }
        if method == "martingale":
            intervals["inflated"] = _select(model, model.posterior_.interval(points, LEVEL))
        return {
            **_scored(known, intervals),
            "factor": model.calibration_.factor(LEVEL),
            "factor_error": model.calibration_.error(LEVEL),
            "cost": 1 + model.calibration_.seconds / _seconds(model),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {_seed(unit)}"


def _name(unit: Unit) -> str:
    return unit.data_set.rpartition(", n=")[0]


def _n(unit: Unit) -> int:
    return int(unit.data_set.rpartition("=")[2])


def _truth(unit: Unit) -> Truth:
    return TRUTHS[_name(unit)]


def _seed(unit: Unit) -> list[int]:
    return [unit.split, _n(unit), list(TRUTHS).index(_name(unit))]


def _fitted(truth: Truth, method: str, X: Array, y: Array, n_draws: int, seed: int) -> Any:
    stop = round(VALIDATION * len(y))
    face = nb.PosteriorClassifier if truth.is_class else nb.PosteriorRegressor
    trees = XGBClassifier(**TREES) if truth.is_class else XGBRegressor(**TREES)
    return face(
        trees,
        method=method,
        n_draws=n_draws,
        calibration="simulation",
        random_state=seed,
        progress=False,
    ).fit(X[stop:], y[stop:], eval_set=[(X[:stop], y[:stop])])


def _interval(model: Any, points: Array, *, adjust: bool) -> Array:
    kind = {} if hasattr(model, "classes_") else {"kind": "credible"}
    return _select(model, model.predict_interval(points, LEVEL, adjust=adjust, **kind))


def _select(model: Any, bounds: Array) -> Array:
    """Bounds of the second class, or of the regression function."""
    return bounds[:, 1] if hasattr(model, "classes_") else bounds


def _seconds(model: Any) -> float:
    """Time of the draws in one process."""
    seconds = model.posterior_.provenance.seconds
    return seconds["per_draw"] * len(model.posterior_) + seconds["first_fit"]


def _scored(known: Array, intervals: Mapping[str, Array]) -> Record:
    return {
        f"{name} {what}": float(score(*arguments))
        for name, bounds in intervals.items()
        for what, score, arguments in (
            ("coverage", coverage, (known, bounds)),
            ("width", width, (bounds,)),
        )
    }
