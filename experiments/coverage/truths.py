"""Simulated truths: log-odds of a class, or a regression function with noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """A distribution to simulate data from.

    Attributes
    ----------
    function : callable
        Log-odds of class 1, or the regression function, of rows (n, n_features).
    n_features : int
    noise : callable, optional
        Noise of the outcome, given the rows and a generator; None for a class.
    """

    function: Callable[[Array], Array]
    n_features: int = 5
    noise: Callable[[Array, np.random.Generator], Array] | None = None

    @property
    def is_class(self) -> bool:
        """Whether the outcome is a class."""
        return self.noise is None

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        """Normal inputs."""
        return rng.normal(size=(n, self.n_features))

    def outcomes(self, x: Array, rng: np.random.Generator) -> Array:
        """Outcomes at the inputs."""
        if self.noise is None:
            return np.asarray(rng.random(len(x)) < expit(self.function(x))).astype(np.intp)
        return self.function(x) + self.noise(x, rng)


def _smooth(x: Array) -> Array:
    return 1.5 * np.sin(1.5 * x[:, 0]) + x[:, 1]


def _interactions(x: Array) -> Array:
    return 2 * x[:, 0] * x[:, 1] + x[:, 2]


def _steps(x: Array) -> Array:
    return 2.0 * (x[:, 0] > 0) - 1.5 * (x[:, 1] > 0.5) + (x[:, 2] > -0.5)


def _linear(x: Array) -> Array:
    return 1.5 * x[:, 0] - x[:, 1]


def _interaction_and_sine(x: Array) -> Array:
    return 1.5 * x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2])


def _normal(sd: float) -> Callable[[Array, np.random.Generator], Array]:
    return lambda x, rng: rng.normal(0.0, sd, len(x))


def _growing(x: Array, rng: np.random.Generator) -> Array:
    return rng.normal(size=len(x)) * np.exp(x[:, 0] / 2)


def _heavy_tailed(x: Array, rng: np.random.Generator) -> Array:
    return rng.standard_t(3, len(x))


TRUTHS = {
    "class, smooth": Truth(_smooth),
    "class, interactions": Truth(_interactions),
    "class, steps": Truth(_steps),
    "class, high noise": Truth(lambda x: 0.5 * x[:, 0]),
    "class, rare": Truth(lambda x: x[:, 0] + x[:, 1] - 2.5),
    "class, 20 noise features": Truth(_linear, 22),
    "number, smooth": Truth(_smooth, noise=_normal(1.0)),
    "number, interactions": Truth(_interactions, noise=_normal(1.0)),
    "number, steps": Truth(_steps, noise=_normal(0.5)),
    "number, high noise": Truth(_linear, noise=_normal(5.0)),
    "number, noise that grows": Truth(_smooth, noise=_growing),
    "number, heavy tails": Truth(_interactions, noise=_heavy_tailed),
    "number, 20 noise features": Truth(_linear, 22, noise=_normal(1.0)),
}
# further ones; those above keep their places, which are part of their seeds
ALL_TRUTHS = {**TRUTHS, "class, interaction and sine": Truth(_interaction_and_sine)}
