"""Coverage and width of 90 % intervals by learner, where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from experiments.coverage.experiment import (
    fit_with_stopping,
    seed_of,
    size_of,
    truth_of,
    tuned_trees,
)
from experiments.coverage.measures import (
    best_interval,
    calibration_facts,
    oddities,
    scored,
    seconds_of_draws,
    simulated,
    uncalibrated_intervals,
)
from experiments.coverage.truths import ALL_TRUTHS, Truth
from experiments.runner.records import Record, Unit

SIZES = (200, 400, 2_000)
TUNED = "tuned XGBoost"
FOREST = "RandomForest"
LEARNERS = (
    TUNED,
    "XGBoost, 60 rounds",
    "XGBoost, 300 rounds",
    FOREST,
    "HistGradientBoosting",
)
FIXED_ROUNDS = {"XGBoost, 60 rounds": 60, "XGBoost, 300 rounds": 300}
N_TREES = 50
LARGEST_FOREST = 400  # rows: a posterior of forests of 2,000 takes ten minutes


@dataclass(frozen=True)
class CoverageLearners:
    """Every truth at every split, at sizes in turn, so that three splits have all sizes."""

    data_sets: tuple[str, ...] = tuple(ALL_TRUTHS)
    measured: tuple[str, ...] = LEARNERS
    n_splits: int = 2
    n_draws: int = 50
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn; a truth keeps its sizes whichever truths are chosen."""
        places = {name: place for place, name in enumerate(ALL_TRUTHS)}
        return [
            Unit(f"{name}, n={SIZES[(places[name] + split) % len(SIZES)]}", split)
            for split in range(self.n_splits)
            for name in self.data_sets
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All learners; forests not of 2,000 rows."""
        large = size_of(unit) > LARGEST_FOREST
        return [name for name in self.measured if name != FOREST or not large]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit with default calibration, and measure intervals at new points."""
        truth = truth_of(unit)
        X, y, points, known = simulated(truth, size_of(unit), seed_of(unit))
        face = nb.PosteriorClassifier if truth.is_class else nb.PosteriorRegressor
        model = face(
            learner(method, truth), n_draws=self.n_draws, random_state=unit.split, progress=False
        )
        model = fit_with_stopping(model, X, y) if method == TUNED else model.fit(X, y)
        best = best_interval(model, points)
        return {
            **scored(known, {"calibrated": best, **uncalibrated_intervals(model, points)}),
            **oddities(model, points, best),
            **calibration_facts(model),
            "seconds_of_draws": seconds_of_draws(model),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def learner(name: str, truth: Truth) -> Any:
    """A learner as configured by a user who does not tune it, but for the first."""
    if name == TUNED:
        return tuned_trees(truth)
    if name == FOREST:
        return (RandomForestClassifier if truth.is_class else RandomForestRegressor)(N_TREES)
    if name in FIXED_ROUNDS:
        return (XGBClassifier if truth.is_class else XGBRegressor)(
            n_estimators=FIXED_ROUNDS[name], max_depth=3, learning_rate=0.1
        )
    if truth.is_class:
        return HistGradientBoostingClassifier()
    return HistGradientBoostingRegressor()
