"""The experiment, for the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearbayes as nb
from experiments.runner.datasets import DEFAULT_FOLDER, data_hash, load
from experiments.runner.records import Record, Unit
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm
from nearbayes.metrics import crps_gaussian_mixture, nlpd_gaussian_mixture

Array = NDArray[np.float64]

NAMES = (
    *("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein"),
    *("winered", "winewhite"),
)
DATA_SETS = tuple(f"{name}-{n}" for n in (75, 300) for name in NAMES)
METHODS = (
    *("empirical bayes", "bootstrap", "ensemble", "martingale", "martingale, urn"),
    *("martingale, imputed rows", "martingale, urn, imputed rows"),
)
TEST_SHARE = 0.2  # consistent with the paper's standard deviations
SCHEDULE = nb.Schedule.arithmetic(horizon=4.0, block=0.25)
PROCESS: dict[str, Any] = {"kernel": "matern32", "variance": 1.0, "noise_floor": 0.01}
UNPENALISED = {"scale_penalty": 0.0}  # not among the settings: older records have no other


@dataclass(frozen=True)
class GPHyperparameters:
    """Empirical Bayes alone and with posteriors, on small samples of nine data sets."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = METHODS
    n_splits: int = 50
    n_draws: int = 16
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "test_share": TEST_SHARE, **PROCESS}

    @property
    def units(self) -> Sequence[Unit]:
        """Splits in turn; only a fifth of them for 300 rows, which take longer."""
        return [
            Unit(name, split)
            for split in range(self.n_splits)
            for name in self.data_sets
            if name.endswith("-75") or split < self.n_splits / 5
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods; kernel density inputs only for 75 rows, as 300 would become 1,500."""
        return [
            method
            for method in self.measured
            if unit.data_set.endswith("-75") or "martingale" not in method or "urn" in method
        ]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit, predict the test rows as mixtures of normals, and score them in units of y."""
        X, y, X_test, y_test = self.split(unit)
        if method == "empirical bayes":
            process = nb.gp.EmpiricalBayesGP(**PROCESS, **UNPENALISED)
            mean, sd = process.fit(X, y).predict(X_test, return_std=True)
            return scored(y_test, mean[None], sd[None])
        draws = draw(method, (X, y), self.n_draws, unit.split).draws
        if method in ("martingale", "martingale, urn"):
            draws = [each.condition(X, y) for each in draws]
        parts = [each.predict(X_test, return_std=True) for each in draws]
        means, sds = (np.stack(each) for each in zip(*parts, strict=True))
        return scored(y_test, means, sds)

    def data_hash(self, unit: Unit) -> str:
        """Hash of the file that the rows are taken from."""
        return data_hash(unit.data_set.partition("-")[0], self.data_dir)

    def split(self, unit: Unit) -> tuple[Array, Array, Array, Array]:
        """Test rows, and n of the others as training rows."""
        name, _, n = unit.data_set.partition("-")
        inputs, outcome = load(name, self.data_dir)
        X, y = inputs.to_numpy(np.float64), outcome.to_numpy(np.float64)
        rows = np.random.default_rng(unit.split).permutation(len(y))
        test, train = np.split(rows, [round(TEST_SHARE * len(y))])
        return X[train[: int(n)]], y[train[: int(n)]], X[test], y[test]


def draw(
    method: str, data: tuple[Array, Array], n_draws: int, seed: int, n_jobs: int = 1
) -> nb.Posterior:
    """A posterior of empirical Bayes; every draw starts its search at random."""
    algorithm = EmpiricalBayesAlgorithm(
        nb.gp.EmpiricalBayesGP(**PROCESS, **UNPENALISED, initial="random")
    )
    run: dict[str, Any] = {
        "n_draws": n_draws,
        "random_state": seed,
        "n_jobs": n_jobs,
        "progress": False,
    }
    if method in ("bootstrap", "ensemble"):
        return getattr(nb.baselines, method)(algorithm, data, **run)  # type: ignore[no-any-return]
    inputs = nb.inputs.Urn() if "urn" in method else nb.inputs.KDE()
    return nb.martingale_posterior(algorithm, data, schedule=SCHEDULE, inputs=inputs, **run)


def scored(y: Array, means: Array, sds: Array) -> Record:
    """RMSE of the mean, NLPD and CRPS of the mixture."""
    return {
        "rmse": float(np.sqrt(np.mean((y - means.mean(axis=0)) ** 2))),
        "nlpd": float(nlpd_gaussian_mixture(y, means, sds)),
        "crps": float(crps_gaussian_mixture(y, means, sds)),
    }
