"""Scores of class probabilities of posteriors of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import nearbayes as nb
from experiments.classification.experiment import Classification, scored
from experiments.runner.records import Record, Unit

DATA_SETS = (*("balance-scale", "vehicle", "diabetes", "credit-g", "wdbc", "mfeat-morphological"),)
ONE_BLOCK = "martingale, one block"
METHODS = ("ensemble", "bootstrap", "martingale", ONE_BLOCK)
SCHEDULES = {ONE_BLOCK: nb.Schedule.arithmetic(horizon=1.0, block=1.0)}
NETWORK: dict[str, Any] = {}  # defaults


@dataclass(frozen=True)
class NeuralClassification(Classification):
    """The test rows of the classification experiment, for networks."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = METHODS
    n_splits: int = 3
    n_draws: int = 16

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods; nothing is tuned."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit to the 80 % of the rows that are not for testing, and score the predictions."""
        split = self.split(unit)
        X = pd.concat([split.X_train, split.X_validation])
        y = np.concatenate([split.y_train, split.y_validation])
        model = nb.PosteriorClassifier(
            nb.neural.MLPClassifier(**NETWORK),
            method=method.partition(",")[0],
            schedule=SCHEDULES.get(method),
            n_draws=self.n_draws,
            calibration=None,  # intervals are not scored here
            n_jobs=1,
            random_state=unit.split,
            on_error="raise",
            progress=False,
        ).fit(X, y)
        draws = model.posterior_.predict(split.X_test)
        return {
            **scored(split.y_test, np.asarray(model.predict_proba(split.X_test), np.float64)),
            "sd": float(np.sqrt(draws.var(axis=0, ddof=1).mean())),
            "passes": model.estimators_[0].n_passes_,
        }
