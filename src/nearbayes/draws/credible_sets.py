r"""Credible sets: joint sets of vector quantities, and sets enlarged by a Wasserstein bound.

A joint set contains all entries of a quantity at once with the stated probability: a sup-t band
(a whole curve) or a Mahalanobis ellipsoid. Its size is measured on the draws: each is compared
with the mean and the spread of the others, as a further draw, or the truth, would be.

Enlarged sets (App. B.2, corollary): let p be within 2-Wasserstein distance :math:`\epsilon` of
q, and :math:`p(A) = 1 - \gamma`. Then the set of points within :math:`\epsilon / \sqrt{t}` of A has
:math:`q \ge 1 - \gamma - t`, for every t > 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from nearbayes.draws.credible import (
    SMALLEST,
    Link,
    as_levels,
    check_link,
    holding,
    off_link_scale,
    on_link_scale,
    spread_interval,
)

__all__ = ["Ellipsoid", "ellipsoid", "enlarged_interval", "enlargement", "sup_t_band"]

Array = NDArray[np.float64]
SHARES = np.linspace(0.02, 0.98, 49)  # shares of the miss probability that go to the enlargement
ROUNDING = 1e-9
LARGEST = 1e300  # of draws, so that sums of them are finite
LARGEST_SD = 1e150  # of entries of an ellipsoid, so that squares are finite
SMALLEST_EXPONENT = -1000  # of units, whose inverse is finite


def sup_t_band(
    values: ArrayLike,
    coverage: float = 0.9,
    *,
    link: Link = "identity",
    start: float = SMALLEST,
    wasserstein: float = 0.0,
) -> Array:
    r"""Band that contains all entries at once (sup-t; Montiel Olea and Plagborg-Møller, 2019).

    Mean plus and minus c standard deviations on the scale of the link, where c is the `coverage`
    quantile of :math:`\max_i |v_i - m_i| / s_i` over the draws.

    Parameters
    ----------
    values : array of shape (n_draws, ...)
    coverage : float
    link, start
        See `nearbayes.draws.credible.on_link_scale`.
    wasserstein : float
        Bound of the distance to the intended posterior; see `enlargement`.

    Returns
    -------
    array of shape (..., 2)

    Examples
    --------
    >>> curve = np.random.default_rng(0).normal(size=(2000, 50)).cumsum(axis=1)
    >>> band = sup_t_band(curve[:1000], 0.9)
    >>> inside = ((band[:, 0] <= curve[1000:]) & (curve[1000:] <= band[:, 1])).all(axis=1)
    >>> bool(abs(inside.mean() - 0.9) < 0.05)
    True
    """
    draws = _checked(values)
    check_link(link, draws)
    scaled = on_link_scale(draws, link, start)
    choices = _reached(_levels_and_margins(coverage, wasserstein), coverage, len(draws), "a band")
    level, margin = choices[0] if len(choices) == 1 else _smallest(choices, _band_reach(draws))
    reach = _quantile(_sup_t(scaled), level) * _sds(scaled)
    mean = np.asarray(draws.mean(axis=0))
    centre = on_link_scale(mean, link, start)
    bounds = off_link_scale(np.stack([centre - reach, centre + reach], axis=-1), link, start)
    held = holding(bounds[..., None], mean)[..., 0]
    return _possible(held + margin * np.array([-1.0, 1.0]), link)


def _band_reach(draws: Array) -> Callable[[float], float]:
    """Typical half width of a band of a level, the criterion for choosing levels."""
    distances, sd = _sup_t(draws), float(np.mean(_sds(draws)))
    return lambda level: _quantile(distances, level) * sd


def _sds(values: Array) -> Array:
    """Standard deviations of entries, whose squares may be beyond floating point."""
    units = _units(values)
    return np.asarray((values / units).std(axis=0, ddof=1) * units)


def _units(values: Array) -> Array:
    """Sizes of entries as powers of two, by which a division rounds nothing."""
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    return np.asarray(np.ldexp(1.0, np.maximum(exponents, SMALLEST_EXPONENT)))


def _possible(bounds: Array, link: Link) -> Array:
    """Bounds within the range of the quantity, where all of any posterior of it is."""
    if link == "identity":
        return np.asarray(bounds)
    return np.asarray(np.clip(bounds, 0.0, 1.0 if link == "logit" else None))


def _sup_t(values: Array) -> Array:
    """Largest standardised distance of each draw from the mean of the others, shape (n_draws,)."""
    size = len(values)
    values = values / _units(values)
    gaps = (values - values.mean(axis=0)).reshape(size, -1)
    squares = gaps**2
    others = np.maximum(squares.sum(axis=0) - squares * size / (size - 1), 0.0) / (size - 2)
    varies = np.ptp(gaps, axis=0) > 0
    with np.errstate(divide="ignore"):  # if the others are all the same
        found = np.abs(gaps[:, varies]) * size / (size - 1) / np.sqrt(others[:, varies])
    return np.asarray(found.max(axis=1)) if varies.any() else np.zeros(size)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    r"""Points with :math:`(\theta - m)^\top S^{-1} (\theta - m) \le r^2`, or near one of them.

    Attributes
    ----------
    centre : array of shape (p,)
    covariance : array of shape (p, p)
    radius : float
    margin : float
        Points within this Euclidean distance of the ellipsoid also count.

    Examples
    --------
    >>> circle = Ellipsoid(np.zeros(2), np.eye(2), 1.0)
    >>> circle.contains([[0.5, 0.5], [1.5, 0.0]]).tolist()
    [True, False]
    >>> circle.enlarged(0.6).contains([1.5, 0.0])
    True
    """

    centre: Array
    covariance: Array
    radius: float
    margin: float = 0.0

    def mahalanobis(self, points: ArrayLike) -> Array:
        """Distance from the centre in standard deviations, shape (...), of points (..., p)."""
        gaps = self._gaps(points)
        solved = np.linalg.solve(self.covariance, gaps.reshape(-1, gaps.shape[-1]).T).T
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is far from every set
            return np.asarray(np.sqrt(np.sum(gaps * solved.reshape(gaps.shape), axis=-1)))

    def distance(self, points: ArrayLike) -> Array:
        """Euclidean distance of points (..., p) from the ellipsoid, 0 inside; shape (...)."""
        values, vectors = np.linalg.eigh(self.covariance)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = self._gaps(points) @ vectors
        flat = [_outside(each, self.radius**2 * values) for each in gaps.reshape(-1, len(values))]
        return np.asarray(flat).reshape(gaps.shape[:-1])

    def contains(self, points: ArrayLike) -> NDArray[np.bool_] | bool:
        """Whether each of the points (..., p) is in the set; one answer for one point."""
        if self.margin > 0:
            inside = self.distance(points) <= self.margin
        else:
            inside = self.mahalanobis(points) <= self.radius
        return inside if inside.ndim else bool(inside)

    def enlarged(self, margin: float) -> Ellipsoid:
        """The set of points within a Euclidean distance of this one."""
        if not (_is_number(margin) and margin >= 0):
            raise ValueError(f"margin must be a number of at least 0, got {margin!r}.")
        return replace(self, margin=self.margin + float(margin))

    def _gaps(self, points: ArrayLike) -> Array:
        given = np.asarray(points, dtype=np.float64)
        if given.shape[-1:] != self.centre.shape:
            raise ValueError(
                f"points must have {len(self.centre)} entries on their last axis, got shape "
                f"{given.shape}."
            )
        return np.asarray(given - self.centre)


def _outside(gap: Array, squares: Array) -> float:
    """Distance of a point from an ellipsoid with these squared axes, in the basis of the axes."""
    with np.errstate(over="ignore"):
        standardised = float(np.sum(gap**2 / squares))
    if not np.isfinite(standardised):  # NaN is in no set, and infinity is far from every one
        return standardised
    if standardised <= 1:
        return 0.0

    def excess(shift: float) -> float:  # the nearest point is gap * squares / (squares + shift)
        return float(np.sum(gap**2 * squares / (squares + shift) ** 2) - 1)

    most = float(np.linalg.norm(gap) * np.sqrt(squares.max()))
    shift = brentq(excess, 0.0, most, xtol=1e-12 * max(most, 1.0))
    return float(np.linalg.norm(gap * shift / (squares + shift)))


def ellipsoid(values: ArrayLike, coverage: float = 0.9, *, wasserstein: float = 0.0) -> Ellipsoid:
    """Mahalanobis ellipsoid of a vector quantity.

    Parameters
    ----------
    values : array of shape (n_draws, p)
    coverage : float
    wasserstein : float
        Bound of the distance to the intended posterior, in the Euclidean norm; see
        `enlargement`.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
    >>> found = ellipsoid(draws[:1000], 0.9)
    >>> bool(abs(found.contains(draws[1000:]).mean() - 0.9) < 0.05)
    True
    """
    draws = _checked(values)
    if draws.ndim != 2:
        raise ValueError(
            f"an ellipsoid needs a vector per draw, got draws of shape {draws.shape[1:]}: return a "
            "1-D array from the function."
        )
    size, p = draws.shape
    if p == 0:
        raise ValueError(
            f"an ellipsoid needs at least one entry per draw, got draws of shape {draws.shape[1:]}:"
            " return numbers from the function."
        )
    if size < p + 3:
        raise ValueError(
            f"an ellipsoid of {p} entries needs at least {p + 3} draws, got {size}: make more "
            "draws, take fewer entries, or use a band."
        )
    sds = _sds(draws)
    if (sds > LARGEST_SD).any() or ((sds > 0) & (sds < 1 / LARGEST_SD)).any():
        raise ValueError(
            "an ellipsoid needs draws whose squares are finite and not 0, got standard deviations "
            f"from {sds.min():.3g} to {sds.max():.3g}: rescale them."
        )
    covariance = np.atleast_2d(np.cov(draws, rowvar=False))
    # each in its own units, as entries may differ by many powers of ten
    units = np.where(sds > 0, sds, 1.0)
    correlation = covariance / np.outer(units, units)
    if np.linalg.matrix_rank(correlation, hermitian=True) < p:
        raise ValueError(
            "an ellipsoid needs entries that vary and do not determine each other, got draws with "
            "a singular covariance: leave such entries out, or use a band."
        )
    distances = _distances_from_others(draws / units, correlation)
    scale = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    choices = _reached(_levels_and_margins(coverage, wasserstein), coverage, size, "an ellipsoid")
    level, margin = _smallest(choices, lambda c: scale * _quantile(distances, c))
    return Ellipsoid(draws.mean(axis=0), covariance, _quantile(distances, level), margin)


def _distances_from_others(draws: Array, covariance: Array) -> Array:
    """Mahalanobis distance of each draw, by mean and covariance of the others (rank-one update)."""
    size = len(draws)
    gaps = draws - draws.mean(axis=0)
    own = np.sum(gaps * np.linalg.solve(covariance, gaps.T).T, axis=1)
    left = np.maximum(1 - own * size / (size - 1) ** 2, SMALLEST)
    return np.asarray(np.sqrt(own / left * size**2 * (size - 2) / (size - 1) ** 3))


def enlargement(wasserstein: float, share: float) -> float:
    r"""How much a set must grow, :math:`\epsilon / \sqrt{t}` (App. B.2, corollary (i)).

    Parameters
    ----------
    wasserstein : float
        Bound of the 2-Wasserstein distance between the draws' distribution and the other.
    share : float
        Probability t by which the enlarged set may fall short of the level of the set.

    Examples
    --------
    >>> round(enlargement(0.01, 0.04), 6)
    0.05
    """
    if not (_is_number(wasserstein) and 0 <= wasserstein < np.inf):
        raise ValueError(f"wasserstein must be a number of at least 0, got {wasserstein!r}.")
    if not (_is_number(share) and 0 < share < 1):
        raise ValueError(f"share must lie strictly between 0 and 1, got {share!r}.")
    return float(wasserstein / np.sqrt(share))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def enlarged_interval(values: ArrayLike, coverage: float, wasserstein: float) -> Array:
    """Interval of draws that has the coverage under any distribution within a distance of theirs.

    The miss probability is divided between the interval and its enlargement so that the result is
    as narrow as possible. Where K draws cannot reach the level of the interval by quantiles, it is
    Student's t (see `nearbayes.draws.credible.spread_interval`).

    Parameters
    ----------
    values : array of shape (n_draws, ...)
    coverage : float
    wasserstein : float
        Bound of the 2-Wasserstein distance, of each entry.

    Returns
    -------
    array of shape (..., 2)

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=5000)
    >>> plain, wide = (enlarged_interval(draws, 0.9, by) for by in (0.0, 0.05))
    >>> bool(plain[0] > wide[0] and wide[1] - wide[0] < 2 * (plain[1] - plain[0]))
    True
    """
    draws = _checked(values)

    def half_width(level: float) -> float:
        return float(np.mean(np.diff(spread_interval(draws, level), axis=-1))) / 2

    level, margin = _smallest(_levels_and_margins(coverage, wasserstein), half_width)
    return np.asarray(spread_interval(draws, level) + margin * np.array([-1.0, 1.0]))


def _levels_and_margins(coverage: float, wasserstein: float) -> list[tuple[float, float]]:
    """Levels of the set and its enlargement that give the coverage together, lowest level first."""
    if np.ndim(coverage) != 0:
        raise ValueError(f"coverage must be one number for a joint set, got {coverage!r}.")
    level = float(as_levels(coverage)[0])
    if wasserstein == 0:
        return [(level, 0.0)]
    missed = 1 - level
    return [(level + share * missed, enlargement(wasserstein, share * missed)) for share in SHARES]


def _smallest(
    choices: list[tuple[float, float]], reach: Callable[[float], float]
) -> tuple[float, float]:
    """The choice of level and enlargement whose sum of reaches is the smallest."""
    return min(choices, key=lambda choice: reach(choice[0]) + choice[1])


def _reached(
    choices: list[tuple[float, float]], coverage: float, size: int, what: str
) -> list[tuple[float, float]]:
    """The choices whose level is among the quantiles of so many draws; refused if there is none."""
    found = [choice for choice in choices if choice[0] * (size + 1) <= size + ROUNDING]
    if not found:
        lowest = choices[0][0]
        needed = int(np.ceil(lowest / (1 - lowest) - ROUNDING))
        raise ValueError(
            f"{what} of {float(coverage):.4g} needs at least {needed} draws, got {size}: make more "
            "draws, or lower coverage."
        )
    return found


def _checked(values: ArrayLike) -> Array:
    draws = np.asarray(values, dtype=np.float64)
    if draws.ndim < 1 or len(draws) < 3 or not (np.abs(draws) <= LARGEST).all():
        raise ValueError(
            f"a credible set needs at least 3 finite draws of sizes up to {LARGEST:g} on the first "
            f"axis, got an array of shape {draws.shape}: make more draws, or rescale them."
        )
    return draws


def _quantile(distances: Array, level: float) -> float:
    """Quantile that a further draw exceeds with the right probability (Weibull)."""
    return float(np.quantile(distances, level, method="weibull"))
