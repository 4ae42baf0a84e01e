r"""Families: exponential families, their sequential MLE, and their conjugate posteriors.

Section 3.2.1 of the paper ("Exponential family models and sequential MLE"). A family has density
:math:`\exp(\eta^\top T(z) - A(\eta))` and mean parameter :math:`\theta = E\,T(z)`. Sequential MLE
keeps :math:`\theta_j`, the mean of the statistics so far, and moves it by eq. seq-MLE-EF. Under the
conjugate prior :math:`e^{\eta^\top\theta_\pi - \alpha A(\eta)}` with :math:`\alpha, \theta_\pi \to
0` the exact posterior has mean :math:`\theta_n` (Diaconis and Ylvisaker, 1979): the martingale
posterior and the conjugate one agree in mean, and in variance up to order 1/n.

Every family samples the innovation of a whole block, the mean statistic of the block minus θ, for
all draws at once. A refit needs one random number per statistic and draw, however large the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.schedule import is_number, is_whole
from nearbayes.core.seeds import Streams

__all__ = [
    "Bernoulli",
    "Categorical",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "GaussianMeanVariance",
    "Poisson",
    "SequentialMLE",
]

Array = NDArray[np.float64]
NUMBERS_AT_ONCE, SMALLEST_CHUNK, LARGEST_CHUNK = 50_000, 16, 5_000
NEEDED = ("n_statistics", "statistics", "sample_innovation", "parameters")  # of a family
LEAST_SPREAD = 1e-6  # of the mean: rounding of a mean square then is some 1e-4 of the variance
LARGEST = 1e150  # of data whose squares are taken


class Family(Protocol):
    r"""An exponential family in its mean parameter :math:`\theta`, batched over draws.

    `theta` has shape (n_draws, n_statistics) throughout.
    """

    @property
    def n_statistics(self) -> int:
        """Length of T(z)."""

    def statistics(self, z: NDArray[Any]) -> Array:
        """Sufficient statistics T(z), shape (n, n_statistics); rejects invalid z."""

    def sample(self, theta: Array, size: int, rng: Rng) -> NDArray[Any]:
        """Observations of one draw, shape (size, ...); `theta` has shape (n_statistics,)."""

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Mean of T over a block of `size` new observations minus `theta`, for every draw."""

    def parameters(self, theta: Array) -> Array:
        """The usual parameters of the family, shape (n_draws, n_parameters)."""

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Exact posterior draws of `parameters` in the limit of a vanishing conjugate prior."""


@dataclass(frozen=True)
class SequentialMLE(ChunkAlgorithm):
    r"""Maximum likelihood, updated block by block (eq. seq-MLE-EF, section 3.2.1).

    .. math:: \theta_{j+1} = \theta_j + \frac{\Delta n}{n_{j+1}}
              \left(\frac{1}{\Delta n}\sum_i T(\hat z_i) - \theta_j\right)

    This is natural gradient ascent with step size 1/j. Posterior draws are mean parameters;
    `parameters` converts them to the usual ones.

    Draws are in the range of the parameter, such as 0 to 1. Where they are spread for what the
    schedule leaves out, say on which scale, so that intervals stay there, too:
    ``posterior.apply(function, link="logit")`` for probabilities, ``link="log"`` for means of
    counts and of positive data. `apply` takes any function of a draw, so it cannot know.

    Parameters
    ----------
    family : Family

    Examples
    --------
    >>> import nearbayes as nb
    >>> z = np.random.default_rng(1).poisson(3.0, size=200)
    >>> algorithm = nb.SequentialMLE(nb.families.Poisson())
    >>> posterior = nb.martingale_posterior(algorithm, z, n_draws=4000, random_state=0,
    ...                                     schedule=nb.Schedule.optimal(refits=64))
    >>> exact = algorithm.family.conjugate_posterior(z, 4000, np.random.default_rng(0))
    >>> ratio = posterior.apply(lambda theta: theta).std / exact.std(axis=0)
    >>> bool(abs(ratio[0] - 1) < 0.05)
    True
    """

    family: Family

    def __post_init__(self) -> None:
        if isinstance(self.family, type):
            name = self.family.__name__
            raise TypeError(f"family must be a family, got the class {name}: call it, {name}(...).")
        if not all(hasattr(self.family, name) for name in NEEDED):
            raise TypeError(
                "family must be one of nearbayes.families, such as families.Poisson(), got "
                f"{self.family!r}."
            )

    @cached_property
    def traits(self) -> Traits:
        """Chunks with enough numbers to keep a processor busy between two Python calls."""
        chunk = NUMBERS_AT_ONCE // self.family.n_statistics
        return Traits(
            chunk=min(max(chunk, SMALLEST_CHUNK), LARGEST_CHUNK),
            keeps_rows=False,
            runs_in="threads",
        )

    def fit(self, data: Sequence[Data], streams: Streams) -> Array:
        """Mean statistic of each draw's observations: the MLE, shape (n_draws, n_statistics)."""
        if isinstance(data, Repeated):
            return np.tile(self._mle(data[0]), (len(data), 1))
        distinct = {id(each): each for each in data}
        means = {key: self._mle(each) for key, each in distinct.items()}
        return np.stack([means[id(each)] for each in data])

    def _mle(self, data: Data) -> Array:
        if data.table is not None:
            raise ValueError("SequentialMLE takes observations z alone, got X and y: give z.")
        statistics = self.family.statistics(data.y)
        return np.asarray(np.average(statistics, axis=0, weights=data.count))

    def refit(self, data: Sequence[Data], new: Blocks, models: Array, streams: Streams) -> Array:
        """Move every draw by the innovation of its block (eq. seq-MLE-EF)."""
        # In place: the innovation is not used after this, and a new array per refit would take
        # as much time as its random numbers.
        step: Array = np.asarray(new.y)
        step *= new.size / new.total
        step += models
        return step

    def sample(self, models: Array, x: Sequence[Rows], streams: Streams) -> Array:
        """Innovation of a block for every draw: its mean statistic minus the current one."""
        return self.family.sample_innovation(models, len(x[0]), streams.chunk)

    def parameters(self, theta: Array) -> Array:
        """Convert draws (mean parameters) to the family's usual parameters."""
        return self.family.parameters(np.atleast_2d(theta))


