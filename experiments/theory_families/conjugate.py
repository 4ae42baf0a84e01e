r"""Conjugate models with proper priors, and products of independent coordinates of them.

Under the prior :math:`\bar\pi(\eta) \propto e^{\eta\theta_\pi - \alpha A(\eta)}` of section 3.2.1
the posterior mean is :math:`(n\hat\theta_n + \theta_\pi) / (n + \alpha)`, and the squared radius
:math:`\mathcal{E}_n^2 = V_\pi / (n + \alpha)` with :math:`V_\pi = E\,\mathrm{Var}(z \mid \theta)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import nearbayes as nb

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Conjugate:
    """A family, its prior, and the posterior of one coordinate.

    Attributes
    ----------
    family : Family
        With one statistic, z itself.
    alpha, theta_pi : float
        Of the prior.
    prior : frozen distribution of scipy
        Of the mean parameter.
    noise : float
        V_π, the mean variance of z given its parameter.
    posterior : callable
        ``posterior(shape, total)`` for shape = n + α and total = Σz + θ_π, elementwise.
    """

    family: Any
    alpha: float
    theta_pi: float
    prior: Any
    noise: float
    posterior: Callable[[float, Array], Any]

    def radius(self, n: int) -> float:
        """Squared radius of a coordinate."""
        return self.noise / (n + self.alpha)

    def simulated(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Observations (n, d), every coordinate with a parameter of its own from the prior."""
        theta = self.prior.rvs(size=d, random_state=rng)
        single = [np.atleast_1d(np.ravel(self.family.sample(t[None], n, rng))) for t in theta]
        return np.stack(single, axis=1)

    def distances(self, z: Array, draws: Array) -> Array:
        """Squared 2-Wasserstein distances to the posteriors of the coordinates, shape (d,).

        Draws are compared to as many quantiles of the exact posterior.
        """
        exact = self.posterior(len(z) + self.alpha, z.sum(axis=0) + self.theta_pi)
        n_draws = len(draws)
        levels = (np.arange(n_draws) + 0.5) / n_draws
        return np.asarray(np.mean((np.sort(draws, axis=0) - exact.ppf(levels[:, None])) ** 2, 0))


@dataclass(frozen=True)
class Product:
    """Independent coordinates of one family, as a family.

    Attributes
    ----------
    one : Family
        Of a coordinate, whose innovations are elementwise.
    d : int
        Number of coordinates.
    """

    one: Any
    d: int

    @property
    def n_statistics(self) -> int:
        """One per coordinate."""
        return self.d

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = z, checked by the family."""
        return np.column_stack([self.one.statistics(column) for column in np.asarray(z).T])

    def sample(self, theta: Array, size: int, rng: np.random.Generator) -> Array:
        """Observations, shape (size, d)."""
        single = [np.ravel(self.one.sample(each[None], size, rng)) for each in theta]
        return np.stack(single, axis=1)

    def sample_innovation(self, theta: Array, size: int, rng: np.random.Generator) -> Array:
        """Of all coordinates at once."""
        return np.asarray(self.one.sample_innovation(theta, size, rng))

    def parameters(self, theta: Array) -> Array:
        """The means."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: np.random.Generator) -> Array:
        """Exact draws under a vanishing prior, coordinate by coordinate."""
        return np.column_stack([self.one.conjugate_posterior(each, size, rng) for each in z.T])


CONJUGATES = {
    "Gaussian": Conjugate(
        nb.families.Gaussian(),
        alpha=1.0,
        theta_pi=0.0,
        prior=stats.norm(),
        noise=1.0,
        posterior=lambda shape, total: stats.norm(total / shape, shape**-0.5),
    ),
    "Exponential": Conjugate(
        nb.families.Exponential(),
        alpha=4.0,
        theta_pi=4.0,
        prior=stats.invgamma(5, scale=4.0),
        noise=16 / 12,  # second moment of the prior, b^2 / (alpha (alpha - 1))
        posterior=lambda shape, total: stats.invgamma(shape + 1, scale=total),
    ),
    "Bernoulli": Conjugate(
        nb.families.Bernoulli(),
        alpha=2.0,
        theta_pi=1.0,
        prior=stats.uniform(),
        noise=1 / 6,
        posterior=lambda shape, total: stats.beta(total, shape - total),
    ),
    "Poisson": Conjugate(
        nb.families.Poisson(),
        alpha=1.0,
        theta_pi=2.0,
        prior=stats.gamma(2),
        noise=2.0,
        posterior=lambda shape, total: stats.gamma(total, scale=1 / shape),
    ),
}
