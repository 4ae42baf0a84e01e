r"""Pivots: intervals of any functional of the model with their nominal coverage.

On each simulated data set s the functional has draws with mean :math:`m_s` and standard deviation
:math:`s_s`, and its value :math:`\theta^*` at the truth is known. The errors in units of the
pooled standard deviation,

.. math:: z_s = (\theta^* - m_s) / \bar s, \quad \bar s^2 = \tfrac1S \sum_s s_s^2,

estimate how far, and in which direction, the real draws (mean m, standard deviation
:math:`\sigma`) are off. The interval is

.. math:: m + \bar z\, \sigma \pm t_\nu\, \tau\, \sigma \sqrt{1 + 1/S}, \quad
    \tau^2 = \frac{\sum_s (z_s - \bar z)^2 + \nu_0 \phi^2}{S - 1 + \nu_0}, \quad
    \nu = S - 1 + \nu_0

stretched to contain the inflated interval around the mean m. There are few simulated sets, so
the factor :math:`\phi` of predictions counts as :math:`\nu_0` of them. The interval is not
symmetric: a learner that shrinks an effect to zero has its truth on the other side. (Measured on
known truths in `experiments/functionals`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from nearbayes.draws.credible import (
    SMALLEST,
    Link,
    as_levels,
    off_link_scale,
    on_link_scale,
    reach_of,
    spread_interval,
)

__all__ = ["Pivots"]

Array = NDArray[np.float64]
PRIOR_SETS = 6.0  # the factor of predictions counts as this many simulated sets
MOST_APART = 3.0  # how far standard deviations of simulated and real draws may be from each other


@dataclass(frozen=True)
class Pivots:
    """Errors of a functional on simulated data sets, on the scale of the link.

    Attributes
    ----------
    bias : array of shape (...)
        Mean error, truth minus posterior mean.
    square : array of shape (...)
        Sum of squares of errors around `bias`.
    sd : array of shape (...)
        Pooled standard deviation of the draws.
    n_sets : int
    factor : float
        Factor for standard deviations of predictions; at least `inflation`.
    inflation, link, start
        As in `Functional`.

    Examples
    --------
    >>> pivots = Pivots.of(np.array(1.0), np.array([[0.5, 0.9], [0.4, 0.8]]), factor=1.0)
    >>> pivots.bias.round(2).item(), pivots.n_sets
    (0.35, 2)
    """

    bias: Array
    square: Array
    sd: Array
    n_sets: int
    factor: float
    inflation: float = 1.0
    link: Link = "identity"
    start: float = SMALLEST

    @classmethod
    def of(
        cls,
        truth: Array,
        values: Array,
        factor: float,
        inflation: float = 1.0,
        link: Link = "identity",
        start: float = SMALLEST,
    ) -> Pivots:
        """Compare draws of simulated sets, (n_sets, n_draws, ...), with the truth, (...)."""
        scaled = on_link_scale(values, link, start)
        means = on_link_scale(values.mean(axis=1), link, start)
        errors = on_link_scale(truth, link, start) - means
        bias = errors.mean(axis=0)
        square = ((errors - bias) ** 2).sum(axis=0)
        sd = np.sqrt(scaled.var(axis=1, ddof=1).mean(axis=0))
        return cls(bias, square, sd, len(values), max(factor, inflation), inflation, link, start)

    def interval(self, values: Array, coverage: float | Sequence[float] = 0.9) -> Array:
        """Interval of the real draws, shape (..., 2), or (..., 2, n_levels) for several levels.

        It contains the inflated interval, and therefore the mean.
        """
        levels = as_levels(coverage)
        inflated = spread_interval(values, list(levels), self.inflation, self.link, self.start)
        lower, upper = self._reached(values, levels)
        bounds = off_link_scale(np.stack([lower, upper], axis=-2), self.link, self.start)
        bounds = np.stack(
            [
                np.minimum(bounds[..., 0, :], inflated[..., 0, :]),
                np.maximum(bounds[..., 1, :], inflated[..., 1, :]),
            ],
            axis=-2,
        )
        return np.asarray(bounds[..., 0] if np.ndim(coverage) == 0 else bounds)

    def _reached(self, values: Array, levels: Array) -> tuple[Array, Array]:
        """Bounds on the scale of the link, each of shape (..., n_levels)."""
        centre, own = self._centre_and_sd(values)
        unit = np.divide(own, self.sd, out=np.ones_like(own), where=self.sd > 0)
        unit = np.clip(unit, 1 / MOST_APART, MOST_APART)
        freedom = self.n_sets - 1 + PRIOR_SETS
        variance = self.square * unit**2 + PRIOR_SETS * (self.factor * own) ** 2
        reach = np.sqrt(variance / freedom * (1 + 1 / self.n_sets))
        middle = (centre + self.bias * unit)[..., None]
        reach = reach[..., None] * student_t.ppf((1 + levels) / 2, freedom)
        return middle - reach, middle + reach

    def _centre_and_sd(self, values: Array) -> tuple[Array, Array]:
        scaled = on_link_scale(values, self.link, self.start)
        centre = on_link_scale(np.asarray(values.mean(axis=0)), self.link, self.start)
        return centre, np.asarray(scaled.std(axis=0, ddof=1))

    def spread(self, values: Array) -> Array:
        """Draws stretched on either side of their mean to the spread of 90 % intervals."""
        scaled = on_link_scale(values, self.link, self.start)
        centre, own = self._centre_and_sd(values)
        bounds = on_link_scale(self.interval(values, 0.9), self.link, self.start)
        usual = reach_of(0.9, len(values)) * own
        stretch = np.divide(
            np.abs(bounds - centre[..., None]),
            usual[..., None],
            out=np.zeros_like(bounds),
            where=usual[..., None] > 0,
        )
        away = scaled - centre
        factor = np.where(away < 0, stretch[..., 0], stretch[..., 1])
        return off_link_scale(centre + factor * away, self.link, self.start)

    def reshaped(self, shape: tuple[int, ...]) -> Self:
        """The same for a quantity of another shape."""
        bias, square, sd = (part.reshape(shape) for part in (self.bias, self.square, self.sd))
        return replace(self, bias=bias, square=square, sd=sd)

    def at(self, entries: Any) -> Self:
        """The same for some entries of the quantity."""
        return replace(
            self, bias=self.bias[entries], square=self.square[entries], sd=self.sd[entries]
        )
