"""Stopping: how long to train, once, on real rows that a network has not seen (App. C).

The networks of one chunk are trained on different parts of the real rows: two on each of the folds.
Every draw uses the number of passes with the lowest loss on left-out rows, and the outputs there
determine the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.neural.chunks import Examples, Fits

__all__ = ["N_FOLDS", "Stopping", "chosen_passes", "held_out"]

Array = NDArray[Any]
N_FOLDS = 4
SPACING = 0.05  # share of the passes so far, between evaluations of left-out rows
PATIENCE, LEAST_PASSES = 1.5, 30  # times the best number of passes, and passes beyond it


@dataclass(frozen=True, eq=False)
class Stopping:
    """Results on left-out rows.

    Attributes
    ----------
    n_passes : int
    outputs : array of shape (2, n_rows, n_outputs)
        Outputs of the two networks that have not seen the row, after `n_passes`.
    passes, curve : array of shape (n_looks,)
        Passes at each evaluation, and the mean loss on left-out rows, up to a constant.
    """

    n_passes: int
    outputs: Array
    passes: Array
    curve: Array


def held_out(n_draws: int, n_rows: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows each network of a chunk has not seen, shape (n_draws, n_rows).

    Examples
    --------
    >>> held_out(8, 20, np.random.default_rng(0)).sum(axis=0).tolist() == [2] * 20
    True
    """
    fold = rng.permutation(np.arange(n_rows) % N_FOLDS)
    return np.asarray(fold[None, :] == (np.arange(n_draws) % N_FOLDS)[:, None])


def chosen_passes(
    train: Callable[[Examples, Fits, int, int], Fits],
    outputs_of: Callable[[Array], Array],
    losses_of: Callable[[Array, Array], Array],
    examples: Examples,
    out: NDArray[np.bool_],
    starts: Array,
    max_passes: int,
) -> Stopping:
    """Train until the loss on left-out rows has not decreased for long.

    Parameters
    ----------
    train : callable
        ``train(examples, fits, done, n_passes)`` continues after `done` passes.
    outputs_of : callable
        ``outputs_of(parameters)``: outputs at the rows of ``examples.x``, shape
        (n_draws, n_table_rows, n_outputs).
    losses_of : callable
        ``losses_of(outputs, statistics)``: loss of every row, shape (n_draws, n_rows).
    examples : Examples
        All draws have all rows.
    out : array of shape (n_draws, n_rows)
        Rows that a network does not see.
    starts : array of shape (n_draws, n_parameters)
    max_passes : int
    """
    n_rows = out.shape[1]
    counts = np.array(examples.weight[:, :n_rows])
    seen = np.array(examples.weight)
    seen[:, :n_rows][out] = 0
    statistics = examples.statistics[:, :n_rows]
    kept = examples._replace(weight=seen)
    fits, done, looks = Fits.begin(starts), 0, []
    best: tuple[float, int, Array] = (np.inf, 1, np.zeros(0))
    while done < max_passes:
        step = min(max(1, int(SPACING * done)), max_passes - done)
        fits = train(kept, fits, done, step)
        done += step
        outputs = outputs_of(fits.parameters)
        outputs = np.take_along_axis(outputs, examples.rows[:, :n_rows, None], axis=1)
        losses = losses_of(outputs, statistics)
        mean = float(np.sum((losses * counts)[out]) / np.sum(counts[out]))
        looks.append((done, mean))
        if mean < best[0]:
            best = (mean, done, outputs)
        if not np.isfinite(mean) or done > PATIENCE * best[1] + LEAST_PASSES:
            break
    _, n_passes, outputs = best
    if not len(outputs):
        raise FloatingPointError(
            "training diverged at once: lower learning_rate, or check y for extreme values."
        )
    passes, curve = np.array(looks).T
    return Stopping(n_passes, _left_out(outputs, out), passes.astype(int), curve)


def _left_out(outputs: Array, out: NDArray[np.bool_]) -> Array:
    """Outputs of the first two networks that have not seen the row, shape (2, n_rows, ...)."""
    order = np.argsort(~out, axis=0, kind="stable")[:2]
    return np.take_along_axis(outputs, order[:, :, None], axis=0)
