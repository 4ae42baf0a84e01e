r"""Steps: sizes :math:`\eta_j` of gradient steps, and the share of the variance they capture.

The increments of natural gradient have covariance :math:`\eta_j^2 I(\theta)^{-1}`, so that steps
:math:`j = n, \dots, N - 1` capture :math:`\sum_j \eta_j^2 I^{-1}` (eq. alg1-cov, App. C).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.schedule import captured

__all__ = ["StepSize", "share_reached", "sizes", "variance_left"]

Array = NDArray[np.float64]
StepSize = Callable[[Array], Any]
FAR = 100  # squares are added one by one up to this many times the rows


def sizes(step_size: StepSize | None, first: float, n_steps: int) -> Array:
    """Step sizes after `first`, `first` + 1, ... rows, shape (n_steps,)."""
    rows = np.asarray(first + np.arange(n_steps), dtype=np.float64)
    if step_size is None:
        return np.asarray(1 / (rows + 1))
    try:
        found = np.asarray(step_size(rows), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"step_size must return a number for every entry of an array of row numbers: {error}"
        ) from error
    if found.shape != rows.shape or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(
            "step_size must return a positive, finite size for every number of rows, got shape "
            f"{found.shape} for {rows.shape}, or other numbers: try lambda j: 1 / (j + 1)."
        )
    return found


def variance_left(step_size: StepSize | None, total: float) -> float:
    r"""Sum of :math:`\eta_j^2` over all :math:`j \ge` `total`; for the paper's sizes 1 / `total`.

    For other sizes, many squares are added, and the rest is extrapolated as a power of j.
    """
    if step_size is None:
        return 1 / total
    squares = sizes(step_size, total, int(FAR * total)) ** 2
    last = total + len(squares) - 1
    power = np.log(squares[-1] / squares[len(squares) // 2 - 1]) / np.log(
        last / (total + len(squares) // 2 - 1)
    )
    if not power < -1.01:
        raise ValueError(
            "step_size must fall faster than j ** -0.5, or the draws do not converge, got about "
            f"j ** {power / 2:.2f}: try lambda j: 1 / (j + 1)."
        )
    return float(squares.sum() - squares[-1] * last / (power + 1))


def share_reached(step_size: StepSize | None, n: float, n_steps: int) -> float:
    """Share of the variance of the whole path that the first steps capture."""
    if step_size is None:
        return captured(n, [1] * n_steps)
    reached = float(np.sum(sizes(step_size, n, n_steps) ** 2))
    return reached / (reached + variance_left(step_size, n + n_steps))
