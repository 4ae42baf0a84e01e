r"""Positive: noise for counts, positive amounts, and non-negative amounts with zeros.

Poisson, gamma and Tweedie losses are log likelihoods of exponential dispersion models, whose
variance is a power of the mean: :math:`\mathrm{var}(y) = \phi \mu^p` with p = 1 for counts, 2 for
gamma and in between for Tweedie's compound of both. Estimators fitted to such a loss impute from
its distribution; the dispersion :math:`\phi` is learned from out-of-fold predictions and moves by
sequential maximum likelihood (eq. seq-MLE-EF).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammainc, logsumexp

from nearbayes.core.data import Rows
from nearbayes.core.protocols import Rng
from nearbayes.tables.table import Table

__all__ = ["COUNTS", "GAMMA", "PositivePredictive", "PowerNoise", "check_positive"]

Array = NDArray[np.float64]
COUNTS, GAMMA = 1.0, 2.0
NEXT_TO_NOTHING = 1e-9  # share of the mean below which a quantile is 0
MANY_CLAIMS = 1_000.0  # from so many on, Tweedie's is a gamma distribution to three digits
SMALLEST_SHARE = 1e-3  # share of the mean outcome; predictions below it are raised to it


@dataclass(frozen=True)
class PositivePredictive:
    r"""Outcomes of 0 or more with variance :math:`\phi \mu^p`.

    Attributes
    ----------
    mean : array of shape (n,)
    power : float
        1: Poisson, or negative binomial if :math:`\phi > 1`; 2: gamma; in between: Tweedie.
    dispersion : float
        :math:`\phi`.
    is_whole : bool
        Whether outcomes are integers. With power 1, other outcomes are gamma with that variance.

    Examples
    --------
    >>> claims = PositivePredictive(np.array([2.0]), power=1.0, dispersion=1.0)
    >>> claims.cdf(np.array([0.0])).round(4).tolist()  # exp(-2)
    [0.1353]
    >>> amounts = PositivePredictive(np.array([2.0]), power=1.5, dispersion=1.0, is_whole=False)
    >>> amounts.cdf(np.array([0.0])).round(4).tolist()  # no claim at all: exp(-2 sqrt(2))
    [0.0591]
    """

    mean: Array
    power: float
    dispersion: float
    is_whole: bool = True

    @property
    def variance(self) -> Array:
        """Dispersion times a power of the mean."""
        return np.asarray(self.dispersion * self.mean**self.power)

    def moved(self, mean: Array) -> PositivePredictive:
        """The distribution with another mean, and the variance of that mean."""
        return replace(self, mean=mean)

    def scaled(self, factor: float) -> PositivePredictive:
        """The distribution with scaled noise; counts have at least the variance of a Poisson."""
        dispersion = self.dispersion * factor**2
        return replace(self, dispersion=max(1.0, dispersion) if self.is_whole else dispersion)

    def sample(self, x: Rows, rng: Rng) -> Array:
        """One outcome per row."""
        mean = x.repeat(self.mean)
        if self._is_compound:
            rate, amount, scale = self._compound(mean)
            # a gamma of shape 0, no claims, is 0
            return np.asarray(rng.standard_gamma(amount * rng.poisson(rate)) * scale)
        if not self.is_whole:
            shape, scale = self._gamma(mean)
            # never 0, for which a gamma loss is infinite
            return np.maximum(rng.standard_gamma(shape) * scale, np.finfo(float).tiny)
        if self.dispersion <= 1:
            return rng.poisson(mean).astype(np.float64)
        rate = rng.standard_gamma(mean / (self.dispersion - 1)) * (self.dispersion - 1)
        return rng.poisson(rate).astype(np.float64)

    def log_density(self, y: Array) -> Array:
        """Log density; log probability for counts, and for 0 under Tweedie."""
        if self._is_compound:
            return self._compound_log_density(y)
        if self.is_whole:
            return np.asarray(self._counts.logpmf(y))
        shape, scale = self._gamma(self.mean)
        return np.asarray(stats.gamma.logpdf(y, shape, scale=scale))

    def cdf(self, t: Array) -> Array:
        """Probability of at most t."""
        if self._is_compound:
            return self._compound_cdf(t)
        if self.is_whole:
            return np.asarray(self._counts.cdf(t))
        shape, scale = self._gamma(self.mean)
        return np.asarray(stats.gamma.cdf(t, shape, scale=scale))

    def possible(self, t: Array) -> Array:
        """Round a quantile found by bisection from above to a possible outcome."""
        if self.is_whole:
            return np.floor(t)
        return np.where(self._is_compound & (t < NEXT_TO_NOTHING * self.mean), 0.0, t)

    @property
    def _is_compound(self) -> bool:
        return COUNTS < self.power < GAMMA

    @property
    def _counts(self) -> Any:
        if self.dispersion <= 1:
            return stats.poisson(self.mean)
        return stats.nbinom(self.mean / (self.dispersion - 1), 1 / self.dispersion)

    def _gamma(self, mean: Array) -> tuple[Array, Array]:
        """Shape and scale of a gamma distribution with the mean and the variance."""
        scale = self.dispersion * mean ** (self.power - 1)
        return mean / scale, scale

    def _compound(self, mean: Array) -> tuple[Array, float, Array]:
        """Tweedie's parts: rate of claims, and shape and scale of the amount of each."""
        p = self.power
        rate = mean ** (2 - p) / (self.dispersion * (2 - p))
        return rate, (2 - p) / (p - 1), self.dispersion * (p - 1) * mean ** (p - 1)

    def _claims(self, rate: Array) -> Array:
        """Numbers of claims with relevant probability for rows of few, shape (n_numbers, 1)."""
        most = rate.max(initial=0.0, where=rate <= MANY_CLAIMS)
        return np.arange(1, int(most + 12 * np.sqrt(most)) + 20)[:, None].astype(np.float64)

    def _compound_log_density(self, y: Array) -> Array:
        rate, shape, scale = self._compound(self.mean)
        claims = self._claims(rate)
        safe = np.where(y > 0, y, 1.0)
        terms = stats.poisson.logpmf(claims, rate) + stats.gamma.logpdf(
            safe, shape * claims, scale=scale
        )
        gamma_shape, gamma_scale = self._gamma(self.mean)
        of_many = stats.gamma.logpdf(safe, gamma_shape, scale=gamma_scale)
        of_any = np.where(rate > MANY_CLAIMS, of_many, logsumexp(terms, axis=0))
        positive = np.where(y > 0, of_any, -np.inf)
        return np.asarray(np.where(y == 0, -rate, positive))

    def _compound_cdf(self, t: Array) -> Array:
        rate, shape, scale = self._compound(self.mean)
        claims = self._claims(rate)
        below = gammainc(shape * claims, np.maximum(t, 0) / scale)
        total = np.exp(-rate) + (stats.poisson.pmf(claims, rate) * below).sum(axis=0)
        gamma_shape, gamma_scale = self._gamma(self.mean)
        of_many = stats.gamma.cdf(t, gamma_shape, scale=gamma_scale)
        return np.asarray(np.where(t < 0, 0.0, np.where(rate > MANY_CLAIMS, of_many, total)))


