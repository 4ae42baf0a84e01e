"""Coverage and width of 90 % intervals of the regression function, raw and calibrated."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.coverage.measures import LEVEL, calibration_facts, scored, simulated
from experiments.neural_truths.methods import METHODS, posterior_regressor
from experiments.neural_truths.truths import TRUTHS
from experiments.runner.records import Record, Unit

Array = NDArray[np.float64]
N_ROWS = 200
KINDS = ("raw", "inflated", "calibrated")


@dataclass(frozen=True)
class NeuralTruths:
    """Every method on every data set of every truth."""

    data_sets: tuple[str, ...] = tuple(TRUTHS)
    measured: tuple[str, ...] = METHODS
    n_splits: int = 10
    n_draws: int = 16
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "n_rows": N_ROWS}

    @property
    def units(self) -> Sequence[Unit]:
        """Data sets of the truths in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Simulate data, draw, calibrate, and measure intervals at new points."""
        X, y, points, known = simulated(TRUTHS[unit.data_set], N_ROWS, _seed(unit))
        model = posterior_regressor(method, self.n_draws, unit.split)
        seconds = {"drawing": _timed(lambda: model.fit(X, y))}
        seconds["calibrating"] = _timed(lambda: model.calibrate(X, y))
        posterior = model.posterior_
        intervals = {kind: posterior.interval(points, LEVEL, spread=kind) for kind in KINDS}
        return {
            **scored(known, intervals),
            **calibration_facts(model),
            **_errors(posterior.predict(points), known),
            "passes": model.estimators_[0].n_passes_,
            **{f"seconds of {name}": found for name, found in seconds.items()},
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {_seed(unit)}"


def _seed(unit: Unit) -> list[int]:
    """Seed of the rows of a replication."""
    return [unit.split, N_ROWS, list(TRUTHS).index(unit.data_set)]


def _errors(draws: Array, known: Array) -> Record:
    """Error of the posterior mean, and root mean square of the raw standard deviation."""
    return {
        "rmse": float(np.sqrt(np.mean((draws.mean(axis=0) - known) ** 2))),
        "sd": float(np.sqrt(np.mean(draws.var(axis=0, ddof=1)))),
    }


def _timed(task: Any) -> float:
    started = time.perf_counter()
    task()
    return round(time.perf_counter() - started, 3)
