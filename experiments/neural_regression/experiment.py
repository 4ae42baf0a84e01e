"""CRPS, NLPD and RMSE of posteriors of networks, in standard units of y."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from experiments.gp_hyperparameters.experiment import NAMES, TEST_SHARE, GPHyperparameters
from experiments.neural_regression.peers import LAPLACE, installed, laplace_predictive
from experiments.neural_truths.methods import METHODS, posterior_regressor
from experiments.regression_trees.experiment import crps_of_quantiles
from experiments.regression_trees.methods import LEVELS
from experiments.runner.datasets import DEFAULT_FOLDER, data_hash
from experiments.runner.records import Record, Unit

Array = NDArray[np.float64]
N_ROWS = 300
MOST_TEST_ROWS = 2_000


@dataclass(frozen=True)
class NeuralRegression:
    """Posteriors of networks, and laplace-torch where it is installed."""

    data_sets: tuple[str, ...] = NAMES
    measured: tuple[str, ...] = (*METHODS, LAPLACE)
    n_splits: int = 5
    n_draws: int = 16
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {
            "n_draws": self.n_draws,
            "n_rows": N_ROWS,
            "test_share": TEST_SHARE,
            "most_test_rows": MOST_TEST_ROWS,
        }

    @property
    def units(self) -> Sequence[Unit]:
        """Splits in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods that are installed."""
        return [name for name in self.measured if name != LAPLACE or installed()]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit, and score predictions of the test rows."""
        X, y, X_test, y_test = self.split(unit)
        if method == LAPLACE:
            return scored_normal(y_test, *laplace_predictive(X, y, X_test, unit.split))
        model = posterior_regressor(method, self.n_draws, unit.split).fit(X, y)
        return {
            "crps": crps_of_quantiles(y_test, model.predict_quantiles(X_test, LEVELS)),
            "nlpd": -float(np.mean(model.log_density(X_test, y_test))),
            "rmse": _rmse(y_test, model.predict(X_test)),
            "sd": float(np.sqrt(model.posterior_predictions(X_test).var(axis=0, ddof=1).mean())),
            "passes": model.estimators_[0].n_passes_,
        }

    def data_hash(self, unit: Unit) -> str:
        """Hash of the data set's file."""
        return data_hash(unit.data_set, self.data_dir)

    def split(self, unit: Unit) -> tuple[Array, Array, Array, Array]:
        """Rows as in gp_hyperparameters, y in standard units, and not too many test rows."""
        same = GPHyperparameters(data_dir=self.data_dir)
        X, y, X_test, y_test = same.split(Unit(f"{unit.data_set}-{N_ROWS}", unit.split))
        mean, sd, few = y.mean(), y.std(), slice(MOST_TEST_ROWS)
        return X, (y - mean) / sd, X_test[few], (y_test[few] - mean) / sd


def scored_normal(y: Array, mean: Array, sd: Array) -> Record:
    """The same scores of normal predictive distributions."""
    quantiles = norm.ppf(LEVELS, mean[:, None], sd[:, None])
    return {
        "crps": crps_of_quantiles(y, quantiles),
        "nlpd": -float(np.mean(norm.logpdf(y, mean, sd))),
        "rmse": _rmse(y, mean),
    }


def _rmse(y: Array, mean: Array) -> float:
    return float(np.sqrt(np.mean((y - mean) ** 2)))
