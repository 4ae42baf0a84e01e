"""Reliability: whether predicted probabilities match observed frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from nearbayes.inspection.fitted import Fitted

__all__ = ["Groups", "binomial_band", "event", "grouped", "predictive_sets", "set_coverage"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Groups(NamedTuple):
    """Rows in groups of similar probability.

    Attributes
    ----------
    sizes, said, seen : arrays of shape (n_groups,)
        Number of rows, mean predicted probability, and share of rows where the event happened.
    credible, chance : arrays of shape (n_groups, 2)
        Credible interval of `said`, and binomial interval of `seen` if `said` is right.
    """

    sizes: Index
    said: Array
    credible: Array
    seen: Array
    chance: Array


def event(draws: Array, codes: Index, k: int | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """Probability of class k, or of the most likely class, in every draw; and where it happened.

    Draws of shape (n_draws, n_rows, n_classes) give shapes (n_draws, n_rows) and (n_rows,).

    Examples
    --------
    >>> probability, happened = event(np.array([[[0.3, 0.7], [0.9, 0.1]]]), np.array([1, 1]))
    >>> probability.tolist(), happened.tolist()
    ([[0.7, 0.9]], [True, False])
    """
    chosen = draws.mean(axis=0).argmax(axis=1) if k is None else np.full(len(codes), k)
    return draws[:, np.arange(len(codes)), chosen], codes == chosen


def grouped(
    model: Fitted, draws: Array, happened: NDArray[np.bool_], n_groups: int, coverage: float = 0.9
) -> Groups:
    """Sort rows by mean probability into groups of equal size.

    Draws have shape (n_draws, n_rows); both intervals have the same coverage.
    """
    groups = np.array_split(np.argsort(draws.mean(axis=0), kind="stable"), n_groups)
    by_group = np.stack([draws[:, rows].mean(axis=1) for rows in groups], axis=1)
    said, sizes = by_group.mean(axis=0), np.array([len(rows) for rows in groups])
    return Groups(
        sizes,
        said,
        model.posterior_.of_predictions(by_group).interval(coverage),
        np.array([happened[rows].mean() for rows in groups]),
        binomial_band(coverage, sizes, said),
    )


def binomial_band(coverage: float, sizes: Any, shares: Any) -> Array:
    """Interval of the share of successes given their probability, shape (n, 2).

    Examples
    --------
    >>> binomial_band(0.9, 20, [0.5, 1.0]).tolist()
    [[0.3, 0.7], [1.0, 1.0]]
    """
    exact = np.clip(shares, 0, 1)  # a mean of ones may exceed 1 by rounding error
    return np.stack(binom.interval(coverage, sizes, exact), axis=-1) / np.reshape(sizes, (-1, 1))


def predictive_sets(mean: Array, levels: Sequence[float]) -> tuple[Index, Index]:
    """Classes from most to least likely, and the number of classes that reach each level.

    Probabilities of shape (n_rows, n_classes) give that shape and (n_rows, n_levels).

    Examples
    --------
    >>> ranked, size = predictive_sets(np.array([[0.2, 0.7, 0.1]]), (0.5, 0.8))
    >>> ranked.tolist(), size.tolist()
    ([[1, 0, 2]], [[1, 2]])
    """
    ranked = np.argsort(-mean, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(mean, ranked, axis=1), axis=1)
    short = reached[:, :, None] < np.asarray(levels) - 1e-12  # sums may miss 1 by rounding
    return ranked, np.minimum(short.sum(axis=1) + 1, mean.shape[1])


def set_coverage(codes: Index, mean: Array, levels: Sequence[float]) -> tuple[Array, Array]:
    """Coverage and mean size of predictive sets, shape (n_levels,) each.

    Examples
    --------
    >>> covered, size = set_coverage(np.array([0, 1]), np.array([[0.6, 0.4], [0.9, 0.1]]), [0.8])
    >>> covered.tolist(), size.tolist()
    ([0.5], [1.5])
    """
    ranked, size = predictive_sets(mean, levels)
    place = (ranked == codes[:, None]).argmax(axis=1)
    return (place[:, None] < size).mean(axis=0), size.mean(axis=0)