@dataclass(frozen=True)
class Gaussian:
    r"""Normal with known covariance: T(z) = z; posterior of the mean N(mean of z, Σ/n).

    Parameters
    ----------
    covariance : float, array of shape (d,) or array of shape (d, d)
        Known variance, variances of independent coordinates, or full covariance.
    """

    covariance: ArrayLike = 1.0

    def __post_init__(self) -> None:
        try:
            matrix = self.matrix
        except (TypeError, ValueError):
            matrix = np.empty((0, 0))
        if not matrix.size:
            raise ValueError(
                "covariance must be a variance, variances of shape (d,) or a matrix of shape "
                f"(d, d), of numbers, got {self.covariance!r}."
            )
        if not np.isfinite(matrix).all():
            raise ValueError("covariance must be finite, got NaN or infinity: check its entries.")
        if matrix.shape != matrix.T.shape or not np.allclose(matrix, matrix.T):
            raise ValueError(f"covariance must be symmetric, got shape {matrix.shape}.")
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ValueError("covariance must be positive definite.") from None

    @property
    def n_statistics(self) -> int:
        """Length of T(z)."""
        return len(self.matrix)

    @cached_property
    def matrix(self) -> Array:
        """Covariance as a matrix, shape (d, d)."""
        covariance = np.asarray(self.covariance, dtype=np.float64)
        return covariance if covariance.ndim == 2 else np.diag(np.atleast_1d(covariance))

    @cached_property
    def root(self) -> Array:
        """Cholesky root of the covariance, shape (d, d)."""
        return np.asarray(np.linalg.cholesky(self.matrix), dtype=np.float64)

    @cached_property
    def scale(self) -> float | Array | None:
        """Standard deviations if coordinates are independent, which is faster than the root."""
        diagonal = np.diag(self.root)
        if not np.array_equal(self.root, np.diag(diagonal)):
            return None
        return float(diagonal[0]) if np.ptp(diagonal) == 0 else diagonal

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = z, shape (n, d)."""
        statistics = _columns(z)
        if statistics.shape[1] != len(self.matrix):
            raise ValueError(
                f"data must have {len(self.matrix)} columns, the size of the covariance, got "
                f"{statistics.shape[1]}."
            )
        return statistics

    def sample(self, theta: Array, size: int, rng: Rng) -> Array:
        """Observations N(θ, Σ), shape (size, d)."""
        return theta + rng.standard_normal((size, len(theta))) @ self.root.T

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Mean of `size` observations minus θ: N(0, Σ / size)."""
        noise = rng.standard_normal(theta.shape)
        if self.scale is None:
            return np.asarray(noise @ (self.root.T / np.sqrt(size)))
        factor = self.scale / math.sqrt(size)
        if not isinstance(factor, float) or factor != 1.0:  # true for blocks of one row
            noise *= factor
        return noise

    def parameters(self, theta: Array) -> Array:
        """The mean, shape (n_draws, d)."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """N(mean of z, Σ/n)."""
        return rng.multivariate_normal(
            self.statistics(z).mean(axis=0), self.matrix / len(z), size=size, method="cholesky"
        )


@dataclass(frozen=True)
class GaussianMeanVariance:
    r"""Normal with unknown mean and variance: T(z) = (z, z²).

    The vanishing conjugate prior is flat in :math:`\eta = (\mu/\sigma^2, -1/2\sigma^2)`: precision
    :math:`\lambda \sim \mathrm{Gamma}((n+3)/2, S/2)` with S the sum of squares around the mean, and
    :math:`\mu \mid \lambda \sim N(\bar z, 1/(n\lambda))`.

    Data far from 0 for their spread, such as times in seconds since 1970, are refused: the variance
    is the difference of the statistics, and would be rounding error. Subtract a constant first.
    """

    n_statistics: ClassVar[int] = 2

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = (z, z²), shape (n, 2)."""
        column = _one_column(z)
        _check_spread(column)
        return np.stack([column, column**2]).T  # columns in a row: NumPy sums them in pairs

    def sample(self, theta: Array, size: int, rng: Rng) -> Array:
        """Observations N(μ, σ²), shape (size,)."""
        mean, variance = self.parameters(theta[None])[0]
        return rng.normal(mean, np.sqrt(variance), size)

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Block mean from N(μ, σ²/size), sum of squares around it from σ² χ²(size - 1)."""
        mean, variance = self.parameters(theta).T
        block_mean = rng.normal(mean, np.sqrt(variance / size))
        within = rng.chisquare(size - 1, len(theta)) * variance / size if size > 1 else 0.0
        return np.column_stack([block_mean, block_mean**2 + within]) - theta

    def parameters(self, theta: Array) -> Array:
        """Mean and variance, shape (n_draws, 2)."""
        return np.column_stack([theta[:, 0], np.maximum(theta[:, 1] - theta[:, 0] ** 2, 0.0)])

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Normal-gamma draws of mean and variance."""
        n, squares = len(z), np.var(z) * len(z)
        variance = 1 / rng.gamma((n + 3) / 2, 2 / squares, size)
        return np.column_stack([rng.normal(np.mean(z), np.sqrt(variance / n)), variance])


