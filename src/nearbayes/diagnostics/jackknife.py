"""Jackknife: standard errors by leaving out one part of the data at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["jackknife_error"]

Array = NDArray[np.float64]


def jackknife_error(
    quantity: Callable[..., float], *arrays: Array, most_parts: int | None = None
) -> float:
    """Standard error of ``quantity(*arrays)``, for arrays with one item per replication.

    Parameters
    ----------
    quantity : callable
    *arrays : arrays of shape (n, ...)
    most_parts : int, optional
        Leave out that many parts of the items, not every item by itself.

    Examples
    --------
    >>> values = np.arange(5.0)
    >>> bool(np.isclose(jackknife_error(np.mean, values), values.std(ddof=1) / 5**0.5))
    True
    """
    size = len(arrays[0])
    parts = np.array_split(np.arange(size), min(size, most_parts or size))
    left = [quantity(*(np.delete(each, part, axis=0) for each in arrays)) for part in parts]
    return float(np.sqrt((len(left) - 1) * np.var(left)))
