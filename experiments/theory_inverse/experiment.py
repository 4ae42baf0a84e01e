r"""Distance of the martingale posterior of eq. lingauss-alg from the exact one, over n and d.

Singular values are :math:`i^{-\beta}`, the norm is :math:`\|(A^\top A)^{\alpha/2}\theta\|` (section
3.2.2). Coordinates are independent in the singular basis, so squared distances add up. In "growing"
settings A has d singular values. In "embedded" ones it always has the first 50, and parameters of d
dimensions of which A sees 50: the same problem in more dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
SEEN = DIMENSIONS[0]  # dimensions that embedded operators see


@dataclass(frozen=True)
class Setting:
    """An inverse problem: norm, decay of singular values, dimension."""

    alpha: float
    beta: float
    d: int
    embedded: bool = False

    def __str__(self) -> str:
        kind = "embedded, " if self.embedded else ""
        return f"{kind}alpha={self.alpha:g}, beta={self.beta:g}, d={self.d}"

    def problem(self) -> nb.LinearGaussian:
        """The problem; random directions are seen where it is embedded."""
        if not self.embedded:
            return nb.LinearGaussian.decaying(self.d, self.beta, self.alpha)
        values = np.arange(1.0, SEEN + 1) ** -self.beta
        seen = np.linalg.qr(np.random.default_rng(self.d).normal(size=(self.d, SEEN)))[0]
        return nb.LinearGaussian(values[:, None] * seen.T, self.alpha)


GROWING = [Setting(*each) for each in product(ALPHAS, BETAS, DIMENSIONS)]
EMBEDDED = [Setting(1.0, beta, d, embedded=True) for beta in BETAS for d in DIMENSIONS]
SETTINGS = {str(each): each for each in (*GROWING, *EMBEDDED)}
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
        problem = SETTINGS[unit.data_set].problem()
        if method == "formula":
            found = [(problem.wasserstein(n) / problem.radius(n)) ** 2 for n in N_ROWS]
        else:
            rng = np.random.default_rng(seed_of(unit))
            found = [ratio_of_draws(problem, n, self.n_draws, rng) for n in N_ROWS]
        floor = 0.0 if method == "formula" else 1.5 / self.n_draws
        return {"ratios": [float(each) for each in found], "floor": floor}

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
    operator = np.asarray(problem.A, dtype=np.float64)
    truth = rng.normal(size=operator.shape[-1])
    z = observations(_seen(operator, truth), n, rng)
    posterior = nb.martingale_posterior(
        problem, z, n_draws=n_draws, random_state=int(rng.integers(2**31)), progress=False
    )
    exact = problem.exact_posterior(z)
    values = problem.singular_values
    draws = _seen(operator, np.asarray(posterior.apply(lambda theta: theta).values))
    gaps = (draws.mean(axis=0) - _seen(operator, exact.mean)) ** 2
    gaps += (draws.std(axis=0) - values * exact.coefficient_sds) ** 2
    return float(np.sum(values ** (2 * problem.alpha - 2) * gaps) / problem.radius(n) ** 2)


def _seen(operator: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """What operators see of vectors (..., d), one entry per singular value."""
    return np.asarray(theta * operator if operator.ndim == 1 else theta @ operator.T)


def observations(
    mean: NDArray[np.float64], n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Rows N(mean, I), shape (n, d)."""
    return np.asarray(mean + rng.standard_normal((n, len(mean))))
