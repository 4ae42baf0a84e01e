r"""Steps: sizes :math:`\eta_j` of gradient steps, and how much of the posterior they reach.

The increments of natural gradient have covariance :math:`\eta_j^2 I(\theta)^{-1}`, so that steps
:math:`j = n, \dots, N - 1` reach :math:`\sum_j \eta_j^2 I^{-1}` (eq. alg1-cov, App. C).
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
FAR = 100  # times as many rows, up to which squares are added one by one


def sizes(step_size: StepSize | None, first: float, n_steps: int) -> Array:
    """Step sizes after `first`, `first` + 1, ... rows, shape (n_steps,)."""
    rows = np.asarray(first + np.arange(n_steps), dtype=np.float64)
    if step_size is None:
        return np.asarray(1 / (rows + 1))
    try:
        found = np.asarray(step_size(rows), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "step_size must give a number for every number of rows, which come as an array: "
            f"{error}"
        ) from error
    if found.shape != rows.shape or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(
            "step_size must give a positive, finite size for every number of rows, got shape "
            f"{found.shape} for {rows.shape}, or other numbers: try lambda j: 1 / (j + 1)."
        )
    return found


def variance_left(step_size: StepSize | None, total: float) -> float:
    r"""Sum of :math:`\eta_j^2` over all :math:`j \ge` `total`; for the paper's sizes 1 / `total`.

    Other sizes are added up far out, and continued as the power of j that they are there.
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
            "step_size must fall faster than j ** -0.5, or the draws never settle, got about "
            f"j ** {power / 2:.2f}: try lambda j: 1 / (j + 1)."
        )
    return float(squares.sum() - squares[-1] * last / (power + 1))


def share_reached(step_size: StepSize | None, n: float, n_steps: int) -> float:
    """Share of the variance of the whole path that the first steps reach."""
    if step_size is None:
        return captured(n, [1] * n_steps)
    reached = float(np.sum(sizes(step_size, n, n_steps) ** 2))
    return reached / (reached + variance_left(step_size, n + n_steps))
