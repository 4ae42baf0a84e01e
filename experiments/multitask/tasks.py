r"""Tasks of App. D.2: functions of a latent feature, seen through a random network.

:math:`\bar g \sim GP(0, \bar k)`, :math:`\bar x = (\bar x_{true}, \bar x_{spurious}) \sim N(0, I)`,
:math:`y \sim N(\bar g(\bar x_{true}), \sigma_0^2)`, :math:`x = \Phi(\bar x)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

Array = NDArray[np.float64]
N_LATENT, N_INPUTS = 4, 10  # one true feature, three spurious ones
SCALE = 0.954  # length scale: median distance of two standard normal numbers
NOISE = 0.5  # the paper does not say
GRID = np.linspace(-2.25, 2.25, 10)  # of the true feature, where functions are compared
N_TERMS = 100  # of the expansion of the kernel, exact to rounding for features up to 6


@dataclass(frozen=True)
class World:
    """What all tasks share: the network Φ.

    Attributes
    ----------
    weights : tuple of arrays
        Three hidden layers of width 128 and the output, with swish; LeCun's normal initialisation.
    """

    weights: tuple[Array, ...]

    @classmethod
    def random(cls, rng: np.random.Generator, width: int = 128, n_hidden: int = 3) -> World:
        """A random network."""
        sizes = (N_LATENT, *(width,) * n_hidden, N_INPUTS)
        pairs = pairwise(sizes)
        return cls(tuple(rng.normal(0, a**-0.5, size=(a, b)) for a, b in pairs))

    def observed(self, latent: Array) -> Array:
        """Inputs x of latent features (..., 4)."""
        *hidden, last = self.weights
        for layer in hidden:
            latent = latent @ layer
            latent = latent * expit(latent)
        return np.asarray(latent @ last)

    def evaluated(self) -> Array:
        """Inputs where functions are compared: the grid, spurious features 0."""
        return self.observed(np.column_stack([GRID, np.zeros((len(GRID), N_LATENT - 1))]))


@dataclass(frozen=True)
class Task:
    """Rows of one task, and its function on the grid."""

    true: Array
    x: Array
    y: Array
    on_grid: Array


def task(world: World, n: int, rng: np.random.Generator) -> Task:
    """A task with n rows."""
    latent = rng.standard_normal((n, N_LATENT))
    coefficients = rng.standard_normal(N_TERMS)
    y = expansion(latent[:, 0]) @ coefficients + NOISE * rng.standard_normal(n)
    return Task(latent[:, 0], world.observed(latent), y, expansion(GRID) @ coefficients)


def expansion(x: Array) -> Array:
    r"""Features whose products are :math:`e^{-(x-x')^2/2\ell^2}`, shape (n, N_TERMS).

    :math:`\phi_k(x) = e^{-x^2/2\ell^2} (x/\ell)^k / \sqrt{k!}`: so functions of the process can be
    sampled at any number of points.
    """
    u, k = np.abs(x[:, None]) / SCALE, np.arange(N_TERMS)
    with np.errstate(divide="ignore"):
        size = np.where(k == 0, 0.0, k * np.log(u)) - gammaln(k + 1) / 2 - u**2 / 2
    return np.asarray(np.exp(size) * np.where(x[:, None] < 0, (-1.0) ** k, 1.0))


def process_posterior(train: Array, y: Array, new: Array) -> tuple[Array, Array]:
    """Mean and covariance at new rows of the process with these features (prior N(0, I))."""
    gram = train @ train.T + NOISE**2 * np.eye(len(train))
    gain = np.linalg.solve(gram, train @ new.T).T
    return gain @ y, new @ new.T - gain @ train @ new.T
