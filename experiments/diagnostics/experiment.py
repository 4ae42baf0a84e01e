"""Verdicts of the diagnosis on six learners, and forecasts of widths against larger data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.coverage.measures import LEVEL, Array
from experiments.diagnostics.cases import CASES, NEIGHBOURS
from experiments.runner.datasets import DEFAULT_FOLDER, data_hash, load
from experiments.runner.records import Record, Unit
from nearbayes.metrics import width

VERDICTS = "verdicts"
VERDICT_LEARNERS = tuple(name for name in CASES if name != NEIGHBOURS)
FORECASTS = ("kin8nm", "power", "protein")
FORECAST_LEARNERS = ("linear regression", "tuned boosted tree", NEIGHBOURS)
N_SEEDS, N_ROWS = 20, 200  # simulated data sets of a verdict, and their rows
N_NOW, TIMES, N_POINTS = 250, 4, 200  # of a forecast
FORECAST_SPLITS = 6
SEED = 73  # another one whenever the diagnosis has changed


@dataclass(frozen=True)
class Diagnostics:
    """A split is a simulated data set of every learner, or rows of a data set to forecast from."""

    data_sets: tuple[str, ...] = (VERDICTS, *FORECASTS)
    measured: tuple[str, ...] = tuple(CASES)
    n_splits: int = N_SEEDS
    n_draws: int = 50
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "n_rows": N_ROWS, "n_now": N_NOW, "times": TIMES}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn; fewer of forecasts."""
        return [
            Unit(name, split)
            for split in range(self.n_splits)
            for name in self.data_sets
            if name == VERDICTS or split < FORECAST_SPLITS
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All learners for verdicts, some for forecasts."""
        known = VERDICT_LEARNERS if unit.data_set == VERDICTS else FORECAST_LEARNERS
        return [name for name in self.measured if name in known]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """A verdict with its cost, or a forecast with what was found."""
        if unit.data_set == VERDICTS:
            return _verdict(method, self.n_draws, unit.split)
        return self._forecast(unit, method)

    def data_hash(self, unit: Unit) -> str:
        """Hash of the file that rows are from, or the seed."""
        if unit.data_set == VERDICTS:
            return f"simulated, seed {_seed(unit.split)}"
        return data_hash(unit.data_set, self.data_dir)

    def _forecast(self, unit: Unit, method: str) -> Record:
        """Mean width of intervals at new points with n and 4n rows, and the forecast of it."""
        X, y, points = self._rows(unit)
        case, widths, line = CASES[method], [], None
        for n in (N_NOW, TIMES * N_NOW):
            x, outcome, more = case.rows(X[:n], y[:n])
            model = case.model(self.n_draws, unit.split, calibration=None).fit(x, outcome, **more)
            widths.append(float(width(model.predict_interval(points, LEVEL, kind="credible"))))
            if line is None:
                line = model.diagnose(x, outcome, checks=["more data"], at=float(TIMES))[
                    "more data"
                ]
        assert line is not None
        found = widths[1] / widths[0]
        return {
            "forecast": line.value,
            "forecast_error": line.error,
            "low": float(line.details["low"][0]),
            "high": float(line.details["high"][0]),
            "found": found,
            "relative": line.value / found - 1,
        }

    def _rows(self, unit: Unit) -> tuple[Array, Array, Array]:
        inputs, outcome = load(unit.data_set, self.data_dir)
        X, y = inputs.to_numpy(np.float64), outcome.to_numpy(np.float64)
        rows = np.random.default_rng(_seed(unit.split)).permutation(len(y))
        train, test = rows[: TIMES * N_NOW], rows[-N_POINTS:]
        return X[train], y[train], X[test]


def _seed(split: int) -> list[int]:
    return [SEED, split, N_ROWS]


def _verdict(method: str, n_draws: int, split: int) -> Record:
    """Whether a learner is warned about, by which lines, and what that cost."""
    case, rng = CASES[method], np.random.default_rng(_seed(split))
    truth = case.truth(split)
    X = truth.inputs(N_ROWS, rng)
    y = truth.outcomes(X, rng)
    x, outcome, more = case.rows(X, y)
    started = time.perf_counter()
    model = case.model(n_draws, split).fit(x, outcome, **more)
    fitted = time.perf_counter()
    found = model.diagnose(x, outcome)
    ended = time.perf_counter()
    return {
        "warns": found.warns,
        "right": found.warns == case.must_warn,
        "lines": [line.name for line in found.warnings],
        "unknown": [line.name for line in found if line.status == "unknown"],
        "numbers": {line.name: line.value for line in found if np.isfinite(line.value)},
        "fit_seconds": fitted - started,
        "diagnose_seconds": ended - fitted,
    }
