r"""Distance of the martingale posterior of eq. lingauss-alg from the exact one, over n and d.

Singular values are :math:`i^{-\beta}`, the norm is :math:`\|(A^\top A)^{\alpha/2}\theta\|` (section
3.2.2). Coordinates are independent in the singular basis, so squared distances add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearbayes as nb
from experiments.runner.records import Record, Unit

DIMENSIONS = (50, 500, 5_000)
N_ROWS = (10, 30, 100, 300, 1_000)
BETAS = (0.75, 1.0, 1.5, 2.0)
ALPHAS = (0.5, 1.0, 2.0)
SETTINGS = {
    f"alpha={alpha:g}, beta={beta:g}, d={d}": (alpha, beta, d)
    for alpha in ALPHAS
    for beta in BETAS
    for d in DIMENSIONS
}
METHODS = ("formula", "draws")


@dataclass(frozen=True)
class Inverse:
    """Ratios of squared distance and radius, by formula and of draws."""

    data_sets: tuple[str, ...] = tuple(SETTINGS)
    measured: tuple[str, ...] = METHODS
    n_splits: int = 3
    n_draws: int = 2_000
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, "n": list(N_ROWS)}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """The formula has no replications."""
        return [name for name in self.measured if name != "formula" or unit.split == 0]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """The ratio at every n."""
        alpha, beta, d = SETTINGS[unit.data_set]
        problem = nb.LinearGaussian.decaying(d, beta, alpha)
        if method == "formula":
            found = [(problem.wasserstein(n) / problem.radius(n)) ** 2 for n in N_ROWS]
        else:
            rng = np.random.default_rng(seed_of(unit))
            found = [ratio_of_draws(problem, n, self.n_draws, rng) for n in N_ROWS]
        return {"ratios": [float(each) for each in found]}

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def seed_of(unit: Unit) -> list[int]:
    """Seed of the data, different for every setting and split."""
    return [21, tuple(SETTINGS).index(unit.data_set), unit.split]


def ratio_of_draws(
    problem: nb.LinearGaussian, n: int, n_draws: int, rng: np.random.Generator
) -> float:
    """Squared distance over squared radius, of the mean and sd of draws, coordinate by coordinate.

    All are normal. Exact draws would have 1.5 / n_draws, the error of their means and sds.
    """
    values = np.asarray(problem.A, dtype=np.float64)
    d = len(values)
    z = observations(values * rng.normal(size=d), n, rng)
    posterior = nb.martingale_posterior(
        problem, z, n_draws=n_draws, random_state=int(rng.integers(2**31)), progress=False
    )
    exact = problem.exact_posterior(z)
    draws = np.asarray(posterior.models)
    gaps = (draws.mean(axis=0) - exact.mean) ** 2 + (draws.std(axis=0) - exact.sd) ** 2
    return float(np.sum(values ** (2 * problem.alpha) * gaps) / problem.radius(n) ** 2)


def observations(
    mean: NDArray[np.float64], n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Rows N(mean, I), shape (n, d)."""
    return np.asarray(mean + rng.standard_normal((n, len(mean))))
