r"""Losses: training losses of networks, convex functions of the output.

Section 4 of the paper keeps, at a refit, the function-space Bregman divergence of the loss at old
rows (eq. nn-objective):

.. math:: \bar\ell_B(f, z; \bar f) = \ell(f, z) - \ell(\bar f, z)
          - \nabla_f \ell(\bar f, z)^\top (f - \bar f) .

It is at least 0, and 0 at the old output, if the loss is convex in f. Up to terms without f, it is
the loss minus a linear function of the output; `shift` is its slope. So one formula serves every
loss, :math:`\ell(f, t) - \text{shift}^\top f`, at old rows, at new rows (where the slope is 0), and
at rows that have both.

A loss takes *statistics* t of the outcome. If it is affine in them, observations at the same
input are merged to the mean of their statistics. For squared loss, cross-entropy and Poisson loss
that makes refit targets the mean of old predictions and new outcomes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.neural.convexity import refuse_unless_convex
from nearbayes.neural.outcomes import SMALLEST_ROOT

__all__ = [
    "CrossEntropy",
    "FunctionLoss",
    "HeteroscedasticLoss",
    "Loss",
    "PoissonLoss",
    "SquaredLoss",
    "check_convex",
    "slope",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Loss(ABC):
    """A loss of one row; `affine` says whether it is affine in the statistics of the outcome."""

    affine: ClassVar[bool] = True

    @abstractmethod
    def value(self, output: Any, statistics: Any) -> Any:
        """Loss, up to a term without `output`; shapes (n_outputs,), (n_statistics,) to ()."""


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """Half the squared error; the statistic is y.

    Examples
    --------
    >>> float(jax.grad(SquaredLoss().value)(jnp.array([3.0]), jnp.array([1.0]))[0])
    2.0
    """

    def value(self, output: Any, statistics: Any) -> Any:
        """f² / 2 - f y, summed over outputs."""
        return jnp.sum(output * (0.5 * output - statistics))


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Minus the log probability of the class; statistics are indicators of the classes."""

    def value(self, output: Any, statistics: Any) -> Any:
        """Log sum exp f - f of the class."""
        total = jnp.sum(statistics)
        return total * jax.nn.logsumexp(output) - jnp.sum(output * statistics)


@dataclass(frozen=True)
class PoissonLoss(Loss):
    """Minus the log likelihood of counts; the output is the log of the mean."""

    def value(self, output: Any, statistics: Any) -> Any:
        """exp(f) - f y."""
        return jnp.sum(jnp.exp(output) - output * statistics)


@dataclass(frozen=True)
class HeteroscedasticLoss(Loss):
    r"""Minus the log density of a normal whose variance depends on x; statistics are y and y².

    The outputs are :math:`a = m / s` and :math:`b = 1 / s` of mean m and sd s, in which
    :math:`(b y - a)^2 / 2 - \log b` is convex jointly. Below a small b the logarithm is continued
    by its tangent, so that every output has a loss.
    """

    def value(self, output: Any, statistics: Any) -> Any:
        """(b y - a)² / 2 - log b."""
        a, b = output
        mean, square = statistics
        line = jnp.log(SMALLEST_ROOT) + (b - SMALLEST_ROOT) / SMALLEST_ROOT
        log = jnp.where(b > SMALLEST_ROOT, jnp.log(jnp.maximum(b, SMALLEST_ROOT)), line)
        return 0.5 * (b**2 * square - 2 * a * b * mean + a**2) - log


@dataclass(frozen=True)
class FunctionLoss(Loss):
    """A user's loss, convex in the output: ``function(output, y)`` in terms of `jax.numpy`."""

    function: Callable[[Any, Any], Any]
    affine: ClassVar[bool] = False

    def value(self, output: Any, statistics: Any) -> Any:
        """Value of the function."""
        return self.function(output, statistics)


def slope(loss: Loss, output: Any, statistics: Any) -> Any:
    """Gradient of the loss in the output, (..., n_outputs); leading axes are mapped over."""
    gradient = jax.grad(loss.value)
    for _ in range(output.ndim - 1):
        gradient = jax.vmap(gradient)
    return gradient(output, statistics)


def check_convex(loss: Loss, n_outputs: int, statistics: Array, rng: np.random.Generator) -> None:
    """Reject a loss that is found not to be convex in the output, or not to be bounded below."""

    def hessians(outputs: Array, rows: Array) -> Array:
        return np.asarray(jax.vmap(jax.hessian(loss.value))(outputs, rows))

    def values(outputs: Array, rows: Array) -> Array:
        return np.asarray(jax.vmap(loss.value)(outputs, rows))

    refuse_unless_convex(hessians, values, n_outputs, statistics, rng)
