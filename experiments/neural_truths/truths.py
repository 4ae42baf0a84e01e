"""Four truths: smooth in two inputs, linear in eight, Friedman's function, and steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.coverage.truths import Truth

Array = NDArray[np.float64]
SLOPES = 0.6 * np.linspace(-1, 1, 8)


@dataclass(frozen=True)
class UniformTruth(Truth):
    """A truth with uniform inputs between -2 and 2."""

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        """Uniform inputs."""
        return rng.uniform(-2, 2, size=(n, self.n_features))


def _smooth(x: Array) -> Array:
    return np.asarray(np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] ** 2 - 0.5)


def _linear(x: Array) -> Array:
    return np.asarray(x @ SLOPES)


def _friedman(x: Array) -> Array:
    """Friedman's function of inputs between -2 and 2, centred and divided by 5."""
    u = (x + 2) / 4
    waves = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2
    return np.asarray((waves + 10 * u[:, 3] + 5 * u[:, 4] - 14) / 5)


def _steps(x: Array) -> Array:
    return np.asarray(1.0 * (x[:, 0] > 0) + 0.7 * (x[:, 1] > 0.5) * (x[:, 2] < 0))


def _normal(sd: float) -> Callable[[Array, np.random.Generator], Array]:
    return lambda x, rng: rng.normal(0.0, sd, len(x))


TRUTHS: dict[str, Truth] = {  # Friedman has a sixth input and steps a fourth that say nothing
    "smooth": UniformTruth(_smooth, 2, _normal(0.6)),
    "linear": Truth(_linear, 8, _normal(0.8)),
    "friedman": UniformTruth(_friedman, 6, _normal(0.4)),
    "steps": Truth(_steps, 4, _normal(0.4)),
}
