"""Joint bands: 90 % bands of a curve, by how many of 200 replications they cover it everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from experiments.coverage.measures import LEVEL, Array
from experiments.runner.records import Record, Unit
from nearbayes.gp.kernels import spectral_frequencies

N_ROWS, N_POINTS = 50, 40
REPLICATIONS = 20  # per split
NOISE = 0.3
N_FEATURES = 200
ENDS = {"linear model": (-1.0, 1.0), "Gaussian process": (0.0, 5.0)}
METHODS = ("band", "interval")


@dataclass(frozen=True)
class JointBands:
    """A split is twenty replications of a model; a record has both methods' answers."""

    data_sets: tuple[str, ...] = tuple(ENDS)
    measured: tuple[str, ...] = ("curves",)
    n_splits: int = 10
    n_draws: int = 200
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "n_rows": N_ROWS, "n_points": N_POINTS, "noise": NOISE}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """Band and interval are of the same draws."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Whether the curve was inside at all points, in every replication."""
        place = tuple(ENDS).index(unit.data_set)
        found = [
            covered(unit.data_set, np.random.default_rng([24, place, unit.split, k]), self.n_draws)
            for k in range(REPLICATIONS)
        ]
        return {name: [each[name] for each in found] for name in (*METHODS, "points")}

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {[24, unit.split]}"


def covered(model: str, rng: np.random.Generator, n_draws: int) -> dict[str, Any]:
    """Whether band and pointwise interval hold the whole curve; share of points in the latter."""
    low, high = ENDS[model]
    x = rng.uniform(low, high, N_ROWS)
    grid = np.linspace(low, high, N_POINTS)
    truth, posterior = CURVES[model](x, grid, rng, n_draws)
    band, interval = posterior.band(LEVEL), posterior.interval(LEVEL)
    inside = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    whole = (band[:, 0] <= truth) & (truth <= band[:, 1])
    return {
        "band": bool(whole.all()),
        "interval": bool(inside.all()),
        "points": float(inside.mean()),
    }


def _cubic(x: Array, grid: Array, rng: np.random.Generator, n_draws: int) -> Any:
    """A cubic with random coefficients, fitted by least squares with the default noise."""
    truth = np.polynomial.Polynomial(rng.normal(size=4))
    y = truth(x) + NOISE * rng.normal(size=N_ROWS)
    model = nb.PosteriorRegressor(
        LinearRegression(), n_draws=n_draws, random_state=_seed(rng), progress=False
    ).fit(_powers(x), y)
    return truth(grid), model.posterior_.predictions(_powers(grid))


def _powers(x: Array) -> Array:
    return np.stack([x, x**2, x**3], axis=1)


def _process(x: Array, grid: Array, rng: np.random.Generator, n_draws: int) -> Any:
    """A path of the process of some random features, fitted by sequential MAP.

    The truth has the features of the fit, so that nothing but the posterior is tested; as an
    approximation of its kernel, 200 features err by up to half of a posterior sd.
    """
    frequencies = spectral_frequencies("matern52", np.ones(1), N_FEATURES // 2, rng)
    weights = rng.normal(size=N_FEATURES)
    algorithm = nb.gp.RandomFeatureGP(
        "matern52", noise=NOISE, n_features=N_FEATURES, frequencies=frequencies
    )
    truth = _path(grid, frequencies, weights)
    y = _path(x, frequencies, weights) + NOISE * rng.normal(size=N_ROWS)
    posterior = nb.martingale_posterior(
        algorithm, (x[:, None], y), n_draws=n_draws, random_state=_seed(rng), progress=False
    )
    return truth, posterior.predictions(grid[:, None])


def _path(x: Array, frequencies: Array, weights: Array) -> Array:
    """Cosines and sines with these weights, of unit variance in all."""
    angles = x[:, None] @ frequencies.T
    features = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(features @ weights / np.sqrt(len(frequencies)))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


CURVES: dict[str, Callable[..., Any]] = {"linear model": _cubic, "Gaussian process": _process}
