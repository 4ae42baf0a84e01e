r"""The linear-Gaussian inverse problem and its regularised martingale (section 3.2.2, App. B.3.2).

Observations are :math:`z_i \sim N(A\theta, I)` with prior :math:`\theta \sim N(0, I)`. In the
singular basis of A, with singular value s, every coefficient t of :math:`\theta` goes its own way,

.. math:: t_{j} = t_{j-1} + \frac{s}{j s^2 + 1} (w_j - s\,t_{j-1})

(eq. lingauss-alg with :math:`\eta_j = 1/j`, :math:`G_j = (A^\top A + I / j)^{-1}`). On imputed
observations :math:`w_j - s t_{j-1}` is standard normal whatever t is, so that the increments of a
whole block of rows add up to one normal number with variance

.. math:: \sum_j \frac{s^2}{(j s^2 + 1)^2} = s^{-2} \sum_j (j + s^{-2})^{-2},

a difference of trigamma functions. A block of any size costs one number per coefficient, and is
exactly as many single steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import polygamma

from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.schedule import Schedule, is_number, is_whole, usual_schedule
from nearbayes.core.seeds import Streams

__all__ = ["LinearGaussian", "NormalPosterior"]

Array = NDArray[np.float64]
NUMBERS_AT_ONCE, SMALLEST_CHUNK, LARGEST_CHUNK = 50_000, 16, 5_000
HORIZON = 1e4  # times n: small singular values are learned slowly
NO_SINGULAR_VALUE = 1e-12  # of the largest


@dataclass(frozen=True)
class NormalPosterior:
    r"""The exact posterior of the inverse problem, in the singular basis of A.

    Attributes
    ----------
    mean, sd : array of shape (d,)
        Of :math:`\theta`, coordinate by coordinate.
    coefficients, coefficient_sds : array of shape (rank,)
        Mean and sd of the independent coefficients in the basis of right singular vectors.
    basis : array of shape (d, rank), optional
        The singular vectors; None where A is diagonal. Directions beside them have the prior.
    """

    mean: Array
    sd: Array
    coefficients: Array
    coefficient_sds: Array
    basis: Array | None = None

    def sample(self, size: int, rng: Rng) -> Array:
        """Posterior draws of θ, shape (size, d)."""
        noise = rng.standard_normal((size, len(self.mean)))
        if self.basis is None:
            return np.asarray(self.mean + self.sd * noise)
        inside = noise @ self.basis  # standard normal, too
        beside = noise - inside @ self.basis.T
        return np.asarray(self.mean + beside + (self.coefficient_sds * inside) @ self.basis.T)


@dataclass(frozen=True, eq=False)
class LinearGaussian(ChunkAlgorithm):
    r"""Regularised online gradient for :math:`z \sim N(A\theta, I)` (eq. lingauss-alg).

    The first fit is the posterior mean under :math:`\theta \sim N(0, I)`. Draws are
    :math:`\theta`; directions that A does not see keep their mean 0.

    Parameters
    ----------
    A : array of shape (p, d), or of shape (d,)
        The operator; a vector is the diagonal of a diagonal one.
    alpha : float
        Distances are :math:`\|(A^\top A)^{\alpha/2}(\theta - \theta')\|`: 1 for the distance of
        predictions :math:`A\theta`, 0 for that of parameters.

    Examples
    --------
    >>> import nearbayes as nb
    >>> problem = nb.LinearGaussian.decaying(50, beta=1.0)
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=50) * problem.A + rng.normal(size=(100, 50))
    >>> posterior = nb.martingale_posterior(problem, z, n_draws=2000, random_state=0)
    >>> ratio = posterior.apply(lambda theta: theta).std / problem.exact_posterior(z).sd
    >>> bool(np.abs(ratio[:5] - 1).max() < 0.08)
    True
    """

    A: ArrayLike
    alpha: float = 1.0

    def __post_init__(self) -> None:
        operator = np.asarray(self.A)
        if operator.ndim not in (1, 2) or 0 in operator.shape or operator.dtype.kind not in "fiu":
            raise ValueError(
                "A must be a matrix of shape (p, d), or the diagonal of a diagonal one, of numbers,"
                f" got shape {operator.shape} and dtype {operator.dtype}."
            )
        if not np.isfinite(operator).all() or not operator.any():
            raise ValueError("A must be finite and not all zero: check its entries.")
        if not (is_number(self.alpha) and np.isfinite(self.alpha)):
            raise ValueError(f"alpha must be a finite number, got {self.alpha!r}.")

    @classmethod
    def decaying(cls, dimension: int, beta: float, alpha: float = 1.0) -> LinearGaussian:
        r"""Diagonal operator with singular values :math:`i^{-\beta}`, as in the paper."""
        if not (is_whole(dimension) and dimension >= 1):
            raise ValueError(f"dimension must be a whole number, 1 or more, got {dimension!r}.")
        if not (is_number(beta) and np.isfinite(beta)):
            raise ValueError(f"beta must be a finite number, got {beta!r}.")
        return cls(np.arange(1.0, dimension + 1) ** -float(beta), alpha)

    @cached_property
    def _parts(self) -> tuple[Array | None, Array, Array | None]:
        """Left singular vectors, singular values above 0, right ones; None for a diagonal A."""
        operator = np.asarray(self.A, dtype=np.float64)
        if operator.ndim == 1 and (np.abs(operator) > 0).all():
            return None, operator, None
        if operator.ndim == 1:
            seen = np.flatnonzero(operator)
            identity = np.eye(len(operator))[:, seen]
            return identity, operator[seen], identity
        left, values, right = np.linalg.svd(operator, full_matrices=False)
        kept = values > NO_SINGULAR_VALUE * values[0]
        return left[:, kept], values[kept], right[kept].T

    @property
    def singular_values(self) -> Array:
        """Those above 0, shape (rank,)."""
        return np.abs(self._parts[1])

    @cached_property
    def traits(self) -> Traits:
        """A far horizon costs nothing; what it captures is measured in the norm of the problem."""
        chunk = NUMBERS_AT_ONCE // len(self._parts[1])
        return Traits(
            chunk=min(max(chunk, SMALLEST_CHUNK), LARGEST_CHUNK),
            keeps_rows=False,
            runs_in="threads",
            schedule=_far_schedule,
            captured=partial(_captured, self.singular_values, self.alpha),
        )

    def fit(self, data: Sequence[Data], streams: Streams) -> Array:
        """Posterior mean of each draw's observations, shape (n_draws, rank)."""
        if isinstance(data, Repeated):
            return np.tile(self._mean(data[0]), (len(data), 1))
        distinct = {id(each): each for each in data}
        means = {key: self._mean(each) for key, each in distinct.items()}
        return np.stack([means[id(each)] for each in data])

    def _mean(self, data: Data) -> Array:
        """Coefficients of the posterior mean."""
        z = self._checked(data)
        left, values, _ = self._parts
        seen = np.average(z, axis=0, weights=data.count)
        seen = seen if left is None else seen @ left
        return np.asarray(data.size * values * seen / (data.size * values**2 + 1))

    def _checked(self, data: Data) -> Array:
        if data.table is not None:
            raise ValueError("LinearGaussian takes observations z alone, got X and y: give z.")
        z = np.asarray(data.y, dtype=np.float64)
        rows = np.shape(self.A)[0]
        if z.ndim != 2 or z.shape[1] != rows:
            raise ValueError(
                f"observations must have shape (n, {rows}), one column per row of A, got shape "
                f"{z.shape}."
            )
        return z

    def sample(self, models: Array, x: Sequence[Rows], streams: Streams) -> Array:
        """Standardised innovation of a block: one normal number per draw and coefficient."""
        return streams.chunk.standard_normal(np.shape(models))

    def refit(self, data: Sequence[Data], new: Blocks, models: Array, streams: Streams) -> Array:
        """Add the increments of a block, as if its rows had come one by one."""
        noise, values, total = np.asarray(new.y), self._parts[1], new.total
        if new.size == total:  # all there is: a parametric bootstrap
            seen = values * models + noise / np.sqrt(total)
            return np.asarray(total * values * seen / (total * values**2 + 1))
        return np.asarray(models + noise * increment_sd(values, total - new.size, total))

    def reveal(self, model: Array) -> Array:
        """The parameters θ, shape (d,)."""
        right = self._parts[2]
        return np.asarray(model) if right is None else np.asarray(model) @ right.T

    def exact_posterior(self, z: ArrayLike) -> NormalPosterior:
        r"""The posterior :math:`N(\hat\Sigma_n^{-1} A^\top \bar z, (n \hat\Sigma_n)^{-1})`.

        Parameters
        ----------
        z : array of shape (n, p)
        """
        data = Data.of(z)
        mean = self._mean(data)
        _, values, right = self._parts
        sds = (data.size * values**2 + 1) ** -0.5
        if right is None:
            return NormalPosterior(mean, sds, mean, sds)
        variances = 1 - np.sum(right**2, axis=1) + right**2 @ sds**2
        return NormalPosterior(right @ mean, np.sqrt(variances), mean, sds, right)

    def radius(self, n: float) -> float:
        r"""Spread :math:`\mathcal{E}_n` of the exact posterior in the norm (eq. bayes-error-wn)."""
        values = self.singular_values
        return float(np.sqrt(np.sum(values ** (2 * self.alpha) / (n * values**2 + 1))))

    def wasserstein(self, n: float, total: float = np.inf) -> float:
        """2-Wasserstein distance of the martingale posterior from the exact one, in the norm.

        Parameters
        ----------
        n : float
            Number of real rows.
        total : float
            Real and imputed rows at the end of paths.
        """
        values = self.singular_values
        gaps = increment_sd(values, n, total) - (n * values**2 + 1) ** -0.5
        return float(np.sqrt(np.sum(values ** (2 * self.alpha) * gaps**2)))