@dataclass(frozen=True)
class Bernoulli:
    """Coin: T(z) = z; posterior of the probability Beta(sum z, n - sum z)."""

    n_statistics: ClassVar[int] = 1

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = z, shape (n, 1)."""
        return _checked(z, lambda v: (v == 0) | (v == 1), "0 or 1")

    def sample(self, theta: Array, size: int, rng: Rng) -> Array:
        """Observations 0 or 1, shape (size,)."""
        return rng.binomial(1, theta[0], size).astype(np.float64)

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Share of ones in a block, Binomial(size, θ) / size, minus θ."""
        # A mean of zeros and ones can leave [0, 1] by rounding error.
        return rng.binomial(size, np.clip(theta, 0, 1)) / size - theta

    def parameters(self, theta: Array) -> Array:
        """The probability, shape (n_draws, 1)."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Beta(sum z, n - sum z)."""
        ones = float(np.sum(z))
        if ones in (
            0.0,
            float(len(z)),
        ):  # with a vanishing prior, all mass is on the observed value
            return np.full((size, 1), ones / len(z))
        return rng.beta(ones, len(z) - ones, (size, 1))


@dataclass(frozen=True)
class Categorical:
    """Categories 0..n_categories-1: T(z) is one-hot; posterior Dirichlet(counts).

    A category without observations keeps probability 0, because the prior vanishes.

    Parameters
    ----------
    n_categories : int
    """

    n_categories: int

    def __post_init__(self) -> None:
        if not (is_whole(self.n_categories) and self.n_categories >= 1):
            raise ValueError(
                f"n_categories must be a whole number, 1 or more, got {self.n_categories!r}."
            )

    @property
    def n_statistics(self) -> int:
        """Length of T(z)."""
        return self.n_categories

    def statistics(self, z: NDArray[Any]) -> Array:
        """One-hot, shape (n, n_categories)."""
        codes = _checked(
            z,
            lambda v: (v == np.floor(v)) & (v >= 0) & (v < self.n_categories),
            f"integers from 0 to {self.n_categories - 1}",
        )
        return np.eye(self.n_categories)[codes[:, 0].astype(np.intp)]

    def sample(self, theta: Array, size: int, rng: Rng) -> NDArray[np.intp]:
        """Categories, shape (size,)."""
        return rng.choice(self.n_categories, size=size, p=theta / theta.sum())

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Shares of the categories in a block, Multinomial(size, θ) / size, minus θ."""
        shares = np.clip(theta, 0, 1)
        return rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True)) / size - theta

    def parameters(self, theta: Array) -> Array:
        """Probabilities, shape (n_draws, n_categories)."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Dirichlet(counts); a zero count gives probability 0."""
        gammas = rng.standard_gamma(self.statistics(z).sum(axis=0), (size, self.n_categories))
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Poisson:
    """Counts: T(z) = z; posterior of the mean Gamma(sum z, n)."""

    n_statistics: ClassVar[int] = 1

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = z, shape (n, 1)."""
        return _checked(z, lambda v: (v >= 0) & (v == np.floor(v)), "integers of at least 0")

    def sample(self, theta: Array, size: int, rng: Rng) -> Array:
        """Counts, shape (size,)."""
        return rng.poisson(theta[0], size).astype(np.float64)

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Mean count of a block, Poisson(size θ) / size, minus θ."""
        return rng.poisson(size * theta) / size - theta

    def parameters(self, theta: Array) -> Array:
        """The mean, shape (n_draws, 1)."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Gamma(sum z, n)."""
        return rng.gamma(float(np.sum(z)), 1 / len(z), (size, 1))


