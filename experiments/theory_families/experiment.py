"""Wasserstein distance to conjugate posteriors over n and d; the examples of App. A.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nearbayes as nb
from experiments.runner.records import Record, Unit
from experiments.theory_families.conjugate import CONJUGATES, Array, Product
from experiments.theory_families.rare_group import RareGroup, simulated

N_GROWING = (10, 20, 40, 80, 160, 320)
DIMENSIONS = {100: (12, 30, 90), 1_000: (35, 100, 300, 900)}  # sqrt(d) < n < d
AT_ONCE = 20  # data sets of one dimension in a split
REFITS = 100  # of the optimal schedule, which captures 96 % of the variance: 0.0004 of the ratio
FEWER_DRAWS = 20  # times, in high dimension
NULL_SPACE = "null space, d=200, n=20"
RARE_SHARE = 0.02
RARE_GROUPS = {"rare group, ridge 1": 1.0, "rare group, ridge 0.1": 0.1}
GROWING = {f"{name}, d=1, n={n}": (name, 1, n) for n in N_GROWING for name in CONJUGATES}
HIGH = {
    f"{name}, d={d}, n={n}": (name, d, n)
    for d, sizes in DIMENSIONS.items()
    for n in sizes
    for name in CONJUGATES
}
METHODS = ("martingale", "bootstrap", "parametric bootstrap")


@dataclass(frozen=True)
class Families:
    """Distances to exact posteriors; bootstraps only in the two examples of App. A.3."""

    data_sets: tuple[str, ...] = (*GROWING, *HIGH, NULL_SPACE, *RARE_GROUPS)
    measured: tuple[str, ...] = METHODS
    n_splits: int = 10
    n_draws: int = 5_000
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "refits": REFITS, "at_once": AT_ONCE}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn; two of high dimension, whose coordinates are replications, too."""
        return [
            Unit(name, split)
            for split in range(self.n_splits)
            for name in self.data_sets
            if name not in HIGH or split < 2
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """Bootstraps in the examples of App. A.3."""
        in_appendix = unit.data_set == NULL_SPACE or unit.data_set in RARE_GROUPS
        return self.measured if in_appendix else self.measured[:1]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """One method on one simulated data set (twenty of one dimension)."""
        rng = np.random.default_rng(seed_of(unit))
        if unit.data_set == NULL_SPACE:
            return _null_space(method, self.n_draws // FEWER_DRAWS * 4, unit.split, rng)
        if unit.data_set in RARE_GROUPS:
            return _rare(RARE_GROUPS[unit.data_set], method, self.n_draws, unit.split, rng)
        name, d, n = {**GROWING, **HIGH}[unit.data_set]
        if d == 1:
            return _distance(name, AT_ONCE, n, self.n_draws, unit.split, rng)
        return _distance(name, d, n, self.n_draws // FEWER_DRAWS, unit.split, rng)

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def seed_of(unit: Unit) -> list[int]:
    """Seed of the data, different for every setting and split."""
    return [20, Families.data_sets.index(unit.data_set), unit.split]


def _distance(
    name: str, d: int, n: int, n_draws: int, seed: int, rng: np.random.Generator
) -> Record:
    """Mean over coordinates of the squared distance over the squared radius.

    Coordinates are independent a posteriori and in the martingale posterior, so that squared
    distances add up. `floor` is what exact draws of the same number would have.
    """
    model = CONJUGATES[name]
    z = model.simulated(n, d, rng)
    draws = _drawn("martingale", nb.SequentialMLE(Product(model.family, d)), z, n_draws, seed)
    exact = model.posterior(n + model.alpha, z.sum(axis=0) + model.theta_pi)
    same = exact.rvs(size=draws.shape, random_state=rng)
    radius = model.radius(n)
    return {
        "ratio": float(model.distances(z, draws).mean() / radius),
        "floor": float(model.distances(z, same).mean() / radius),
    }


def _drawn(method: str, algorithm: Any, z: Array, n_draws: int, seed: int) -> Array:
    """Draws of a method, shape (n_draws, ...)."""
    given: dict[str, Any] = {"n_draws": n_draws, "random_state": seed, "progress": False}
    if method == "martingale":
        schedule = nb.Schedule.optimal(refits=REFITS)
        return np.asarray(nb.martingale_posterior(algorithm, z, schedule=schedule, **given).models)
    baseline = getattr(nb.baselines, method.replace(" ", "_"))
    return np.asarray(baseline(algorithm, z, **given).models)


def _null_space(method: str, n_draws: int, seed: int, rng: np.random.Generator) -> Record:
    """Mean variance in the null space of the empirical covariance, over that of the posterior."""
    n, d = 20, 200
    z = rng.normal(size=d) + rng.normal(size=(n, d))  # the prior is N(0, 1)
    draws = _drawn(method, nb.SequentialMLE(nb.families.Gaussian(np.ones(d))), z, n_draws, seed)
    *_, right = np.linalg.svd(z - z.mean(axis=0))
    beside = right[n - 1 :]  # n centred rows span n - 1 dimensions
    variance = float(np.var(draws @ beside.T, axis=0).mean())
    return {
        "variance": variance,
        "ratio to the posterior": variance * (n + 1),
        "ratio to the flat posterior": variance * n,
    }


def _rare(ridge: float, method: str, n_draws: int, seed: int, rng: np.random.Generator) -> Record:
    """Distances to the posterior of a rare group's mean, over its squared radius; 20 data sets."""
    n, algorithm = int(0.5 / RARE_SHARE), RareGroup(RARE_SHARE, ridge)
    levels = (np.arange(n_draws) + 0.5) / n_draws
    found = []
    for replication in range(AT_ONCE):
        z = simulated(n, RARE_SHARE, ridge, rng)
        models = _drawn(method, algorithm, z, n_draws, AT_ONCE * seed + replication)
        exact, draws = algorithm.exact(z), algorithm.means(models)
        gap = np.mean((np.sort(draws) - exact.ppf(levels)) ** 2)
        found.append((np.sum(z[:, 0] == 0), gap / exact.var(), draws.var() / exact.var()))
    rows, gaps, variances = np.transpose(found)
    return {
        "rare rows": rows.tolist(),
        "distances": gaps.tolist(),
        "variances": variances.tolist(),
        "ratio": float(gaps.mean()),
    }
