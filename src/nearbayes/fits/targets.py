r"""Targets: labels and weights, one per input row, that are equivalent to repeated rows.

A loss that is linear in the label, up to terms without the model, has the same gradients for m
repeated rows :math:`(x, y_1), ..., (x, y_m)` as for one row :math:`(x, \bar y)` of weight m. This
holds for squared loss, the Poisson, gamma and Tweedie deviances, and the log loss of two classes,
where :math:`\bar y` is the fraction of ones. With more classes, the counts of each class replace
:math:`\bar y`.

Weights sum to the number of *real* rows, n, for any number of imputed rows. Ridge penalties and
minimum leaf sizes are in units of rows. If imputed rows counted in full, every refit would be
regularised less than the first fit, although imputed rows hold no new information.
`experiments/refit_policy` compares both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.core.data import Data
from nearbayes.tables.table import n_rows

__all__ = ["class_codes", "class_weights", "mean_targets", "row_weights", "with_every_class"]

Array = NDArray[np.float64]


def row_weights(data: Data) -> Array:
    """Weight of each observation, summing to n, shape (n_observations,).

    Examples
    --------
    >>> real = Data.of(np.zeros((2, 1)), [0, 1])
    >>> grown = Data(real.table, np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1]), real=real)
    >>> row_weights(grown).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return np.asarray(data.counts * (data.n / data.size))


def class_weights(data: Data, n_classes: int) -> Array:
    """Weight of each class at each row of the table, shape (n_table_rows, n_classes).

    Examples
    --------
    >>> data = Data(np.zeros((2, 1)), np.array([0, 0, 1]), np.array([0, 1, 1]))
    >>> class_weights(data, 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    cell = data.positions * n_classes + data.y
    weights = np.bincount(cell, row_weights(data), minlength=n_rows(data.table) * n_classes)
    return np.asarray(weights.reshape(-1, n_classes))


def mean_targets(data: Data) -> tuple[Array, Array]:
    """Mean outcome and weight at each row of the table, both of shape (n_table_rows,).

    Rows without an observation have weight 0 and the overall mean, which is valid for any loss.

    Examples
    --------
    >>> data = Data(np.zeros((3, 1)), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]))
    >>> [array.tolist() for array in mean_targets(data)]
    [[1.5, 3.0, 2.0], [2.0, 1.0, 0.0]]
    """
    rows, weights = n_rows(data.table), row_weights(data)
    total = np.bincount(data.positions, weights, minlength=rows)
    sums = np.bincount(data.positions, weights * data.y, minlength=rows)
    overall = sums.sum() / total.sum()
    means = np.divide(sums, total, out=np.full(rows, overall), where=total > 0)
    return means, np.asarray(total)


def class_codes(labels: ArrayLike, classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Position of each label in the sorted `classes`; `name` is the argument, for errors.

    Examples
    --------
    >>> class_codes(["b", "a"], np.array(["a", "b"]), "eval_set").tolist()
    [1, 0]
    """
    code = {label: number for number, label in enumerate(classes.tolist())}
    given = np.ravel(labels).tolist()
    unknown = sorted({label for label in given if label not in code}, key=str)
    if unknown:
        raise ValueError(
            f"{name} must hold only classes of y, got {unknown[:5]}: remove those rows, or add "
            "rows of these classes to the training data."
        )
    return np.array([code[label] for label in given], dtype=np.intp)


def with_every_class(data: Data, n_classes: int) -> Data:
    """Add a row of weight 0 for each class without one, for libraries that need all classes.

    Examples
    --------
    >>> data = with_every_class(Data.of(np.zeros((2, 1)), [0, 2]), 3)
    >>> data.y.tolist(), data.count.tolist()
    ([0, 2, 1], [1.0, 1.0, 0.0])
    """
    lost = np.setdiff1d(np.arange(n_classes), data.y)
    if not len(lost):
        return data
    return replace(
        data,
        index=np.concatenate([data.positions, np.repeat(data.positions[:1], len(lost))]),
        y=np.concatenate([data.y, lost]),
        count=np.concatenate([data.counts, np.zeros(len(lost))]),
    )
