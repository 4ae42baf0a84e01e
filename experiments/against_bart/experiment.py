"""The default learner, the one before it, BART and other peers on the seven regression truths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import nearbayes as nb
from experiments.coverage.experiment import SIZES, seed_of, size_of, truth_of
from experiments.coverage.measures import LEVEL, Array, best_interval, scored, simulated
from experiments.coverage.truths import TRUTHS
from experiments.runner.records import Record, Unit

NAMES = tuple(name for name, truth in TRUTHS.items() if not truth.is_class)
N_QUANTILES = 100  # of the errors of a replication that are kept

Rows = tuple[Array, Array, Array]
Fitted = tuple[Array, Array]  # bounds and point predictions


def _default(rows: Rows, n_draws: int, seed: int) -> Fitted:
    return _ours(nb.PosteriorRegressor(n_draws=n_draws, random_state=seed, progress=False), rows)


def _before(rows: Rows, n_draws: int, seed: int) -> Fitted:
    """The default until now; its scale is of no matter at equal coverage."""
    trees = HistGradientBoostingRegressor()
    run = {"n_draws": n_draws, "random_state": seed, "calibration": None, "progress": False}
    return _ours(nb.PosteriorRegressor(trees, **run), rows)


def _ours(model: Any, rows: Rows) -> Fitted:
    X, y, points = rows
    model.fit(X, y)
    return best_interval(model, points), model.predict(points)


def _bart(rows: Rows, n_draws: int, seed: int) -> Fitted:
    from experiments.coverage.bart import bart_interval  # needs the experiments extra

    X, y, points = rows
    bounds = bart_interval(X, y, points, LEVEL, seed)
    return bounds, bounds.mean(axis=1)


def _catboost(rows: Rows, n_draws: int, seed: int) -> Fitted:
    from experiments.against_bart.peers import catboost_interval

    return catboost_interval(*rows, LEVEL, seed)


def _hessboost(rows: Rows, n_draws: int, seed: int) -> Fitted:
    from experiments.against_bart.peers import boulevard_interval

    return boulevard_interval(*rows, LEVEL, seed)


METHODS: dict[str, Callable[[Rows, int, int], Fitted]] = {
    "default": _default,
    "BART": _bart,
    "HistGradientBoosting, not calibrated": _before,
    "CatBoost, virtual ensembles": _catboost,
    "hessboost, Boulevard": _hessboost,
}


@dataclass(frozen=True)
class AgainstBart:
    """At every split each truth has one of the sizes, in turn."""

    data_sets: tuple[str, ...] = NAMES
    measured: tuple[str, ...] = tuple(METHODS)
    n_splits: int = 6
    n_draws: int = 12
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [
            Unit(f"{name}, n={SIZES[(place + split) % len(SIZES)]}", split)
            for split in range(self.n_splits)
            for place, name in enumerate(self.data_sets)
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All of them."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, fit, and compare intervals with the truth at new points."""
        X, y, points, known = simulated(truth_of(unit), size_of(unit), seed_of(unit))
        bounds, centre = METHODS[method]((X, y, points), self.n_draws, unit.split)
        return {
            **scored(known, {"interval": bounds}),
            "rmse": float(np.sqrt(np.mean((centre - known) ** 2))),
            "errors": errors(known, bounds),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def errors(known: Array, bounds: Array) -> list[float]:
    """Quantiles of |truth - middle| in half widths: 1 is at the end of an interval."""
    low, high = bounds.T
    half = np.maximum((high - low) / 2, np.finfo(float).tiny)
    ratios = np.abs(known - (low + high) / 2) / half
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    return [float(f"{each:.4g}") for each in np.quantile(ratios, levels)]
