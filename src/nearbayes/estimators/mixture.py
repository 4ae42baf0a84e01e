"""Mixture: the posterior predictive of a regression, the average of its draws' predictives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nearbayes.algorithms.positive import PositivePredictive
from nearbayes.algorithms.predictive import KnownPredictive, Predictive
from nearbayes.core.data import Rows
from nearbayes.core.types import Rng

__all__ = ["mixture_quantiles", "mixture_samples", "mixture_std"]

Array = NDArray[np.float64]
BISECTIONS = 60
SAMPLES_PER_DRAW = 200


def mixture_std(predictives: Sequence[Predictive], x: Rows, rng: Rng) -> Array:
    """Standard deviation of the mixture: spread of the means plus mean of the noise."""
    if not all(isinstance(part, KnownPredictive) for part in predictives):
        samples = mixture_samples(predictives, x, SAMPLES_PER_DRAW * len(predictives), rng)
        return np.asarray(samples.std(axis=0))
    means = np.stack([part.mean for part in predictives])
    noise = np.mean([part.variance for part in predictives], axis=0)  # type: ignore[attr-defined]
    return np.asarray(np.sqrt(means.var(axis=0) + noise))


def mixture_samples(predictives: Sequence[Predictive], x: Rows, n_samples: int, rng: Rng) -> Array:
    """Outcomes, shape (n_samples, n_rows, ...): each from a draw taken in turn."""
    start = int(rng.integers(len(predictives)))
    turn = [predictives[(start + k) % len(predictives)] for k in range(n_samples)]
    return np.stack([part.sample(x, rng) for part in turn])


def mixture_quantiles(predictives: Sequence[Predictive], x: Rows, levels: Array, rng: Rng) -> Array:
    """Quantiles of the mixture, shape (n_rows, ..., n_levels).

    By bisection of the mixture's distribution function where it is known, else from samples.
    """
    if not all(isinstance(part, KnownPredictive) for part in predictives):
        samples = mixture_samples(predictives, x, SAMPLES_PER_DRAW * len(predictives), rng)
        return np.moveaxis(np.quantile(samples, levels, axis=0), 0, -1)
    means = np.stack([part.mean for part in predictives])
    deviations = [np.sqrt(part.variance) for part in predictives]  # type: ignore[attr-defined]
    # Chebyshev: a level p is within sqrt(1/p) standard deviations of some draw's mean.
    reach = np.max(deviations, axis=0) * np.sqrt(1 / min(levels.min(), 1 - levels.max())) + 1e-9
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