@dataclass(frozen=True)
class PowerNoise:
    r"""Noise with variance :math:`\phi \mu^p`.

    Attributes
    ----------
    power, dispersion, is_whole
        As in `PositivePredictive`.
    smallest : float
        Lower bound of the mean, because the loss of a mean of 0 is infinite.
    """

    power: float
    dispersion: float
    is_whole: bool
    smallest: float

    @classmethod
    def learned(cls, power: float, y: Array, predicted: Array, weights: Array) -> PowerNoise:
        """Dispersion of out-of-fold predictions (Pearson's estimate)."""
        # counts have at least the dispersion of a Poisson distribution
        is_whole = power == COUNTS and bool((y == np.round(y)).all())
        smallest = SMALLEST_SHARE * float(np.average(y, weights=weights))
        start = cls(power, 1.0, is_whole, smallest)
        return start._with_dispersion(start._pearson(y, predicted, weights))

    def around(self, estimator: Any, x: Table, mean: Array) -> PositivePredictive:
        """The distribution around a prediction."""
        kept = np.maximum(mean, self.smallest)
        return PositivePredictive(kept, self.power, self.dispersion, self.is_whole)

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> PowerNoise:
        """Sequential maximum likelihood of the dispersion."""
        new = self._pearson(y, mean, np.ones(len(y)))
        return self._with_dispersion(self.dispersion + share * (new - self.dispersion))

    def _pearson(self, y: Array, mean: Array, weights: Array) -> float:
        kept = np.maximum(mean, self.smallest)
        return float(np.average((y - kept) ** 2 / kept**self.power, weights=weights))

    def _with_dispersion(self, dispersion: float) -> PowerNoise:
        return replace(self, dispersion=max(1.0, dispersion) if self.is_whole else dispersion)


def check_positive(y: Array, power: float) -> None:
    """Refuse outcomes that are invalid for a loss."""
    if y.ndim > 1:
        raise ValueError(
            f"y must have one output for counts and positive outcomes, got shape {y.shape}: fit "
            "one model per output, or use noise='gaussian'."
        )
    allowed = y > 0 if power == GAMMA else y >= 0
    if not allowed.all():
        words = "above 0" if power == GAMMA else "at least 0"
        name = {COUNTS: "Poisson", GAMMA: "gamma"}.get(power, "Tweedie")
        raise ValueError(
            f"y must be {words} for a {name} loss, got {y[~allowed][0]:.3g}: choose another "
            "objective, or leave these rows out."
        )
    if not y.any():
        raise ValueError("y must not be 0 in every row: there is no noise to learn from.")
