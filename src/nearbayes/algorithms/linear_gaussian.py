r"""The linear-Gaussian inverse problem and its regularised martingale (section 3.2.2, App. B.3.2).

Observations are :math:`z_i \sim N(A\theta, I)` with prior :math:`\theta \sim N(0, I)`. In the
singular basis of A, with singular value s, every coefficient t of :math:`\theta` goes its own way,

.. math:: t_{j} = t_{j-1} + \frac{s}{j s^2 + 1} (w_j - s\,t_{j-1})

(eq. lingauss-alg with :math:`\eta_j = 1/j`, :math:`G_j = (A^\top A + I / j)^{-1}`). On imputed
observations :math:`w_j - s t_{j-1}` is standard normal whatever t is, so that the increments of a
whole block of rows add up to one normal number with variance

.. math:: \sum_j \frac{s^2}{(j s^2 + 1)^2} = s^{-2} \sum_j (j + s^{-2})^{-2},

a difference of trigamma functions. A block of any size costs one number per coefficient, and is
exactly as many single steps; so does all that is left of an infinite path. As s falls to 0, the
variance of that path rises to 1, that of the prior: directions that A does not see have this limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import polygamma

from nearbayes.algorithms.finishing import (
    FinishAfter,
    check_finish_after,
    finishing_schedule,
    reaches,
)
from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.schedule import is_number, is_whole
from nearbayes.core.seeds import Streams

__all__ = ["LinearGaussian", "NormalPosterior"]

Array = NDArray[np.float64]
NUMBERS_AT_ONCE, SMALLEST_CHUNK, LARGEST_CHUNK = 50_000, 16, 5_000
NO_SINGULAR_VALUE = 1e-12  # of the largest
SMALLEST_ENTRY, LARGEST_ENTRY = 1e-100, 1e100  # squares beyond are lost; smaller entries count as 0
SMALL = 1e-6  # squares of singular values below which a sum over rows is an integral


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
    :math:`\theta`.

    Parameters
    ----------
    A : array of shape (p, d), or of shape (d,)
        The operator; a vector is the diagonal of a diagonal one.
    alpha : float
        Distances are :math:`\|(A^\top A)^{\alpha/2}(\theta - \theta')\|`: 1 for the distance of
        predictions :math:`A\theta`, 0 for that of parameters.
    finish_after : int or float, optional
        After so many imputed rows (a float: times n), the rest of the infinite path is added at
        once. This is exact, so the number decides nothing. None stops paths at the horizon of the
        schedule: small singular values then have too little variance, unless the horizon is far
        beyond :math:`s^{-2}` rows, and directions that A does not see have none.

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
    finish_after: FinishAfter = 1.0

    def __post_init__(self) -> None:
        operator = np.asarray(self.A)
        if operator.ndim not in (1, 2) or 0 in operator.shape or operator.dtype.kind not in "fiu":
            raise ValueError(
                "A must be a matrix of shape (p, d), or the diagonal of a diagonal one, of numbers,"
                f" got shape {operator.shape} and dtype {operator.dtype}."
            )
        largest = float(np.abs(operator.astype(np.float64)).max())
        if not SMALLEST_ENTRY < largest < LARGEST_ENTRY:  # NaN is neither
            raise ValueError(
                "A must be finite and not all zero, with a largest entry between "
                f"{SMALLEST_ENTRY:g} and {LARGEST_ENTRY:g}, got {largest:g}: check its entries, or "
                "change the units."
            )
        if not (is_number(self.alpha) and np.isfinite(self.alpha)):
            raise ValueError(f"alpha must be a finite number, got {self.alpha!r}.")
        check_finish_after(self.finish_after)

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
        """Left singular vectors, singular values above 0, right ones.

        For a diagonal A, its entries without any vectors; they may be 0 or negative.
        """
        operator = np.asarray(self.A, dtype=np.float64)
        if operator.ndim == 1:
            return None, np.where(np.abs(operator) > SMALLEST_ENTRY, operator, 0.0), None
        left, values, right = np.linalg.svd(operator, full_matrices=False)
        kept = values > max(NO_SINGULAR_VALUE * values[0], SMALLEST_ENTRY)
        return left[:, kept], values[kept], right[kept].T

    @property
    def singular_values(self) -> Array:
        """Those above 0, shape (rank,)."""
        values = np.abs(self._parts[1])
        return np.asarray(values[values > 0])

    @cached_property
    def traits(self) -> Traits:
        """A few blocks and the rest; what a schedule captures is measured in the norm."""
        chunk = NUMBERS_AT_ONCE // np.shape(self.A)[-1]
        return Traits(
            chunk=min(max(chunk, SMALLEST_CHUNK), LARGEST_CHUNK),
            keeps_rows=False,
            runs_in="threads",
            schedule=partial(finishing_schedule, self.finish_after),
            captured=partial(_captured, self.singular_values, self.alpha, self.finish_after),
        )

    def _coefficients(self, theta: Array) -> Array:
        """Coefficients of vectors (..., d) in the singular basis."""
        right = self._parts[2]
        return theta if right is None else np.asarray(theta @ right)

    def _vectors(self, coefficients: Array) -> Array:
        """Vectors (..., d) of coefficients in the singular basis."""
        right = self._parts[2]
        return coefficients if right is None else np.asarray(coefficients @ right.T)

    def fit(self, data: Sequence[Data], streams: Streams) -> Array:
        """Posterior mean of each draw's observations, shape (n_draws, d)."""
        if isinstance(data, Repeated):
            return np.tile(self._mean(data[0]), (len(data), 1))
        distinct = {id(each): each for each in data}
        means = {key: self._mean(each) for key, each in distinct.items()}
        return np.stack([means[id(each)] for each in data])

    def _mean(self, data: Data) -> Array:
        """Posterior mean of θ, shape (d,)."""
        z = self._checked(data)
        left = self._parts[0]
        seen = np.average(z, axis=0, weights=data.count)
        return self._vectors(self._shrunk(seen if left is None else seen @ left, data.size))

    def _shrunk(self, seen: Array, size: float) -> Array:
        """Posterior mean of coefficients, given the mean of `size` rows in the singular basis."""
        values = self._parts[1]
        return np.asarray(size * values * seen / (size * values**2 + 1))

    def _checked(self, data: Data) -> Array:
        if data.table is not None:
            raise ValueError("LinearGaussian takes observations z alone, got X and y: give z.")
        rows, given = np.shape(self.A)[0], np.asarray(data.y)
        try:
            z = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"observations must be numbers, got dtype {given.dtype}: convert them."
            ) from None
        if not np.isfinite(z).all():
            raise ValueError("observations must be finite, got NaN or infinity: drop those rows.")
        if z.ndim != 2 or z.shape[1] != rows or not len(z):
            raise ValueError(
                f"observations must have shape (n, {rows}), one column per row of A, got shape "
                f"{z.shape}."
            )
        return z

    def sample(self, models: Array, x: Sequence[Rows], streams: Streams) -> Array:
        """Standardised innovation of a block: d normal numbers per draw."""
        return streams.chunk.standard_normal(np.shape(models))

    def refit(self, data: Sequence[Data], new: Blocks, models: Array, streams: Streams) -> Array:
        """Add the increments of a block, as if its rows had come one by one."""
        noise, values, total = np.asarray(new.y), self._parts[1], new.total
        inside = self._coefficients(noise)  # standard normal, too
        if new.size == total:  # all there is: a parametric bootstrap
            seen = values * self._coefficients(models) + inside / np.sqrt(total)
            return self._vectors(self._shrunk(seen, total))
        n, before = data[0].n, total - new.size
        if reaches(self.finish_after, n, before - n):
            return models
        if not reaches(self.finish_after, n, total - n):
            return np.asarray(models + self._vectors(inside * increment_sd(values, before, total)))
        moved = models + self._vectors(inside * increment_sd(values, before, np.inf))
        return np.asarray(moved + noise - self._vectors(inside))  # with what A does not see

    def exact_posterior(self, z: ArrayLike | Data) -> NormalPosterior:
        r"""The posterior :math:`N(\hat\Sigma_n^{-1} A^\top \bar z, (n \hat\Sigma_n)^{-1})`.

        Parameters
        ----------
        z : array of shape (n, p) or Data
            One row is enough, as the prior is proper.
        """
        data = z if isinstance(z, Data) else Data(None, None, np.asarray(z))
        mean = self._mean(data)
        _, values, right = self._parts
        sds = (data.size * values**2 + 1) ** -0.5
        if right is None:
            return NormalPosterior(mean, sds, mean, sds)
        variances = 1 - np.sum(right**2, axis=1) + right**2 @ sds**2
        return NormalPosterior(mean, np.sqrt(variances), mean @ right, sds, right)

    def radius(self, n: float) -> float:
        r"""Spread :math:`\mathcal{E}_n` of the exact posterior in the norm (eq. bayes-error-wn).

        Directions that A does not see have the prior, and count as the norm counts them: fully for
        alpha = 0, not at all for larger ones.

        Parameters
        ----------
        n : float
            Number of real rows.

        Examples
        --------
        >>> round(LinearGaussian([1.0, 0.0], alpha=0.0).radius(3) ** 2, 6)  # 1 / (3 + 1), and 1
        1.25
        """
        _check_rows("n", n, least=0)
        weights, unseen = self._weights()
        return float(np.sqrt(np.sum(weights / (n * self.singular_values**2 + 1)) + unseen))

    def wasserstein(self, n: float, total: float = np.inf) -> float:
        """2-Wasserstein distance of the martingale posterior from the exact one, in the norm.

        Directions that A does not see have the exact spread where paths are finished
        (`finish_after`, `total` infinite), and none where they are not.

        Parameters
        ----------
        n : float
            Number of real rows.
        total : float
            Real and imputed rows at the end of paths; finite for paths that stop there.
        """
        _check_rows("n", n, least=0)
        if total != np.inf:
            _check_rows("total", total, least=n)
        weights, unseen = self._weights()
        values = self.singular_values
        gaps = increment_sd(values, n, total) - (n * values**2 + 1) ** -0.5
        finished = total == np.inf and self.finish_after is not None
        return float(np.sqrt(np.sum(weights * gaps**2) + (0.0 if finished else unseen)))

    def _weights(self) -> tuple[Array, float]:
        """Weights of squares in the norm: of singular values, and of all that A does not see."""
        values = self.singular_values
        unseen = np.shape(self.A)[-1] - len(values)
        if self.alpha < 0 and unseen:
            raise ValueError(
                f"alpha must be at least 0 for an A that does not see {unseen} of its directions, "
                f"got {self.alpha!r}: distances along them are infinite; choose alpha=0."
            )
        with np.errstate(over="ignore"):
            weights = values ** (2 * self.alpha)
        if not np.isfinite(weights).all():
            raise ValueError(
                f"alpha must leave singular values ** (2 * alpha) finite, got {self.alpha!r} for "
                f"values from {values.min():.3g} to {values.max():.3g}: choose one closer to 0."
            )
        return weights, float(unseen) if self.alpha == 0 else 0.0


