r"""Calibration: intervals of predictions with their nominal coverage.

On simulated data sets with a known truth :math:`f^*`, measure the distance of the posterior mean
:math:`m_s(x)` from it in units of the posterior's standard deviation :math:`s_s(x)`, on the
scale of the link l:

.. math:: r_s(x) = |l(f^*(x)) - l(m_s(x))| / s_s(x)

The interval of coverage c is then :math:`l(m) \pm q_c\, s` of the real draws, where :math:`q_c` is
the c-quantile of all :math:`r_s(x)`. A fifth of each variance is the mean variance over all points
and simulated sets: if draws agree by chance, or share an error, their own variance is too small.
`nearbayes.estimators.calibration` simulates the data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearbayes.draws.credible import (
    SMALLEST,
    Link,
    as_levels,
    centred_interval,
    off_link_scale,
    on_link_scale,
    reach_of,
)

__all__ = ["Calibration", "ratios"]

Array = NDArray[np.float64]

SHARE = 0.2  # share of a variance that is pooled over points
LARGEST_RATIO = 1e12  # if draws agree on a value other than the truth


@dataclass(frozen=True)
class Calibration:
    """Errors of the posterior mean on simulated data sets, in posterior standard deviations.

    Attributes
    ----------
    ratios : tuple of arrays
        For every simulated data set, |truth - mean| / sd at its points, sorted.
    link : "identity", "log" or "logit"
        Scale of mean and sd.
    n_draws : int
        Draws per simulated data set.
    inflation : float
        The correction for truncation (App. C), or 1 if draws start at random. The factor is at
        least its square root times that of the draws alone.
    seconds : float
        Time of the simulation.
    pooled : array of shape () or (n_outputs,)
        Mean variance of draws over all points and simulated sets.
    start : float
        Constant added to log-odds; see `nearbayes.draws.credible.on_link_scale`.
    truth : str
        Short description of the source of the simulated data sets.

    Examples
    --------
    >>> calibration = Calibration((np.array([0.5, 1.0, 3.0]), np.array([1.0, 2.0, 2.5])))
    >>> calibration.factor(0.5)
    1.5
    """

    ratios: tuple[Array, ...]
    link: Link = "identity"
    n_draws: int = 12
    inflation: float = 1.0
    seconds: float = 0.0
    pooled: Array | float = 0.0
    start: float = SMALLEST
    truth: str = "the first fit"

    def factor(self, coverage: float, n_draws: int | None = None) -> float:
        """Standard deviations on either side of the mean that cover the truth this often.

        A standard deviation of few draws is itself uncertain, which sometimes makes ratios
        large; as with Student's t, this is corrected for a posterior of `n_draws` draws. The few
        simulated sets may all happen to be easy, so the factor is at least that of the draws
        with half of the correction for truncation, on the scale of logarithms.
        """
        draws = self.n_draws if n_draws is None else n_draws
        ours, theirs = reach_of(coverage, draws), reach_of(coverage, self.n_draws)
        seen = np.quantile(np.concatenate(self.ratios), coverage) * np.sqrt(ours / theirs)
        return float(max(seen, ours * np.sqrt(self.inflation)))

    def error(self, coverage: float) -> float:
        """Standard error of `factor`, from its spread over simulated data sets."""
        if len(self.ratios) < 2:
            return float("nan")
        factors = [np.quantile(ratio, coverage) for ratio in self.ratios]
        return float(np.std(factors, ddof=1) / np.sqrt(len(factors)))

    def interval(self, values: Array, coverage: float | Sequence[float] = 0.9) -> Array:
        """Interval of draws, shape (..., 2), or (..., 2, n_levels) for several levels.

        Parameters
        ----------
        values : array of shape (n_draws, ...)
        coverage : float or sequence of float
        """
        reaches = [self.factor(level, len(values)) for level in as_levels(coverage)]
        bounds = centred_interval(values, reaches, self.link, self.start, self.pooled, SHARE)
        return np.asarray(bounds[..., 0] if np.ndim(coverage) == 0 else bounds)

    def spread(self, values: Array) -> Array:
        """Draws with the spread of calibrated 90 % intervals around their mean."""
        if len(values) < 2:
            return values
        scaled = on_link_scale(values, self.link, self.start)
        centre, own = scaled.mean(axis=0), scaled.var(axis=0, ddof=1)
        wanted = self.factor(0.9, len(values)) / reach_of(0.9, len(values))
        square = (1 - SHARE) * own + SHARE * np.asarray(self.pooled)
        factor = wanted * np.sqrt(np.divide(square, own, out=np.zeros_like(own), where=own > 0))
        return off_link_scale(centre + factor * (scaled - centre), self.link, self.start)

    def reshaped(self, shape: tuple[int, ...]) -> Self:
        """The same: all points have one factor."""
        return self

    def at(self, entries: Any) -> Self:
        """The same: all points have one factor."""
        return self

    def words(self, n_draws: int | None = None) -> str:
        """One line on how intervals of a posterior of `n_draws` draws are calibrated."""
        return (
            f"{len(self.ratios)} data sets simulated from {self.truth}, {self.n_draws} draws each: "
            f"90 % intervals reach {self.factor(0.9, n_draws):.2f} standard deviations to each side"
        )

    def __str__(self) -> str:
        return self.words()


def ratios(error: Array, variance: Array, pooled: Any) -> Array:
    """Sorted errors in standard deviations; a fifth of their squares is pooled.

    Examples
    --------
    >>> ratios(np.array([2.0, 0.0]), np.array([1.0, 1.0]), 1.0).tolist()
    [0.0, 2.0]
    """
    sd = np.sqrt((1 - SHARE) * variance + SHARE * pooled)
    # draws that all agree with the truth do not need a wide interval
    apart = np.where(error > 0, LARGEST_RATIO, 0.0)
    return np.sort(np.divide(error, sd, out=apart, where=sd > 0), axis=None)
