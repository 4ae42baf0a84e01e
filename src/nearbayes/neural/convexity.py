"""Convexity: a numerical check of a loss, in NumPy, for any library that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["refuse_unless_convex"]

Array = NDArray[Any]
N_CHECKED, FAR, TOLERANCE = 64, 1e4, 1e-3


def refuse_unless_convex(
    hessians: Callable[[Array, Array], Array],
    values: Callable[[Array, Array], Array],
    n_outputs: int,
    statistics: Array,
    rng: np.random.Generator,
) -> None:
    """Reject a loss that is found not to be convex in the output, or not to be bounded below.

    The check uses outputs of several sizes and some of the outcomes in the data.

    Parameters
    ----------
    hessians : callable
        ``hessians(outputs, statistics)``: second derivatives of the loss in the output, row by
        row, shape (n_rows, n_outputs, n_outputs).
    values : callable
        ``values(outputs, statistics)``: the loss, row by row, shape (n_rows,).
    n_outputs : int
    statistics : array of shape (n_rows, n_statistics)
    rng : numpy.random.Generator
    """
    rows = statistics[rng.integers(len(statistics), size=N_CHECKED)]
    sizes = np.geomspace(0.1, 10.0, N_CHECKED)[:, None]
    found = hessians(sizes * rng.normal(size=(N_CHECKED, n_outputs)), rows)
    found = found[np.isfinite(found).all(axis=(1, 2))]
    if not len(found):
        raise ValueError("loss is not finite at any output tried: check loss(output, y).")
    curvature = np.linalg.eigvalsh(found)
    if (curvature[:, 0] < -TOLERANCE * np.maximum(1.0, np.abs(curvature).max(axis=1))).any():
        raise ValueError(
            "loss must be convex in the network's output, but its second derivative is "
            f"{curvature.min():.3g} somewhere: use a convex loss, or another parameterisation of "
            "the output."
        )
    for way in np.concatenate([np.eye(n_outputs), -np.eye(n_outputs)]):
        ways = np.tile(way, (N_CHECKED, 1))
        far, near = (np.mean(values(size * ways, rows)) for size in (FAR, FAR / 2))
        with np.errstate(invalid="ignore"):  # a loss that is infinite at both does not fall
            falls = far - near < -TOLERANCE * FAR
        if falls:
            raise ValueError(
                "loss must be bounded below, but it keeps falling as the output grows: add a term "
                "that grows with the output."
            )
