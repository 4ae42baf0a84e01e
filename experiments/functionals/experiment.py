"""Coverage and width of 90 % intervals of functionals of a boosted tree, where they are known."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from experiments.functionals.truths import TREATMENT, TRUTHS, Array
from experiments.runner.records import Record, Unit

N = 400
LEVEL = 0.9
TREES = {"n_estimators": 60, "max_depth": 3, "learning_rate": 0.1}
LEARNER = "XGBoost, 60 rounds"
SPREADS = ("raw", "inflated", "calibrated")
N_AVERAGED = 100  # rows of a partial dependence
DEPENDENCES = ((0, -1.0), (0, 1.0), (1, 0.0), (2, 0.8), (3, 0.0))  # column and value
PAIRS = (  # inputs of two predictions; what is not named is 0
    ({0: 1.0}, {0: -1.0}),
    ({0: 0.5, 1: 1.0}, {0: 0.5, 1: 0.0}),
    ({0: 0.5, 1: 0.5, 5: 1.0}, {0: 0.5, 1: 0.5, 5: 0.0}),
    ({2: 0.8}, {2: -0.8}),
    (
        {0: 0.3, 1: -0.7, 2: 0.4, 3: 0.5, 4: -0.5, 5: 1.0},
        {0: -0.6, 1: 0.2, 2: 1.1, 3: 0.0, 4: 0.3, 5: 0.0},
    ),
)
FUNCTIONALS = {  # places in the vector of `Quantities`
    "partial dependence": slice(0, 5),
    "difference": slice(5, 10),
    "average effect": slice(10, 11),
}


@dataclass(frozen=True)
class Functionals:
    """Every truth at every split."""

    data_sets: tuple[str, ...] = tuple(TRUTHS)
    measured: tuple[str, ...] = (LEARNER,)
    n_splits: int = 20
    n_draws: int = 50
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "n": N, **TREES}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """One learner."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit with default calibration, and measure intervals of functionals."""
        truth = TRUTHS[unit.data_set]
        X, y = truth.simulated(N, np.random.default_rng(seed_of(unit)))
        face = nb.PosteriorClassifier if truth.is_class else nb.PosteriorRegressor
        learner = (XGBClassifier if truth.is_class else XGBRegressor)(**TREES)
        began = time.perf_counter()
        model = face(learner, n_draws=self.n_draws, random_state=unit.split, progress=False)
        model.fit(X, y)
        fitted = time.perf_counter()
        quantities = Quantities(X)
        found, known = model.functional(quantities), quantities(truth)
        return {
            "spread": found.spread,
            **scored(known, {kind: found.interval(LEVEL, spread=kind) for kind in SPREADS}),
            "seconds of functional": time.perf_counter() - fitted,
            "seconds of fit": fitted - began,
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


@dataclass(frozen=True)
class Quantities:
    """Function of a fitted estimator: dependences, differences and an effect, in one vector."""

    X: Array

    def __call__(self, fitted: Any) -> Array:
        """All from one prediction."""
        averaged = [_imposed(self.X[:N_AVERAGED], *each) for each in DEPENDENCES]
        pairs = [_row(inputs) for pair in PAIRS for inputs in pair]
        effects = [_imposed(self.X, TREATMENT, value) for value in (1.0, 0.0)]
        predicted = _predicted(fitted, np.concatenate([*averaged, *pairs, *effects]))
        dependences, rest = np.split(predicted, [N_AVERAGED * len(DEPENDENCES)])
        ends, treated = np.split(rest, [2 * len(PAIRS)])
        with_it, without = np.split(treated, 2)
        return np.concatenate(
            [
                dependences.reshape(len(DEPENDENCES), -1).mean(axis=1),
                ends[::2] - ends[1::2],
                [np.mean(with_it - without)],
            ]
        )


def _imposed(X: Array, column: int, value: float) -> Array:
    changed = X.copy()
    changed[:, column] = value
    return changed


def _row(inputs: Mapping[int, float]) -> Array:
    row = np.zeros((1, TREATMENT + 1))
    row[0, list(inputs)] = list(inputs.values())
    return row


def _predicted(fitted: Any, X: Array) -> Array:
    """Regression function, or probability of class 1."""
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X), dtype=np.float64)[:, 1]
    return np.asarray(fitted.predict(X), dtype=np.float64)


def scored(known: Array, intervals: Mapping[str, Array]) -> Record:
    """Share of known values inside, and mean width, by functional and kind of interval."""
    record: Record = {}
    for kind, bounds in intervals.items():
        covered = (bounds[:, 0] <= known) & (known <= bounds[:, 1])
        for name, places in FUNCTIONALS.items():
            record[f"{kind} {name} coverage"] = float(covered[places].mean())
            record[f"{kind} {name} width"] = float(np.ptp(bounds[places], axis=1).mean())
    return record


def seed_of(unit: Unit) -> list[int]:
    """Seed of the data, different for every truth and split."""
    return [17, tuple(TRUTHS).index(unit.data_set), unit.split]
