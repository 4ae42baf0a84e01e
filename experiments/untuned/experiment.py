"""XGBoost with a fixed number of rounds: the model alone, bagging and martingale posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import nearbayes as nb
from experiments.classification.experiment import Classification, scored
from experiments.runner.records import Record, Unit

METHODS = ("base", "bootstrap", "martingale")
TREES = {"n_estimators": 80, "max_depth": 4, "learning_rate": 0.15}


@dataclass(frozen=True)
class Untuned(Classification):
    """The data sets and test rows of the classification experiment, without tuning."""

    measured: tuple[str, ...] = METHODS
    n_splits: int = 3
    n_draws: int = 25

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, **TREES}

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods; nothing is tuned."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit to the 80 % of the rows that are not for testing, and score the predictions."""
        split = self.split(unit)
        X = pd.concat([split.X_train, split.X_validation])
        y = np.concatenate([split.y_train, split.y_validation])
        model: Any = XGBClassifier(**TREES, enable_categorical=True, n_jobs=1)
        if method != "base":
            model = nb.PosteriorClassifier(
                model,
                method=method,
                n_draws=self.n_draws,
                random_state=unit.split,
                calibration=None,  # intervals are not scored here
                on_error="raise",
                progress=False,
            )
        probabilities = model.fit(X, y).predict_proba(split.X_test)
        return scored(split.y_test, np.asarray(probabilities, dtype=np.float64))