def increment_sd(values: Array, before: float, after: float) -> Array:
    """Standard deviation of the steps from row `before` to `after`, by singular value."""
    prior = values**-2.0
    left = polygamma(1, before + 1 + prior)
    right = 0.0 if np.isinf(after) else polygamma(1, after + 1 + prior)
    return np.asarray(np.sqrt(prior * (left - right)))


def _captured(values: Array, alpha: float, n: float, blocks: Sequence[int]) -> float:
    """Share of the exact posterior's variance, in the norm of the problem."""
    weights = values ** (2 * alpha)
    reached = np.sum(weights * increment_sd(values, n, n + sum(blocks)) ** 2)
    return min(1.0, float(reached / np.sum(weights / (n * values**2 + 1))))


def _far_schedule(n_refits: int | None) -> Schedule:
    """Refits as asked for; by default one long block, which is as many single steps."""
    if n_refits is None:
        return Schedule.arithmetic(horizon=HORIZON, block=HORIZON)
    return usual_schedule(n_refits)


def example() -> tuple[LinearGaussian, Data]:
    """An operator that mixes coordinates, and data for it."""
    rng = np.random.default_rng(7)
    operator = rng.normal(size=(5, 3))
    return LinearGaussian(operator), Data.of(rng.normal(size=(60, 5)) + operator @ np.ones(3))
