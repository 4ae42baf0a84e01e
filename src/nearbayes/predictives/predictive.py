r"""Predictive: the distribution :math:`p_\theta(y \mid x)` of the outcome at rows of inputs.

It has a mean, samples for imputation, a log density for scores and a distribution function for
predictive intervals. The first axis of arrays is that of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from nearbayes.core.data import Rows
from nearbayes.core.protocols import Rng
from nearbayes.tables.table import Table

__all__ = [
    "CategoricalPredictive",
    "Empirical",
    "Frozen",
    "KnownPredictive",
    "LearnedPredictive",
    "Normal",
    "Predictive",
    "Simulated",
]

Array = NDArray[np.float64]


class Predictive(Protocol):
    """Distribution of y at each of n rows; `mean` has shape (n,) or (n, n_outputs)."""

    @property
    def mean(self) -> Array:
        """Expected outcome."""

    def moved(self, mean: Array) -> Predictive:
        """The same distribution with another mean, used to inflate the spread of draws."""

    def sample(self, x: Rows, rng: Rng) -> Array:
        """One outcome per row of `x`; this distribution describes its distinct rows."""


@runtime_checkable
class KnownPredictive(Predictive, Protocol):
    """A predictive distribution with a known density and distribution function."""

    @property
    def variance(self) -> Array:
        """Variance of the outcome, shape of `mean`."""

    def log_density(self, y: Array) -> Array:
        """Joint log density of the outputs, one outcome per row, shape (n,)."""

    def cdf(self, t: Array) -> Array:
        """Probability of at most t, for each row and output; shape of `mean`."""


@runtime_checkable
class LearnedPredictive(KnownPredictive, Protocol):
    """A predictive distribution whose noise was learned from out-of-fold predictions."""

    def scaled(self, factor: float) -> LearnedPredictive:
        """The distribution with the standard deviation of its noise multiplied by `factor`."""


@dataclass(frozen=True)
class CategoricalPredictive:
    """Class probabilities; outcomes are class codes.

    Attributes
    ----------
    probabilities : array of shape (n, n_classes)
    """

    probabilities: Array

    def sample(self, x: Rows, rng: Rng) -> NDArray[np.intp]:
        """Class codes: one multinomial per distinct row, however often it repeats."""
        n_distinct, n_classes = self.probabilities.shape
        times = np.ones(n_distinct, dtype=np.intp) if x.count is None else x.count
        per_class = rng.multinomial(times, self.probabilities)
        return np.repeat(np.tile(np.arange(n_classes), n_distinct), per_class.ravel())

    def log_density(self, y: NDArray[np.intp]) -> Array:
        """Log probability of one class code per row."""
        with np.errstate(divide="ignore"):  # probability 0 has log-density minus infinity
            return np.asarray(np.log(self.probabilities[np.arange(len(y)), y]))


@dataclass(frozen=True)
class Normal:
    """Normal outcomes.

    Attributes
    ----------
    mean : array of shape (n,) or (n, n_outputs)
    sd : array that broadcasts to `mean`
    root : array of shape (n_outputs, n_outputs), optional
        Cholesky root of the correlation between outputs.
    """

    mean: Array
    sd: Array
    root: Array | None = None

    @property
    def variance(self) -> Array:
        """Squared `sd`."""
        return np.broadcast_to(np.square(self.sd), self.mean.shape)

    def moved(self, mean: Array) -> Normal:
        """The distribution with another mean."""
        return Normal(mean, self.sd, self.root)

    def scaled(self, factor: float) -> Normal:
        """The distribution with scaled noise."""
        return Normal(self.mean, self.sd * factor, self.root)

    def sample(self, x: Rows, rng: Rng) -> Array:
        """Mean plus normal noise."""
        mean = x.repeat(self.mean)
        sd = x.repeat(np.broadcast_to(self.sd, self.mean.shape))
        noise = rng.standard_normal(mean.shape)
        return mean + sd * (noise if self.root is None else noise @ self.root.T)

    def log_density(self, y: Array) -> Array:
        """Joint normal log density of the outputs."""
        white = (y - self.mean) / self.sd
        volume = np.broadcast_to(self.sd, self.mean.shape)
        if self.root is not None:
            white = np.asarray(np.linalg.solve(self.root, white.T).T, dtype=np.float64)
            volume = volume * np.diag(self.root)
        terms = -0.5 * white**2 - np.log(volume) - 0.5 * np.log(2 * np.pi)
        return np.asarray(terms.reshape(len(terms), -1).sum(axis=1))

    def cdf(self, t: Array) -> Array:
        """Normal distribution function."""
        return np.asarray(ndtr((t - self.mean) / self.sd))


@dataclass(frozen=True)
class Empirical:
    """A mean plus one of many residuals.

    Attributes
    ----------
    mean : array of shape (n,) or (n, n_outputs)
    residuals : array of shape (m,) or (m, n_outputs)
    weights : array of shape (m,), summing to 1
    """

    mean: Array
    residuals: Array
    weights: Array

    @property
    def variance(self) -> Array:
        """Second moment of the residuals, which need not have mean 0."""
        return np.broadcast_to(self.weights @ np.square(self.residuals), self.mean.shape)

    def moved(self, mean: Array) -> Empirical:
        """The distribution with another mean."""
        return Empirical(mean, self.residuals, self.weights)

    def scaled(self, factor: float) -> Empirical:
        """The distribution with scaled residuals."""
        return Empirical(self.mean, self.residuals * factor, self.weights)

    def sample(self, x: Rows, rng: Rng) -> Array:
        """Mean plus a weighted draw of a residual, jointly for all outputs."""
        mean = x.repeat(self.mean)
        return mean + self.residuals[rng.choice(len(self.weights), len(mean), p=self.weights)]

    def log_density(self, y: Array) -> Array:
        """Log density of the residuals smoothed by a Gaussian kernel (Scott's rule).

        A new residual may lie beyond all known ones. To allow for this, a Cauchy distribution is
        added with the weight of one residual.
        """
        kernel = stats.gaussian_kde(self.residuals.T, weights=self.weights)
        beyond = stats.multivariate_t(shape=kernel.covariance / kernel.factor**2, df=1)
        gap, m = y - self.mean, len(self.weights)
        seen = kernel.logpdf(gap.T) + np.log(m / (m + 1))
        return np.asarray(np.logaddexp(seen, beyond.logpdf(gap) - np.log(m + 1)))

    def cdf(self, t: Array) -> Array:
        """Weighted share of residuals at most t - mean."""
        gap = (t - self.mean).reshape(len(self.mean), -1)
        residuals = self.residuals.reshape(len(self.weights), -1)
        columns = [
            _weighted_ecdf(residuals[:, j], self.weights, gap[:, j]) for j in range(gap.shape[1])
        ]
        return np.stack(columns, axis=1).reshape(self.mean.shape)


@dataclass(frozen=True)
class Frozen:
    """A SciPy distribution per row, from a probabilistic estimator.

    Attributes
    ----------
    mean : array of shape (n,)
    distribution : frozen scipy.stats distribution with n entries
    shift : array of shape (n,)
        Added to outcomes, to move the distribution without changing its parameters.
    """

    mean: Array
    distribution: Any
    shift: Array

    @property
    def variance(self) -> Array:
        """Variance of the distribution."""
        return np.asarray(self.distribution.var())

    def moved(self, mean: Array) -> Frozen:
        """The distribution with another mean."""
        return Frozen(mean, self.distribution, self.shift + mean - self.mean)

    def sample(self, x: Rows, rng: Rng) -> Array:
        """Invert the distribution function, for all rows at once."""
        times = np.ones(len(self.mean), dtype=np.intp) if x.count is None else x.count
        levels = rng.random((int(times.max(initial=0)), len(self.mean)))
        outcomes = (self.shift + self.distribution.ppf(levels)).T
        return np.asarray(outcomes[np.arange(len(levels)) < times[:, None]])

    def log_density(self, y: Array) -> Array:
        """Log density of the distribution."""
        return np.asarray(self.distribution.logpdf(y - self.shift))

    def cdf(self, t: Array) -> Array:
        """Distribution function of the distribution."""
        return np.asarray(self.distribution.cdf(t - self.shift))


@dataclass(frozen=True)
class Simulated:
    """Outcomes from the user's function of mean, inputs and rng; known only through samples.

    Attributes
    ----------
    mean : array of shape (n,) or (n, n_outputs)
    table : table of shape (n, n_columns)
    function : callable
        ``function(mean, x, rng)`` returns one y per row.
    """

    mean: Array
    table: Table
    function: Callable[[Array, Table, Rng], Any]

    def moved(self, mean: Array) -> Simulated:
        """The distribution with another mean."""
        return Simulated(mean, self.table, self.function)

    def sample(self, x: Rows, rng: Rng) -> Array:
        """Call the function on the repeated rows and check its result."""
        mean = x.repeat(self.mean)
        y = np.asarray(self.function(mean, x.values, rng), dtype=np.float64)
        if y.shape != mean.shape:
            raise ValueError(
                f"noise must return one y per row, shape {mean.shape}, got shape {y.shape}."
            )
        return y


def _weighted_ecdf(atoms: Array, weights: Array, t: Array) -> Array:
    order = np.argsort(atoms)
    cumulative = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(cumulative[np.searchsorted(atoms[order], t, side="right")])
