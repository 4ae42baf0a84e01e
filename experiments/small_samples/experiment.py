"""Linear regression in small samples: sds of coefficients, and coverage of the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from experiments.coverage.measures import LEVEL, Array
from experiments.runner.records import Record, Unit
from nearbayes.metrics import coverage, width

COEFFICIENTS = {"coefficients, n=30": 30, "coefficients, n=46": 46}
N_COLUMNS = 6
FAR = 3.0  # sds from the mean is the first row in every column
COVERED = {"coverage, 1 column": 1, "coverage, 3 columns": 3, "coverage, 5 columns": 5}
N_SMALL = 15
REPLICATIONS = 20  # per split
N_POINTS = 20
MOST_DRAWS = 100  # of an interval
METHOD = "default noise"


@dataclass(frozen=True)
class SmallSamples:
    """A split is one data set to compare sds on, or 20 replications of coverage."""

    data_sets: tuple[str, ...] = (*COEFFICIENTS, *COVERED)
    measured: tuple[str, ...] = (METHOD,)
    n_splits: int = 20
    n_draws: int = 1_000
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
        """The default noise alone."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Ratios of sds on one data set, or coverage in twenty."""
        if unit.data_set in COEFFICIENTS:
            return _ratios(COEFFICIENTS[unit.data_set], self.n_draws, unit)
        found = [
            _coverage(COVERED[unit.data_set], min(self.n_draws, MOST_DRAWS), unit, replication)
            for replication in range(REPLICATIONS)
        ]
        covered, widths = np.transpose(found)
        return {
            "coverages": covered.tolist(),
            "coverage": float(covered.mean()),
            "width": float(widths.mean()),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {_seed(unit)}"


def _seed(unit: Unit) -> list[int]:
    places = (*COEFFICIENTS, *COVERED)
    return [17, unit.split, places.index(unit.data_set)]


def _ratios(n: int, n_draws: int, unit: Unit) -> Record:
    """The sd of every coefficient, intercept last, over that of the exact posterior."""
    rng = np.random.default_rng(_seed(unit))
    X = inputs(n, rng)
    y = X @ rng.normal(size=N_COLUMNS) + rng.normal(size=n)
    model = _fitted(X, y, n_draws, unit.split)
    found = model.posterior_.apply(lambda draw: np.append(draw.coef_, draw.intercept_)).std
    return {"ratios": (found / exact_sds(X, y)).tolist(), "leverage": float(leverages(X).max())}


def inputs(n: int, rng: np.random.Generator) -> Array:
    """Normal inputs, the first row far out."""
    X = rng.normal(size=(n, N_COLUMNS))
    X[0] = FAR * np.sign(X[0])
    return np.asarray(X)


def exact_sds(X: Array, y: Array) -> Array:
    """Sds of coefficients, intercept last: Student t under flat priors of them and log variance."""
    design = np.column_stack([X, np.ones(len(X))])
    degrees = len(y) - design.shape[1]
    coefficients, *_ = np.linalg.lstsq(design, y)
    variance = np.sum((y - design @ coefficients) ** 2) / (degrees - 2)
    return np.asarray(np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance))


def leverages(X: Array) -> Array:
    """Diagonal of the hat matrix, intercept included."""
    q, _ = np.linalg.qr(np.column_stack([X, np.ones(len(X))]))
    return np.asarray(np.sum(q**2, axis=1))


def _coverage(n_columns: int, n_draws: int, unit: Unit, replication: int) -> tuple[float, float]:
    """Coverage and mean width of 90 % credible intervals at new points, of one data set."""
    rng = np.random.default_rng([*_seed(unit), replication])
    X, points = rng.normal(size=(N_SMALL, n_columns)), rng.normal(size=(N_POINTS, n_columns))
    truth = rng.normal(size=n_columns)
    y = X @ truth + rng.normal(size=N_SMALL)
    model = _fitted(X, y, n_draws, REPLICATIONS * unit.split + replication)
    bounds = model.predict_interval(points, LEVEL, kind="credible")
    return float(coverage(points @ truth, bounds)), float(width(bounds))


def _fitted(X: Array, y: Array, n_draws: int, seed: int) -> Any:
    return nb.PosteriorRegressor(
        LinearRegression(), n_draws=n_draws, random_state=seed, progress=False
    ).fit(X, y)
