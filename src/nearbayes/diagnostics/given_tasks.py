r"""Given tasks: the excess error of the algorithm on tasks of the user, whose truths are known.

On each task the algorithm is fitted and its posterior is drawn. The excess error (eq.
excess-err-defn) of the first fit :math:`\theta_A` over the mean :math:`\bar\theta` of its own
posterior is compared with the error of that mean,

.. math::

    \frac{E(\|\theta_A - \theta_0\|^2 - \|\bar\theta - \theta_0\|^2)}
         {E\|\bar\theta - \theta_0\|^2},

and 90 % intervals, calibrated as those of the diagnosed posterior, with the truths that they should
hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import CLEARLY, Line
from nearbayes.diagnostics.excess_error import ADVICE, LARGEST, NAME
from nearbayes.diagnostics.jackknife import jackknife_error
from nearbayes.diagnostics.redrawing import Draw
from nearbayes.diagnostics.refitting import Case, as_columns

__all__ = ["checked_tasks", "given_line"]

Array = NDArray[np.float64]
UNIT = "excess error on the given tasks, over the error of the posterior mean"
FEWEST_TASKS, FEWEST_ROWS = 3, 2
N_DRAWS = 20
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


def checked_tasks(tasks: Any, case: Case) -> list[Task]:
    """Tasks of the user, each ``(X, y, truth)``.

    Parameters
    ----------
    tasks : sequence of (X, y, truth)
        `truth` is the true mean of y at the rows of X, or for classes their probabilities, of shape
        (n_rows, n_classes), or (n_rows,) for the second of two.
    case : Case
        The diagnosed posterior, whose outcomes and classes those of tasks must be.
    """
    given = list(tasks) if isinstance(tasks, Sequence) else []
    if not given or any(not _is_triple(each) for each in given):
        raise ValueError(f"tasks must be a list of triples (X, y, truth), got {_shown(tasks)}.")
    if len(given) < FEWEST_TASKS:
        raise ValueError(f"tasks must be at least {FEWEST_TASKS}, got {len(given)}: give more.")
    return [_checked(f"tasks[{k}]", X, y, truth, case) for k, (X, y, truth) in enumerate(given)]


def _shown(value: Any) -> str:
    """The start of a value, in one line."""
    return " ".join(repr(value).split())[:80]


def _is_triple(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 3


def _checked(name: str, X: Any, y: Any, truth: Any, case: Case) -> Task:
    n_columns, classes = case.outcomes.shape[1], case.algorithm.traits.classes
    try:
        data = Data.of(X, y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must have rows X and outcomes y: {error}") from error
    if len(data.y) < FEWEST_ROWS:
        raise ValueError(f"{name} must have at least {FEWEST_ROWS} rows, got {len(data.y)}.")
    if classes is not None and not np.isin(data.y, classes).all():
        unknown = next(each for each in data.y if not np.isin(each, classes))
        raise ValueError(f"{name} must have the classes of the fit, got {unknown!r} among its y.")
    return Task(data, _checked_truth(name, truth, (len(data.y), n_columns), classes is not None))


def _checked_truth(name: str, truth: Any, shape: tuple[int, int], of_classes: bool) -> Array:
    """The truth of a task as columns; probabilities sum to 1."""
    try:
        known = as_columns(np.asarray(truth, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"the truth of {name} must be numbers, got {_shown(truth)}.") from None
    if of_classes and shape[1] == 2 and known.shape[1] == 1:
        known = np.concatenate([1 - known, known], axis=1)
    if known.shape != shape or not np.isfinite(known).all():
        raise ValueError(
            f"the truth of {name} must be finite, of shape {shape}, got {np.shape(truth)}."
        )
    if of_classes and not (np.all(known >= 0) and np.allclose(known.sum(axis=1), 1, atol=1e-6)):
        raise ValueError(
            f"the truth of {name} must be probabilities of classes, between 0 and 1 with sum 1 in "
            f"each row, got {known.min():.3g} to {known.max():.3g}."
        )
    return known


def given_line(case: Case, tasks: Sequence[Task], draw: Draw) -> Line:
    """Excess error of the algorithm, and coverage of its posterior, on given tasks."""
    rng, algorithm = case.rng(8), getattr(case.algorithm, "algorithm", case.algorithm)
    calibration = case.posterior.calibration
    found = np.array([_on(task, draw, algorithm, calibration, integer_seed(rng)) for task in tasks])
    fit, mean, held = found.T
    ratio, error = _excess(fit, mean), jackknife_error(_excess, fit, mean)
    share, doubt = float(held.mean()), float(held.std(ddof=1) / np.sqrt(len(tasks)))
    details = {"fit": fit, "mixture": mean, "held": held}
    words = (
        f"On {len(tasks)} given tasks the squared error of the fit is {1 + ratio:.2g} times that "
        f"of the mean of its posterior, and {LEVEL:.0%} intervals hold {share:.0%} of the truths."
    )
    too_far, too_narrow = ratio > LARGEST, share < LEVEL - MISSED
    if too_far and ratio > CLEARLY * error:
        said = f"{words} The algorithm is far from near-optimal on these tasks."
        return Line(NAME, "warning", said, ADVICE, ratio, error, UNIT, details)
    if too_narrow and share < LEVEL - CLEARLY * doubt:
        said = f"{words} Intervals are too narrow on these tasks."
        first = "" if calibration is not None else "Calibrate (calibration='simulation'), or use "
        advice = f"{first or 'Use '}a learner with less bias."
        return Line(NAME, "warning", said, advice, ratio, error, UNIT, details)
    if too_far or too_narrow:
        said = f"{words} But this differs too much from task to task to tell."
        advice = "Give more tasks."
        return Line(NAME, "unknown", said, advice, ratio, error, UNIT, details)
    return Line(NAME, "good", words, "", ratio, error, UNIT, details)


def _excess(fit: Array, mean: Array) -> float:
    return float(fit.sum() / max(mean.sum(), np.finfo(float).tiny) - 1)


def _on(task: Task, draw: Draw, algorithm: Any, calibration: Any, seed: int) -> Found:
    """Fit and posterior of one task against its truth."""
    drawn = draw(algorithm, task.data, n_draws=N_DRAWS, random_state=seed, progress=False)
    posterior = replace(drawn, calibration=calibration)
    x = task.data.x
    (first,) = posterior.chunks.predict([posterior.first], x)
    predicted = posterior.predictions(x)
    bounds = predicted.interval(LEVEL).reshape(*task.truth.shape, 2)
    inside = (bounds[..., 0] <= task.truth) & (task.truth <= bounds[..., 1])
    return Found(
        float(np.mean((as_columns(first) - task.truth) ** 2)),
        float(np.mean((as_columns(predicted.mean) - task.truth) ** 2)),
        float(inside.mean()),
    )
