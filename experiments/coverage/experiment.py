"""Coverage and width of 90 % intervals of a probability or a regression function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from experiments.coverage.measures import (
    LEVEL,
    Array,
    best_interval,
    calibration_facts,
    scored,
    simulated,
    uncalibrated_intervals,
)
from experiments.coverage.truths import ALL_TRUTHS, TRUTHS, Truth
from experiments.runner.records import Record, Unit

SIZES = (200, 400, 2_000)
NAMES = tuple(f"{name}, n={n}" for n in SIZES for name in TRUTHS)
METHODS = ("martingale", "bootstrap", "bart")
# early stopping on a quarter of the rows chooses the number of rounds
TREES = {"max_depth": 3, "learning_rate": 0.1, "n_estimators": 500, "early_stopping_rounds": 20}
VALIDATION = 0.25


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
        bart = not truth_of(unit).is_class
        return [name for name in self.measured if name != "bart" or bart]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit, and measure the coverage of intervals at new points."""
        truth = truth_of(unit)
        X, y, points, known = simulated(truth, size_of(unit), seed_of(unit))
        if method == "bart":
            from experiments.coverage.bart import bart_interval  # needs the experiments extra

            return scored(known, {"raw": bart_interval(X, y, points, LEVEL, unit.split)})
        model = _fitted(truth, method, X, y, self.n_draws, unit.split)
        intervals = {
            **uncalibrated_intervals(model, points),
            "calibrated": best_interval(model, points),
        }
        if method == "bootstrap":  # which leaves nothing out
            del intervals["inflated"]
        return {**scored(known, intervals), **calibration_facts(model)}

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def _name(unit: Unit) -> str:
    return unit.data_set.rpartition(", n=")[0]


def size_of(unit: Unit) -> int:
    """Rows of a replication."""
    return int(unit.data_set.rpartition("=")[2])


def truth_of(unit: Unit) -> Truth:
    """What a replication is simulated from."""
    return ALL_TRUTHS[_name(unit)]


def seed_of(unit: Unit) -> list[int]:
    """Seed of the rows of a replication."""
    return [unit.split, size_of(unit), list(ALL_TRUTHS).index(_name(unit))]


def with_truth_and_size(frame: pd.DataFrame) -> pd.DataFrame:
    """Records with truth and n in columns of their own."""
    parts = frame["data_set"].str.extract(r"(.*), n=(\d+)")
    return frame.assign(truth=parts[0], n=parts[1].astype(int))


def _fitted(truth: Truth, method: str, X: Array, y: Array, n_draws: int, seed: int) -> Any:
    face = nb.PosteriorClassifier if truth.is_class else nb.PosteriorRegressor
    model = face(
        tuned_trees(truth),
        method=method,
        n_draws=n_draws,
        calibration="simulation",
        random_state=seed,
        progress=False,
    )
    return fit_with_stopping(model, X, y)


def tuned_trees(truth: Truth) -> Any:
    """XGBoost with early stopping."""
    return XGBClassifier(**TREES) if truth.is_class else XGBRegressor(**TREES)


def fit_with_stopping(model: Any, X: Array, y: Array) -> Any:
    """Fit to three quarters of the rows; the first quarter is for early stopping."""
    stop = round(VALIDATION * len(y))
    return model.fit(X[stop:], y[stop:], eval_set=[(X[:stop], y[:stop])])