@dataclass(frozen=True)
class Gamma:
    """Gamma with known shape: T(z) = z; posterior of the mean is inverse gamma.

    Parameters
    ----------
    shape : float
        The known shape a; observations have mean θ and variance θ²/a.
    """

    shape: float
    n_statistics: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not (is_number(self.shape) and 0 < self.shape < math.inf):
            raise ValueError(f"shape must be a positive, finite number, got {self.shape!r}.")

    def statistics(self, z: NDArray[Any]) -> Array:
        """T(z) = z, shape (n, 1)."""
        return _checked(z, lambda v: v > 0, "positive")

    def sample(self, theta: Array, size: int, rng: Rng) -> Array:
        """Observations, shape (size,)."""
        return rng.gamma(self.shape, theta[0] / self.shape, size)

    def sample_innovation(self, theta: Array, size: int, rng: Rng) -> Array:
        """Mean of a block, Gamma(size · shape, θ / (size · shape)), minus θ."""
        total_shape = size * self.shape
        return rng.standard_gamma(total_shape, theta.shape) * theta / total_shape - theta

    def parameters(self, theta: Array) -> Array:
        """The mean, shape (n_draws, 1)."""
        return theta

    def conjugate_posterior(self, z: NDArray[Any], size: int, rng: Rng) -> Array:
        """Mean = shape / rate with rate ~ Gamma(n · shape + 1, sum z)."""
        total_shape = len(z) * self.shape
        draws = stats.invgamma.rvs(
            total_shape + 1, scale=self.shape * np.sum(z), size=(size, 1), random_state=rng
        )
        return np.asarray(draws)


def Exponential() -> Gamma:  # noqa: N802  (named like the other families)
    """Exponential with unknown mean: the gamma family with shape 1."""
    return Gamma(shape=1.0)


def _columns(z: NDArray[Any]) -> Array:
    given = np.asarray(z)
    try:
        if given.dtype.kind not in "biufO":  # texts that look like numbers are none
            raise TypeError
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"data must be numbers for this family, got dtype {given.dtype}: convert them."
        ) from None
    if array.ndim not in (1, 2):
        raise ValueError(f"data must have shape (n,) or (n, d), got shape {array.shape}.")
    return array[:, None] if array.ndim == 1 else array


def _one_column(z: NDArray[Any]) -> Array:
    columns = _columns(z)
    if columns.shape[1] != 1:
        raise ValueError(f"data must be one column of numbers, got {columns.shape[1]} columns.")
    return columns[:, 0]


def _check_spread(column: Array) -> None:
    """Refuse data whose variance is lost in the difference of mean square and squared mean."""
    if np.abs(column).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"data must be of sizes up to {LARGEST:g} for this family, whose statistics are z and "
            f"z², got {np.abs(column).max():.3g}: rescale them."
        )
    if not len(column) or np.ptp(column) == 0:  # a resample of few rows; its variance is 0
        return
    mean, sd = float(column.mean()), float(column.std())
    if sd < LEAST_SPREAD * abs(mean):
        raise ValueError(
            f"data must vary by more than {LEAST_SPREAD:g} of their mean for this family, whose "
            f"statistics are z and z², got a mean of {mean:.3g} and a standard deviation of "
            f"{sd:.3g}: subtract a constant first."
        )


def _checked(z: NDArray[Any], allowed: Callable[[Array], NDArray[np.bool_]], what: str) -> Array:
    column = _one_column(z)
    if not allowed(column).all():
        bad = column[~allowed(column)][0]
        raise ValueError(f"data must be {what} for this family, got {bad:g}.")
    return column[:, None]


def example() -> tuple[SequentialMLE, Data]:
    """A normal distribution in three dimensions, and data for it."""
    z = np.random.default_rng(7).normal(size=(60, 3))
    return SequentialMLE(Gaussian(np.ones(3))), Data.of(z)
