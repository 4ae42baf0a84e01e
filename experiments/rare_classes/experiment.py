"""Rare classes where the truth is known, and class weights against the weighted base model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import nearbayes as nb
from experiments.coverage.measures import (
    Simulated,
    best_interval,
    calibration_facts,
    inside,
    oddities,
    point_prediction,
    scored,
    simulated,
)
from experiments.coverage.truths import Truth
from experiments.runner.records import Record, Unit

N_COLUMNS = 6
N_POINTS = 2_000
INTERCEPTS = {"0.5 % positive": -6.02, "2 % positive": -4.58, "4 % positive": -3.82}
WEIGHTED = "class weights, 15 % positive"
WEIGHTED_INTERCEPT = -2.18
SIZES = {**dict.fromkeys(INTERCEPTS, 3_200), WEIGHTED: 800}
DATA_SETS = tuple(SIZES)
LEARNERS: dict[str, Callable[[], Any]] = {
    "default": lambda: None,
    "LightGBM": lambda: LGBMClassifier(verbosity=-1),
    "XGBoost": XGBClassifier,
    "LogisticRegression": LogisticRegression,
}
WEIGHTED_LEARNERS: dict[str, Callable[[], Any]] = {
    "HistGradientBoosting, balanced": lambda: HistGradientBoostingClassifier(
        class_weight="balanced"
    ),
    "LightGBM, balanced": lambda: LGBMClassifier(class_weight="balanced", verbosity=-1),
    "LogisticRegression, balanced": lambda: LogisticRegression(class_weight="balanced"),
    "RandomForest, balanced": lambda: RandomForestClassifier(50, class_weight="balanced"),
    "XGBoost, scale_pos_weight": lambda: XGBClassifier(scale_pos_weight=7),
    "XGBoost, 60 rounds, scale_pos_weight": lambda: XGBClassifier(
        n_estimators=60, max_depth=3, learning_rate=0.1, scale_pos_weight=7
    ),
}


@dataclass(frozen=True)
class RareClasses:
    """A split is a replication; learners without weights see rare classes, the others weights."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = (*LEARNERS, *WEIGHTED_LEARNERS)
    n_splits: int = 6
    n_draws: int = 20
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """Learners with weights, or those without."""
        wanted = WEIGHTED_LEARNERS if unit.data_set == WEIGHTED else LEARNERS
        return [name for name in self.measured if name in wanted]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit with defaults, and compare with the truth or with the base model."""
        intercept = INTERCEPTS.get(unit.data_set, WEIGHTED_INTERCEPT)
        data = simulated(truth(intercept), SIZES[unit.data_set], _seed(unit), N_POINTS)
        estimator = {**LEARNERS, **WEIGHTED_LEARNERS}[method]()
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            model = nb.PosteriorClassifier(
                estimator, n_draws=self.n_draws, random_state=unit.split, progress=False
            ).fit(data.X, data.y)
            bounds = best_interval(model, data.points)
        measured = {
            "positives": int(data.y.sum()),
            "mean p": float(point_prediction(model, data.points).mean()),
            "true mean p": float(data.known.mean()),
            **scored(data.known, {"calibrated": bounds}),
            **oddities(model, data.points, bounds),
            **calibration_facts(model),
            **_said(raised),
        }
        if unit.data_set == WEIGHTED:
            measured |= _against_base(estimator, data, bounds, unit.split)
        return measured

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {_seed(unit)}"


def truth(intercept: float) -> Truth:
    """Log-odds of the positive class are linear in two of six normal inputs."""
    return Truth(lambda x: intercept + x[:, 0] + 0.7 * x[:, 1], N_COLUMNS)


def _seed(unit: Unit) -> list[int]:
    return [17, unit.split, DATA_SETS.index(unit.data_set)]


def _said(raised: list[warnings.WarningMessage]) -> Record:
    """What the library warned of, and what others did."""
    ours = [each for each in raised if each.category.__module__.startswith("nearbayes")]
    others = [each for each in raised if each not in ours]
    return {
        "warnings": sorted({str(each.message) for each in ours}),
        "other warnings": sorted({f"{each.category.__name__}: {each.message}" for each in others}),
    }


def _against_base(estimator: Any, data: Simulated, bounds: Any, seed: int) -> Record:
    """The posterior beside one fit of the same estimator with the same weights."""
    alone = clone(estimator)
    if "random_state" in alone.get_params():
        alone.set_params(random_state=seed)
    base = np.asarray(alone.fit(data.X, data.y).predict_proba(data.points)[:, 1], dtype=np.float64)
    return {"base mean p": float(base.mean()), "contains base": float(inside(base, bounds).mean())}
