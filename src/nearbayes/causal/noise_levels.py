"""Noise levels: outcomes as functions of standard normal noise, and back.

Given the noise, an outcome depends only on the parents, so draws and interventions can be compared
under the same noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from nearbayes.predictives.predictive import (
    CategoricalPredictive,
    Empirical,
    KnownPredictive,
    Normal,
)

__all__ = ["noise_at", "outcome_at"]

Array = NDArray[np.float64]
BISECTIONS = 60
FAR = 40.0  # quantiles are searched within this many standard deviations


def outcome_at(predictive: Any, noise: Array) -> Array:
    """Outcome of each row, given its noise, shape (n_rows,).

    Examples
    --------
    >>> known = Normal(np.array([1.0, 2.0]), np.array([2.0, 2.0]))
    >>> outcome_at(known, np.array([0.0, 1.0])).tolist()
    [1.0, 4.0]
    """
    if isinstance(predictive, CategoricalPredictive):
        edges = np.cumsum(predictive.probabilities, axis=1)[:, :-1]
        return np.asarray(np.sum(ndtr(noise)[:, None] > edges, axis=1), dtype=np.float64)
    if isinstance(predictive, Normal):
        return np.asarray(predictive.mean + predictive.sd * noise)
    if isinstance(predictive, Empirical):
        return np.asarray(predictive.mean + _lines(noise, *_quantiles(predictive)))
    return _bisected(_known(predictive), ndtr(noise))


def noise_at(predictive: Any, outcome: Array, share: Array, width: float = 0.0) -> Array:
    """Noise that leads to these outcomes; if a range does, at this share of it, from 0 to 1.

    Rounded outcomes have a range of this width around them.
    """
    if isinstance(predictive, CategoricalPredictive):
        edges = np.pad(np.cumsum(predictive.probabilities, axis=1), ((0, 0), (1, 0)))
        row, code = np.arange(len(outcome)), outcome.astype(np.intp)
        low, high = edges[row, code], edges[row, code + 1]
        return _normal(low + (high - low) * share)
    exact = outcome + width * (share - 0.5)
    if isinstance(predictive, Normal):
        return np.asarray((exact - predictive.mean) / predictive.sd)
    if isinstance(predictive, Empirical):
        levels, residuals = _quantiles(predictive)
        return _lines(exact - predictive.mean, residuals, levels)
    known = _known(predictive)
    high = known.cdf(outcome)
    low = known.cdf(np.nextafter(outcome - 1e-9, -np.inf))  # counts have jumps
    return _normal(low + (high - low) * share)


def _normal(level: Array) -> Array:
    return np.asarray(ndtri(np.clip(level, 1e-12, 1 - 1e-12)))


def _known(predictive: Any) -> KnownPredictive:
    if not isinstance(predictive, KnownPredictive):
        raise TypeError(
            "noise must have a distribution function, but that of a user's function is not known: "
            "use noise='gaussian', 'residual' or 'heteroscedastic'."
        )
    return predictive


def _quantiles(predictive: Empirical) -> tuple[Array, Array]:
    """Normal noise at which each residual is reached, and the residuals, both increasing."""
    order = np.argsort(predictive.residuals)
    residuals, weights = predictive.residuals[order], predictive.weights[order]
    levels = ndtri(np.cumsum(weights) - weights / 2)
    tie = 1e-12 * max(1.0, float(np.abs(residuals).max()))
    return levels, residuals + tie * np.arange(len(residuals))


def _lines(at: Array, x: Array, y: Array) -> Array:
    """Linear interpolation, extended beyond the ends by the first and last line."""
    inside = np.interp(at, x, y)
    first, last = ((y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in (0, len(x) - 2))
    below, above = np.minimum(at - x[0], 0), np.maximum(at - x[-1], 0)
    return np.asarray(inside + first * below + last * above)


def _bisected(predictive: KnownPredictive, level: Array) -> Array:
    """Quantiles by bisection of the distribution function."""
    reach = FAR * np.sqrt(predictive.variance) + 1
    low, high = predictive.mean - reach, predictive.mean + reach
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = predictive.cdf(middle) >= level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(high)