def _check_rows(name: str, value: object, least: float) -> None:
    """Refuse what is no finite number of rows above 0, or below `least`."""
    if not (is_number(value) and 0 < value < np.inf and value >= least):  # type: ignore[operator]
        or_more = f", {least:g} (n) or more" if least else ""
        raise ValueError(
            f"{name} must be a positive, finite number of rows{or_more}, got {value!r}."
        )


def increment_sd(values: Array, before: float, after: float) -> Array:
    """Standard deviation of the steps from row `before` to `after`, by singular value.

    `after` may be infinite; a singular value of 0 then has the limit of small ones, 1.
    """
    squares = np.asarray(values, dtype=np.float64) ** 2
    variances = 1 / (1 + squares * (before + 0.5))  # of small ones, by the midpoint rule
    if np.isfinite(after):
        variances *= squares * (after - before) / (1 + squares * (after + 0.5))
    large = squares > SMALL
    prior = 1 / squares[large]
    right = polygamma(1, after + 1 + prior) if np.isfinite(after) else 0.0
    variances[large] = prior * (polygamma(1, before + 1 + prior) - right)
    return np.sqrt(variances)


def _captured(
    values: Array, alpha: float, finish_after: FinishAfter, n: float, blocks: Sequence[int]
) -> float:
    """Share of the exact posterior's variance, in the norm of the problem."""
    weights = values ** (2 * alpha)
    after = np.inf if reaches(finish_after, n, sum(blocks)) else n + sum(blocks)
    reached = np.sum(weights * increment_sd(values, n, after) ** 2)
    return min(1.0, float(reached / np.sum(weights / (n * values**2 + 1))))


def example() -> tuple[LinearGaussian, Data]:
    """An operator that mixes coordinates, and data for it."""
    rng = np.random.default_rng(7)
    operator = rng.normal(size=(5, 3))
    return LinearGaussian(operator), Data.of(rng.normal(size=(60, 5)) + operator @ np.ones(3))
