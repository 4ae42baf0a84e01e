"""Checks of arguments, and averaging over rows, shared by the metrics."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return ``values`` as a float array without NaN, or raise naming the argument."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if np.isnan(array).any():
        raise ValueError(
            f"{name} must not hold NaN: got {int(np.isnan(array).sum())} of {array.size} values NaN"
        )
    return array


def finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return ``values`` as a float array without NaN or infinities, or raise."""
    array = numbers(name, values)
    if np.isinf(array).any():
        raise ValueError(
            f"{name} must be finite: got {int(np.isinf(array).sum())} infinite of {array.size} "
            "values"
        )
    return array


def vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return ``values`` as a finite, non-empty, one-dimensional float array, or raise."""
    array = finite(name, values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional with at least one value: got shape {array.shape}"
        )
    return array


def positive(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return ``values`` broadcast to ``shape``, finite and above zero, or raise."""
    array = broadcast(name, values, shape)
    if (array <= 0).any():
        raise ValueError(
            f"{name} must be above zero: got {array.min()}; score a point forecast with "
            "crps_samples"
        )
    return array


def broadcast(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return ``values`` finite and broadcast to ``shape``, or raise."""
    array = finite(name, values)
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} must broadcast to shape {shape}: got shape {array.shape}"
        ) from error


def draws_first(
    name: str, values: ArrayLike, n_rows: int, draws: str = "n_draws"
) -> NDArray[np.float64]:
    """Return ``values`` as a finite array (n_draws, ``n_rows``), or raise."""
    array = finite(name, values)
    if array.ndim != 2 or array.shape[1] != n_rows or array.shape[0] == 0:
        raise ValueError(
            f"{name} must have draws first, shape ({draws}, {n_rows}) for the {n_rows} rows of y: "
            f"got shape {array.shape}"
        )
    return array


def averaged(scores: NDArray[np.float64], mean: bool) -> float | NDArray[np.float64]:
    """Return the mean over rows as a float, or the scores themselves."""
    return float(scores.mean()) if mean else scores
