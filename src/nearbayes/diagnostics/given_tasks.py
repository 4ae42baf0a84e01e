r"""Given tasks: the excess error of the algorithm on tasks of the user, whose truths are known.

On each task the algorithm is fitted and its posterior is drawn. The excess error (eq.
excess-err-defn) of the first fit :math:`\theta_A` over the mean :math:`\bar\theta` of its own
posterior is compared with the error of that mean,

.. math::

    \frac{E(\|\theta_A - \theta_0\|^2 - \|\bar\theta - \theta_0\|^2)}
         {E\|\bar\theta - \theta_0\|^2},

and 90 % intervals with the truths that they should hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.jackknife import jackknife_error
from nearbayes.diagnostics.redrawing import Draw
from nearbayes.diagnostics.refitting import Case, as_columns

__all__ = ["FEWEST_TASKS", "checked_tasks", "given_line"]

Array = NDArray[np.float64]
NAME = "excess error"
UNIT = "excess error on the given tasks, over the error of the posterior mean"
FEWEST_TASKS = 3
N_DRAWS = 20
LARGEST = 1.0
LEVEL = 0.9
MISSED = 0.1  # of a coverage


class Task(NamedTuple):
    """Rows, and the true mean or the true class probabilities at each, as columns."""

    data: Data
    truth: Array


class Found(NamedTuple):
    """Mean squared errors of the fit and of the posterior mean, and the share of truths held."""

    fit: float
    mean: float
    held: float


def checked_tasks(tasks: Any, n_columns: int) -> list[Task]:
    """Tasks of the user, each ``(X, y, truth)``.

    Parameters
    ----------
    tasks : sequence of (X, y, truth)
        `truth` is the true mean of y at the rows of X, or for classes their probabilities, of shape
        (n_rows, n_classes), or (n_rows,) for the second of two.
    n_columns : int
        Columns of a prediction: outcomes, or classes.
    """
    given = list(tasks) if isinstance(tasks, Sequence) else []
    if len(given) < FEWEST_TASKS or any(not _is_triple(each) for each in given):
        raise ValueError(
            f"tasks must be at least {FEWEST_TASKS} triples (X, y, truth), got "
            f"{len(given) if given else repr(tasks)}."
        )
    return [_checked(X, y, truth, n_columns) for X, y, truth in given]


def _is_triple(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 3


def _checked(X: Any, y: Any, truth: Any, n_columns: int) -> Task:
    data, known = Data.of(X, y), as_columns(truth)
    if n_columns == 2 and known.shape[1] == 1:
        known = np.concatenate([1 - known, known], axis=1)
    if known.shape != (len(data.y), n_columns) or not np.isfinite(known).all():
        raise ValueError(
            f"the truth of a task must be finite, of shape ({len(data.y)}, {n_columns}), got "
            f"{np.shape(truth)}."
        )
    return Task(data, known)


def given_line(case: Case, tasks: Sequence[Task], draw: Draw) -> Line:
    """Excess error of the algorithm, and coverage of its posterior, on given tasks."""
    rng, algorithm = case.rng(8), getattr(case.algorithm, "algorithm", case.algorithm)
    found = np.array([_on(task, draw, algorithm, integer_seed(rng)) for task in tasks])
    fit, mean, held = found.T
    ratio, error = _excess(fit, mean), jackknife_error(_excess, fit, mean)
    share, doubt = float(held.mean()), float(held.std(ddof=1) / np.sqrt(len(tasks)))
    details = {"fit": fit, "mixture": mean, "held": held}
    words = (
        f"On {len(tasks)} given tasks the squared error of the fit is {1 + ratio:.2g} times that "
        f"of the mean of its posterior, and {LEVEL:.0%} intervals hold {share:.0%} of the truths."
    )
    if ratio > LARGEST and ratio > CLEARLY * error:
        said = f"{words} The algorithm is far from near-optimal on these tasks."
        advice = "Regularise the learner, or use a forest or the default learner."
        return Line(NAME, "warning", said, advice, ratio, error, UNIT, details)
    if share < LEVEL - max(MISSED, CLEARLY * doubt):
        said = f"{words} Intervals are too narrow on these tasks."
        advice = "Calibrate (calibration='simulation'), or use a learner with less bias."
        return Line(NAME, "warning", said, advice, ratio, error, UNIT, details)
    return Line(NAME, "good", words, "", ratio, error, UNIT, details)


def _excess(fit: Array, mean: Array) -> float:
    return float(fit.sum() / max(mean.sum(), np.finfo(float).tiny) - 1)


def _on(task: Task, draw: Draw, algorithm: Any, seed: int) -> Found:
    """Fit and posterior of one task against its truth."""
    posterior = draw(algorithm, task.data, n_draws=N_DRAWS, random_state=seed, progress=False)
    x = task.data.x
    (first,) = posterior.chunks.predict([posterior.first], x)
    drawn = posterior.predictions(x)
    bounds = drawn.interval(LEVEL).reshape(*task.truth.shape, 2)
    inside = (bounds[..., 0] <= task.truth) & (task.truth <= bounds[..., 1])
    return Found(
        float(np.mean((as_columns(first) - task.truth) ** 2)),
        float(np.mean((as_columns(drawn.mean) - task.truth) ** 2)),
        float(inside.mean()),
    )
