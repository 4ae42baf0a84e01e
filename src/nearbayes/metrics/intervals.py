"""Coverage and width of prediction or credible intervals."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.metrics.checks import numbers, vector


def coverage(y: ArrayLike, intervals: ArrayLike) -> float | NDArray[np.float64]:
    r"""Share of rows whose outcome lies in its closed interval.

    .. math:: \frac{1}{n} \sum_i 1\{l_i \le y_i \le u_i\}

    Parameters
    ----------
    y : array_like, shape (n_rows,)
        Observed outcomes.
    intervals : array_like, shape (n_rows, 2) or (n_rows, 2, n_levels)
        Lower and upper ends along the second axis; an end may be infinite.

    Returns
    -------
    float, or ndarray of shape (n_levels,) if ``intervals`` has levels

    Examples
    --------
    >>> coverage([0.0, 1.0, 2.0, 3.0], [[-1, 1], [1, 2], [0, 1], [2, 4]])
    0.75
    """
    outcome = vector("y", y)
    lower, upper = _ends(intervals)
    if len(lower) != outcome.size:
        raise ValueError(
            f"intervals must have one row per y: got {len(lower)} rows for {outcome.size} outcomes"
        )
    column = outcome.reshape(-1, *[1] * (lower.ndim - 1))
    return _per_level(((lower <= column) & (column <= upper)).mean(axis=0))


def width(intervals: ArrayLike) -> float | NDArray[np.float64]:
    r"""Mean length of the intervals.

    .. math:: \frac{1}{n} \sum_i (u_i - l_i)

    Parameters
    ----------
    intervals : array_like, shape (n_rows, 2) or (n_rows, 2, n_levels)
        Lower and upper ends along the second axis; an infinite end gives ``inf``.

    Returns
    -------
    float, or ndarray of shape (n_levels,) if ``intervals`` has levels

    Examples
    --------
    >>> width([[0.0, 1.0], [2.0, 5.0]])
    2.0
    """
    lower, upper = _ends(intervals)
    return _per_level((upper - lower).mean(axis=0))


def _ends(intervals: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ends = numbers("intervals", intervals)
    if ends.ndim not in (2, 3) or ends.shape[1] != 2 or ends.size == 0:
        raise ValueError(
            "intervals must have shape (n_rows, 2) or (n_rows, 2, n_levels), lower end first: "
            f"got shape {ends.shape}"
        )
    lower, upper = ends[:, 0], ends[:, 1]
    # An interval from inf to inf holds no number and has no length.
    bad = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if bad.any():
        at = np.argwhere(bad)[0]
        raise ValueError(
            "intervals must have lower ends at or below upper ends and hold a finite number: "
            f"got [{lower[tuple(at)]}, {upper[tuple(at)]}] in row {at[0]}"
        )
    return lower, upper


def _per_level(means: Any) -> float | NDArray[np.float64]:
    return np.asarray(means, dtype=np.float64) if np.ndim(means) else float(means)
