"""Conformal: predictive intervals with a finite-sample guarantee, from rows held out of the fit.

Split conformal prediction with residuals in units of the predictive standard deviation (crepes):
for any noise distribution, intervals have at least their nominal coverage, over new rows like the
held-out ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.draws.credible import as_levels

__all__ = ["conformal_interval", "conformal_layer"]

Array = NDArray[np.float64]


def conformal_layer(mean: Array, std: Array, y: Array) -> Any:
    """Scores of held-out rows: residuals in units of the predictive standard deviation.

    Parameters
    ----------
    mean, std, y : array of shape (n_rows,)
    """
    try:
        from crepes import ConformalRegressor
    except ImportError as missing:
        raise ImportError(
            "conformalize needs crepes: pip install 'nearbayes[conformal]'."
        ) from missing
    if y.shape != mean.shape or y.ndim > 1:
        raise ValueError(
            f"y must have one outcome per row, shape {mean.shape[:1]}, got {y.shape}: conformalize "
            "takes held-out rows of a model with one output."
        )
    return ConformalRegressor().fit(residuals=y - mean, sigmas=std)


def conformal_interval(
    layer: Any, mean: Array, std: Array, coverage: float | Sequence[float]
) -> Array:
    """Interval, shape (n_rows, 2) or (n_rows, 2, n_levels).

    With c the coverage and m held-out rows, bounds are infinite where (m + 1) c > m: with so
    few rows, nothing is guaranteed.
    """
    levels = as_levels(coverage)
    rows = len(layer.alphas[1] if isinstance(layer.alphas, tuple) else layer.alphas)
    bounds = np.stack(
        [
            layer.predict_int(mean, sigmas=std, confidence=level)
            if (rows + 1) * level <= rows
            else np.tile([-np.inf, np.inf], (len(mean), 1))
            for level in levels
        ],
        axis=-1,
    )
    return np.asarray(bounds[..., 0] if np.ndim(coverage) == 0 else bounds)
