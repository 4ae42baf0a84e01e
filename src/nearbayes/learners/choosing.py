"""Choosing: depth and number of trees, penalties and share of the smooth model, out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearbayes.learners.basis import Basis
from nearbayes.learners.boosting import DEPTHS, boosted, rounds_to_try, staged
from nearbayes.learners.logistic import blend, class_precisions, class_probabilities, logistic
from nearbayes.learners.ridge import Ridge, prior_precisions
from nearbayes.tables.table import Table, take

__all__ = ["Choice", "choose_for_classes", "choose_for_numbers", "folds_of"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Folds = list[tuple[Codes, Codes]]
N_FOLDS = 5
NEARLY_NONE = 0.03  # a part with a smaller share is left out
STRENGTHS = np.array([0.1, 1.0, 10.0])  # factors for the prior variances of a classifier
SHARES = np.linspace(0, 1, 21)
SMALLEST = 1e-7  # probability


@dataclass(frozen=True)
class Choice:
    """Settings chosen on real rows, out of fold.

    Attributes
    ----------
    share : float
        Of the smooth model in the blend; the rest are trees.
    depth, rounds : int
        Of the trees.
    basis : Basis
        Functions of the smooth model.
    precisions : array of shape (n_functions,)
        Penalty of each function, in units of rows.
    """

    share: float
    depth: int
    rounds: int
    basis: Basis
    precisions: Array

    def functions(self, table: Table) -> Array:
        """Functions of the smooth model at rows, scaled so that all have the same penalty."""
        return np.asarray(self.basis.functions(table) / np.sqrt(self.precisions))


def folds_of(y: NDArray[np.generic], rng: np.random.RandomState) -> Folds:
    """Folds with the same share of small and large outcomes, or of every class.

    Examples
    --------
    >>> folds = folds_of(np.repeat([0, 1], 5), np.random.RandomState(0))
    >>> [len(test) for _, test in folds]
    [2, 2, 2, 2, 2]
    """
    shuffled = rng.permutation(len(y))
    ranked = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[ranked] = np.arange(len(y)) % min(N_FOLDS, len(y))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]


def choose_for_numbers(
    table: Table, y: Array, weights: Array, folds: Folds, most_rounds: int
) -> Choice:
    """Choose by squared error."""
    basis, tried = Basis.of(table), rounds_to_try(most_rounds)
    functions = basis.functions(table)
    trees, smooth = np.empty((len(DEPTHS), len(tried), len(y))), np.empty(len(y))
    for train, test in folds:
        trees[..., test] = _trees_out_of_fold(table, y, weights, train, test, 0, tried)
        seen = functions[train], y[train], weights[train]
        precisions, _ = prior_precisions(seen[0], seen[1][:, None], seen[2], basis.groups)
        smooth[test] = Ridge.fitted(*seen, precisions).predict(functions[test])
    losses = ((trees - y) ** 2) @ weights
    depth, rounds = np.unravel_index(losses.argmin(), losses.shape)
    best = trees[depth, rounds]
    gap, error = best - smooth, best - y
    size = weights @ gap**2
    share = float(np.clip(weights @ (gap * error) / size, 0, 1)) if size > 0 else 0.0
    precisions, _ = prior_precisions(functions, y[:, None], weights, basis.groups)
    return Choice(_settled(share), DEPTHS[depth], int(tried[rounds]), basis, precisions)


def choose_for_classes(
    table: Table, codes: Codes, weights: Array, folds: Folds, most_rounds: int, n_classes: int
) -> Choice:
    """Choose by log loss."""
    basis, tried, n = Basis.of(table), rounds_to_try(most_rounds), len(codes)
    functions = basis.functions(table)
    trees = np.empty((len(DEPTHS), len(tried), n, n_classes))
    smooth = np.empty((len(STRENGTHS), n, n_classes))
    for train, test in folds:
        seen = np.unique(codes[train])
        if len(seen) == 1:
            trees[..., test, :] = smooth[:, test] = np.eye(n_classes)[seen[0]]
            continue
        trees[..., test, :] = _trees_out_of_fold(
            table, codes, weights, train, test, n_classes, tried
        )
        if len(basis.groups):
            kept = functions[train], codes[train], weights[train]
            precisions = class_precisions(*kept, basis.groups, n_classes)
            for k, strength in enumerate(STRENGTHS):
                scale = np.sqrt(strength / precisions)
                fitted = logistic(functions[train] * scale, codes[train], weights[train])
                smooth[k, test] = class_probabilities(fitted, functions[test] * scale, n_classes)
    losses = _log_losses(trees, codes) @ weights
    depth, rounds = np.unravel_index(losses.argmin(), losses.shape)
    chosen = DEPTHS[depth], int(tried[rounds])
    if not len(basis.groups):
        return Choice(0.0, *chosen, basis, np.zeros(0))
    k = int(np.argmin(_log_losses(smooth, codes) @ weights))
    blends = np.stack([blend(smooth[k], trees[depth, rounds], share) for share in SHARES])
    share = float(SHARES[np.argmin(_log_losses(blends, codes) @ weights)])
    precisions = class_precisions(functions, codes, weights, basis.groups, n_classes)
    return Choice(_settled(share), *chosen, basis, precisions / STRENGTHS[k])


def _trees_out_of_fold(
    table: Table,
    y: NDArray[np.generic],
    weights: Array,
    train: Codes,
    test: Codes,
    n_classes: int,
    tried: Codes,
) -> Array:
    """Predictions of test rows by depth and rounds, shape (n_depths, n_tried, n_test, ...)."""
    rows, held_out = take(table, train), take(table, test)
    parts = []
    for depth in DEPTHS:
        size = {"depth": depth, "rounds": int(tried[-1])}
        fitted = boosted(rows, y[train], weights[train], n_classes > 0, **size)
        parts.append(staged(fitted, held_out, n_classes, tried))
    return np.stack(parts)


def _log_losses(probabilities: Array, codes: Codes) -> Array:
    """Log loss of each row, shape (..., n_rows)."""
    own = probabilities[..., np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.maximum(own, SMALLEST)))


def _settled(share: float) -> float:
    """Set the share of a negligible part to 0, so that it is not fitted."""
    if share < NEARLY_NONE:
        return 0.0
    return 1.0 if share > 1 - NEARLY_NONE else share
