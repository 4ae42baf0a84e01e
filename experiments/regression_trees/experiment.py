"""The regression experiment, for the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.regression_trees import methods
from experiments.runner.datasets import (
    DEFAULT_FOLDER,
    Split,
    data_hash,
    load,
    split_in_three,
)
from experiments.runner.records import Record, Unit
from nearbayes.metrics import coverage, width

Array = NDArray[np.float64]

DATA_SETS = (
    *("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein"),
    *("winered", "winewhite"),
)
FIRST_SPLIT = 5
TUNING = "tuning"
MOST_ROWS = 2_000


@dataclass(frozen=True)
class RegressionTrees:
    """Posteriors of boosted trees and their peers on regression problems."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = (*methods.POSTERIORS, *methods.PEERS)
    n_splits: int = 3
    n_draws: int = 50
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "most_rows": MOST_ROWS}

    @property
    def units(self) -> Sequence[Unit]:
        """Splits in turn."""
        seeds = range(FIRST_SPLIT, FIRST_SPLIT + self.n_splits)
        return [Unit(name, seed) for seed in seeds for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """Tuning first, then all methods."""
        return (TUNING, *self.measured)

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Choose hyperparameters, or predict the test rows and score the predictions."""
        split = self.split(unit)
        if method == TUNING:
            return methods.choose_hyperparameters(split)
        if method in methods.PEERS:
            predicted = methods.PREDICT[method](split, done[TUNING], unit.split)
        else:
            predicted = methods.posterior(method, split, done[TUNING], self.n_draws, unit.split)
        return scored(np.asarray(split.y_test, dtype=np.float64), predicted)

    def data_hash(self, unit: Unit) -> str:
        """Hash of the data set's file."""
        return data_hash(unit.data_set, self.data_dir)

    def split(self, unit: Unit) -> Split:
        """Rows of a replication; a random sample of 2,000 for larger data sets."""
        inputs, outcome = load(unit.data_set, self.data_dir)
        rng = np.random.default_rng(unit.split)
        rows = rng.permutation(len(outcome))[:MOST_ROWS]
        return split_in_three(inputs.iloc[rows], outcome.to_numpy(np.float64)[rows], unit.split)


def scored(y: Array, predicted: methods.Predicted) -> Record:
    """CRPS, NLPD, and coverage and width of 90 % intervals, also scaled to cover 90 %."""
    bounds = predicted.interval
    record: dict[str, float] = {
        "coverage": float(coverage(y, bounds)),
        "width": float(width(bounds)),
        "width_at_90": float(width(bounds)) * reach(y, bounds, 0.9),
    }
    if predicted.quantiles is not None:
        record["crps"] = crps_of_quantiles(y, predicted.quantiles)
    if predicted.log_density is not None:
        record["nlpd"] = -float(np.mean(predicted.log_density))
    return record


def reach(y: Array, bounds: Array, level: float) -> float:
    """Factor of the half-widths with which intervals cover a share `level` of these y."""
    middle, half = bounds.mean(axis=1), (bounds[:, 1] - bounds[:, 0]) / 2
    return float(np.quantile(np.abs(y - middle) / half, level))


def crps_of_quantiles(y: Array, quantiles: Array) -> float:
    """Twice the mean pinball loss over the levels, an approximation of the CRPS."""
    error = y[:, None] - quantiles
    loss = np.maximum(methods.LEVELS * error, (methods.LEVELS - 1) * error)
    return float(2 * loss.mean())
