"""Mixture: the posterior predictive of a regression, the average of its draws' predictives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nearbayes.core.data import Rows
from nearbayes.core.protocols import Rng
from nearbayes.predictives.positive import PositivePredictive
from nearbayes.predictives.predictive import KnownPredictive, LearnedPredictive, Predictive

__all__ = [
    "mixture_log_density",
    "mixture_quantiles",
    "mixture_samples",
    "mixture_std",
    "noise_factor",
]

Array = NDArray[np.float64]
BISECTIONS = 60
LEAST_NOISE = 0.1  # share of the variance of out-of-fold residuals
SAMPLES_PER_DRAW = 200


def noise_factor(predictives: Sequence[Predictive], weights: Array) -> float:
    """Factor for the noise of draws, so that the fit's error is not counted twice.

    Out-of-fold residuals contain the error of the fit in addition to the noise, and the spread of
    the draws is that error again. With the factor, noise and spread together have the variance of
    the residuals.

    Parameters
    ----------
    predictives : sequence of Predictive
        One per draw, at the same rows.
    weights : array of shape (n_rows,)

    Examples
    --------
    >>> from nearbayes.predictives.predictive import Normal
    >>> draws = [Normal(np.array([mean]), np.array(1.0)) for mean in (-0.6, 0.6)]
    >>> round(noise_factor(draws, np.ones(1)), 2)  # 0.36 of the variance is between draws
    0.8
    """
    if len(predictives) < 2 or not all(isinstance(p, LearnedPredictive) for p in predictives):
        return 1.0
    spread = np.average(np.var([p.mean for p in predictives], axis=0), axis=0, weights=weights)
    variances = [p.variance for p in predictives]  # type: ignore[attr-defined]
    noise = np.average(np.mean(variances, axis=0), axis=0, weights=weights)
    share = np.mean(spread / np.maximum(noise, np.finfo(float).tiny))
    return float(np.sqrt(max(1 - share, LEAST_NOISE)))


def mixture_log_density(predictives: Sequence[Predictive], y: Array) -> Array:
    """Log density of one outcome per row, shape (n_rows,)."""
    if not all(isinstance(part, KnownPredictive) for part in predictives):
        raise ValueError("a noise function returns samples but no density: use another noise.")
    logs = [part.log_density(y) for part in predictives]  # type: ignore[attr-defined]
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))


def mixture_std(predictives: Sequence[Predictive], x: Rows, rng: Rng) -> Array:
    """Standard deviation of the mixture: spread of the means plus mean of the noise."""
    if not all(isinstance(part, KnownPredictive) for part in predictives):
        samples = mixture_samples(predictives, x, SAMPLES_PER_DRAW * len(predictives), rng)
        return np.asarray(samples.std(axis=0))
    means = np.stack([part.mean for part in predictives])
    noise = np.mean([part.variance for part in predictives], axis=0)  # type: ignore[attr-defined]
    return np.asarray(np.sqrt(means.var(axis=0) + noise))


def mixture_samples(predictives: Sequence[Predictive], x: Rows, n_samples: int, rng: Rng) -> Array:
    """Outcomes, shape (n_samples, n_rows, ...), from the draws in turn."""
    start = int(rng.integers(len(predictives)))
    turn = [predictives[(start + k) % len(predictives)] for k in range(n_samples)]
    return np.stack([part.sample(x, rng) for part in turn])


def mixture_quantiles(predictives: Sequence[Predictive], x: Rows, levels: Array, rng: Rng) -> Array:
    """Quantiles of the mixture, shape (n_rows, ..., n_levels).

    By bisection of the mixture's distribution function if it is known, else from samples.
    """
    if not all(isinstance(part, KnownPredictive) for part in predictives):
        samples = mixture_samples(predictives, x, SAMPLES_PER_DRAW * len(predictives), rng)
        return np.moveaxis(np.quantile(samples, levels, axis=0), 0, -1)
    means = np.stack([part.mean for part in predictives])
    deviations = [np.sqrt(part.variance) for part in predictives]  # type: ignore[attr-defined]
    # Chebyshev: a level p is within sqrt(1/p) standard deviations of some draw's mean.
    reach = np.max(deviations, axis=0) * np.sqrt(1 / min(levels.min(), 1 - levels.max()))
    quantiles = np.stack(
        [
            _bisected(predictives, level, means.min(axis=0) - reach, means.max(axis=0) + reach)
            for level in levels
        ],
        axis=-1,
    )
    if isinstance(predictives[0], PositivePredictive):
        possible = predictives[0].possible
        return np.stack([possible(each) for each in np.moveaxis(quantiles, -1, 0)], axis=-1)
    return quantiles


def _bisected(predictives: Sequence[Predictive], level: float, low: Array, high: Array) -> Array:
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = np.mean([part.cdf(middle) for part in predictives], axis=0)  # type: ignore[attr-defined]
        low, high = np.where(below < level, middle, low), np.where(below < level, high, middle)
    return high
