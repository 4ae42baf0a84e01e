r"""Stability: how far the prediction at a row moves when its outcome changes.

Asm. stable: :math:`\|A(\theta, z) - A(\theta, z')\| \le \eta_j L \|z - z'\|`, with a step
:math:`\eta_j` that falls with the data. A few rows at a time get another outcome that the model
finds plausible, and the fit is repeated. The slope of the change of their predictions in the change
of their outcomes is the influence of a row on itself, p / n in a linear model with p parameters,
and 1 for a fit that goes through every row (Ye, 1998, *generalised degrees of freedom*). Labels get
another class, mostly at rows where fits to other rows are in doubt: an interpolating classifier is
never in doubt at its own rows, and the labels that it would draw there are the old ones. A large
influence alone is no fault, as a strong signal may need a flexible fit; it is one where the fit
goes through every row, or where means of fits to halves of the rows predict better than it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Rows
from nearbayes.core.seeds import integer_seed
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.efficiency import gains_by_halves
from nearbayes.diagnostics.refitting import Case, as_columns

__all__ = ["NAME", "stability_line"]

Array = NDArray[np.float64]
NAME = "stability"
UNIT = "move of a prediction when the outcome of its row moves by 1"
COPIED, LARGE = 0.9, 0.5
N_REFITS = 3
SHARE = 20  # one row of so many changes at a time
FEWEST_CHANGED = 4  # at a time
DOUBT = 1e-3  # of every label, so that any row can be chosen
NEARLY_EXACT = 0.05  # share of the variance of y that held-out predictions miss


def stability_line(case: Case) -> Line:
    """Influence of a row on the prediction at that row."""
    moved, changed = _moves(case)
    if np.any(changed != 0, axis=1).sum() < FEWEST_CHANGED:
        return Line(NAME, "unknown", "Too few outcomes could be changed: the model has no noise.")
    influence = float(np.sum(moved * changed) / np.sum(changed**2))
    rest = ((moved - influence * changed) * changed).sum(axis=1)
    few = len(rest) / (len(rest) - 1)
    error = float(np.sqrt(few * np.sum(rest**2)) / np.sum(changed**2))
    details = {"moved": moved, "changed": changed, "influence": influence}
    n = case.data.n
    words = (
        f"When the outcome of one row changes by 1, the prediction there changes by "
        f"{influence:.2g}, as with {influence * n:,.0f} free parameters on {n:,.0f} rows."
    )
    least = influence - 2 * error
    copies = least > COPIED or (least > LARGE and gains_by_halves(case))
    if copies and _missed(case) > NEARLY_EXACT:
        said = f"{words} The fit copies the noise of single rows."
        advice = "Regularise the learner: larger leaves, more neighbours, a stronger penalty."
        return Line(NAME, "warning", said, advice, influence, error, UNIT, details)
    return Line(NAME, "good", words, "", influence, error, UNIT, details)


def _moves(case: Case) -> tuple[Array, Array]:
    """Changes of predictions and of outcomes at changed rows, shapes (n_changed, n_columns)."""
    rng, algorithm, data = case.rng(1), case.algorithm, case.data
    n, seed = len(data.y), integer_seed(rng)
    size = max(min(FEWEST_CHANGED, n // 2), n // SHARE)
    firsts = _first_fits(case, seed)
    if algorithm.traits.classes is None:
        parts = [_other_numbers(case, firsts[0], size, rng) for _ in range(N_REFITS)]
    else:
        parts = [_other_labels(case, size, rng) for _ in range(N_REFITS)]
    sets = [algorithm.coded(replace(data, y=y)) for _, y in parts]
    models = case.fitted(sets, seed)
    moved, changed = [], []
    for k, ((rows, y), model) in enumerate(zip(parts, models, strict=True)):
        x, first = data.select(rows).x, firsts[k % len(firsts)]
        before, after = algorithm.predict([first], x)[0], algorithm.predict([model], x)[0]
        moved.append(as_columns(after) - as_columns(before))
        changed.append(case.as_outcomes(y[rows]) - case.outcomes[rows])
    return np.concatenate(moved), np.concatenate(changed)


def _first_fits(case: Case, seed: int) -> list[Any]:
    """First fits with the random numbers of the later ones; the one there is, if it is not random.

    A chunk that holds fewer draws than there are refits repeats its places.
    """
    traits = case.algorithm.traits
    if case.first is not None and not traits.randomised:
        return [case.first]
    return case.fitted([case.coded] * min(traits.chunk, N_REFITS), seed)


def _other_numbers(
    case: Case, model: Any, size: int, rng: Any
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Some rows, and outcomes of all rows with others there that the model finds plausible."""
    rows = np.sort(rng.choice(len(case.data.y), size, replace=False))
    x = case.data.select(rows).x
    (predictive,) = case.algorithm.predictives([model], x)
    sampled = np.asarray(predictive.sample(Rows.every(x), rng))
    y = case.data.y.astype(np.result_type(case.data.y, sampled))  # whole numbers may get others
    y[rows] = sampled
    return rows, y


def _other_labels(case: Case, size: int, rng: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Some rows, and labels of all rows with other classes there.

    Rows and classes are as likely as fits to other rows say.
    """
    known = np.concatenate([fold.rows[fold.few] for fold in case.folds])
    chances = np.concatenate([fold.predictive.probabilities for fold in case.folds]) + DOUBT
    chances[case.outcomes[known] > 0] = 0.0
    doubt = chances.sum(axis=1)
    places = rng.choice(len(known), min(size, len(known)), replace=False, p=doubt / doubt.sum())
    ends = np.cumsum(chances[places] / doubt[places, None], axis=1)
    codes = (rng.random((len(places), 1)) > ends[:, :-1]).sum(axis=1)
    y = np.array(case.data.y)
    y[known[places]] = np.asarray(case.algorithm.traits.classes)[codes]
    return known[places], y


def _missed(case: Case) -> float:
    """Share of the variance of outcomes that held-out predictions miss."""
    y = case.outcomes
    variance = np.sum((y - y.mean(axis=0)) ** 2)
    return float(np.sum((y - case.gathered("whole")) ** 2) / variance) if variance > 0 else 0.0
