"""What experiments with known truths share: data of a truth, intervals of a model, and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.coverage.truths import Truth
from experiments.runner.records import Record
from nearbayes.draws.credible import credible_interval, inflate
from nearbayes.metrics import coverage, width

Array = NDArray[np.float64]

N_POINTS = 500
LEVEL = 0.9
ROUNDING = 1e-9  # relative: a prediction may seem to be outside, an interval of no width have some


class Simulated(NamedTuple):
    """Rows to fit, and new points with the probability of class 1 or the regression function."""

    X: Array
    y: NDArray[Any]
    points: Array
    known: Array


def simulated(truth: Truth, n: int, seed: Any, n_points: int = N_POINTS) -> Simulated:
    """A data set of a truth; the same seed gives the same rows in every experiment."""
    rng = np.random.default_rng(seed)
    X = truth.inputs(n, rng)
    y = truth.outcomes(X, rng)
    points = truth.inputs(n_points, rng)
    known = truth.function(points)
    return Simulated(X, y, points, expit(known) if truth.is_class else known)


def best_interval(model: Any, points: Array) -> Array:
    """What a user gets: calibrated intervals, where the learner is calibrated."""
    kind = {} if _is_class(model) else {"kind": "credible"}
    return _select(model, model.predict_interval(points, LEVEL, **kind))


def uncalibrated_intervals(model: Any, points: Array) -> dict[str, Array]:
    """Quantiles of the draws: raw, and spread for what the schedule leaves out (App. C)."""
    posterior = model.posterior_
    draws = posterior.predict(points)
    spread = inflate(draws, posterior.provenance.inflation, posterior.link)
    return {
        name: _select(model, credible_interval(values, LEVEL))
        for name, values in (("raw", draws), ("inflated", spread))
    }


def point_prediction(model: Any, points: Array) -> Array:
    """Probability of class 1, or the regression function."""
    if _is_class(model):
        return np.asarray(model.predict_proba(points)[:, 1], dtype=np.float64)
    return np.asarray(model.predict(points), dtype=np.float64)


def scored(known: Array, intervals: Mapping[str, Array]) -> Record:
    """Coverage and mean width of every kind of interval."""
    return {
        f"{name} {what}": float(score(*arguments))
        for name, bounds in intervals.items()
        for what, score, arguments in (
            ("coverage", coverage, (known, bounds)),
            ("width", width, (bounds,)),
        )
    }


def inside(values: Array, bounds: Array) -> NDArray[np.bool_]:
    """Which values are in their interval, but for rounding."""
    slack = ROUNDING * np.abs(values)
    return np.asarray((bounds[:, 0] <= values + slack) & (values - slack <= bounds[:, 1]))


def oddities(model: Any, points: Array, bounds: Array) -> Record:
    """Shares of intervals that no user would understand: each should be 0."""
    zero = np.ptp(bounds, axis=1) <= ROUNDING * np.abs(bounds).max(axis=1)
    draws = model.posterior_.predict(points)
    differ = np.ptp(draws[..., 1] if _is_class(model) else draws, axis=0) > 0
    return {
        "excludes prediction": float(np.mean(~inside(point_prediction(model, points), bounds))),
        "zero width": float(np.mean(zero)),
        "zero width, draws differ": float(np.mean(zero & differ)),
    }


def calibration_facts(model: Any) -> Record:
    """Factor of calibrated intervals, and cost of the whole fit in fits without calibration."""
    found = model.calibration_
    if found is None:
        return {"factor": float("nan"), "factor_error": float("nan"), "cost": 1.0}
    return {
        "factor": found.factor(LEVEL),
        "factor_error": found.error(LEVEL),
        "cost": 1 + found.seconds / seconds_of_draws(model),
    }


def seconds_of_draws(model: Any) -> float:
    """Time of the first fit and of all draws, in one process.

    All of them, not their median: calibration is timed in the same way, so that a busy machine
    slows both down.
    """
    return float(model.posterior_.provenance.seconds["total"])


def _select(model: Any, bounds: Array) -> Array:
    """Bounds of the second class, or of the regression function."""
    return bounds[:, 1] if _is_class(model) else bounds


def _is_class(model: Any) -> bool:
    return hasattr(model, "classes_")
