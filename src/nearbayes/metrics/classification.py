"""Scores of class probabilities.

Every function takes ``probabilities`` with one row per label and one column per class, and
``classes``, the labels of these columns in order (scikit-learn's ``classes_``).
"""

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.metrics.checks import averaged, finite

# Wide enough for float32 probabilities over a thousand classes, far too narrow for logits.
_SUM_TOLERANCE = 1e-4


@overload
def log_score(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[True] = True,
) -> float: ...
@overload
def log_score(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[False],
) -> NDArray[np.float64]: ...
def log_score(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None, *, mean: bool = True
) -> float | NDArray[np.float64]:
    r"""Negative log probability of the observed class, in nats; lower is better.

    .. math:: S_i = -\log p_{i, y_i}

    If the observed class has probability zero, the score is ``inf``, and so is the mean: nothing is
    clipped.

    Parameters
    ----------
    y : array_like, shape (n_rows,)
        Observed labels.
    probabilities : array_like, shape (n_rows, n_classes)
        Predicted probabilities; each row sums to one.
    classes : array_like, shape (n_classes,), optional
        Labels of the columns; 0, 1, ..., n_classes - 1 if not given.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA.

    Examples
    --------
    >>> round(log_score([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    >>> log_score(["yes"], [[0.0, 1.0]], classes=["yes", "no"])
    inf
    """
    column, table = _checked(y, probabilities, classes)
    with np.errstate(divide="ignore"):  # log(0) is intended: see the docstring
        logs = np.log(table[np.arange(column.size), column])
    return averaged(0.0 - logs, mean)  # a certain, correct forecast scores 0.0, not -0.0


@overload
def accuracy(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[True] = True,
) -> float: ...
@overload
def accuracy(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[False],
) -> NDArray[np.float64]: ...
def accuracy(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None, *, mean: bool = True
) -> float | NDArray[np.float64]:
    r"""Whether the most probable class is the observed one; higher is better.

    .. math:: S_i = 1\{\arg\max_k p_{ik} = y_i\}

    Ties are broken in favour of the first column.

    Parameters
    ----------
    y, probabilities, classes
        As in :func:`log_score`.
    mean : bool, default True
        Average over rows, or return one zero or one per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    Examples
    --------
    >>> accuracy([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], mean=False)
    array([1., 0., 1.])
    """
    column, table = _checked(y, probabilities, classes)
    return averaged((table.argmax(axis=1) == column).astype(np.float64), mean)


@overload
def brier(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[True] = True,
) -> float: ...
@overload
def brier(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    mean: Literal[False],
) -> NDArray[np.float64]: ...
def brier(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None, *, mean: bool = True
) -> float | NDArray[np.float64]:
    r"""Brier score summed over all classes, from 0 (best) to 2.

    .. math:: S_i = \sum_k (p_{ik} - 1\{y_i = k\})^2

    With two classes this is twice the score of the second class alone.

    Parameters
    ----------
    y, probabilities, classes
        As in :func:`log_score`.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather
    Review.

    Examples
    --------
    >>> brier([0, 1], [[0.5, 0.5], [1.0, 0.0]], mean=False)
    array([0.5, 2. ])
    """
    column, table = _checked(y, probabilities, classes)
    observed = np.arange(table.shape[1]) == column[:, np.newaxis]
    return averaged(((table - observed) ** 2).sum(axis=1), mean)


def expected_calibration_error(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    n_bins: int = 15,
) -> float:
    r"""Top-label calibration error over equal-width bins, from 0 (best) to 1.

    With :math:`c_i = \max_k p_{ik}` the confidence of row i, and :math:`B_b` the rows whose
    confidence lies in the bin :math:`((b - 1) / n_{bins}, b / n_{bins}]`,

    .. math:: \sum_b \frac{|B_b|}{n} \Bigl|
        \frac{1}{|B_b|} \sum_{i \in B_b} 1\{\arg\max_k p_{ik} = y_i\} - c_i \Bigr|

    It is defined for a set of rows, so there is no ``mean`` option. It is biased upwards if bins
    hold few rows.

    Parameters
    ----------
    y, probabilities, classes
        As in :func:`log_score`.
    n_bins : int, default 15
        Number of bins between 0 and 1.

    Returns
    -------
    float

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> round(expected_calibration_error([0, 0, 1, 1], [[0.75, 0.25]] * 4), 4)
    0.25
    """
    if n_bins != int(n_bins) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1: got {n_bins}")
    column, table = _checked(y, probabilities, classes)
    confidence = table.max(axis=1)
    excess = (table.argmax(axis=1) == column) - confidence
    inner_edges = np.arange(1, n_bins) / n_bins
    # The bin's size cancels between its weight and its means, so its summed excess is enough.
    summed = np.bincount(np.searchsorted(inner_edges, confidence), weights=excess)
    return float(np.abs(summed).sum() / column.size)


def _checked(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return each row's observed column, and the checked probabilities."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y must be one-dimensional with at least one label: got shape {labels.shape}"
        )
    table = _probability_table(probabilities, labels.size)
    return _columns(labels, table.shape[1], classes), table


def _probability_table(probabilities: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    table = finite("probabilities", probabilities)
    if table.ndim != 2:
        raise ValueError(
            f"probabilities must have shape (n_rows, n_classes): got shape {table.shape}; for two "
            "classes pass np.column_stack([1 - p, p])"
        )
    if table.shape[0] != n_rows:
        raise ValueError(
            f"probabilities must have one row per y: got {table.shape[0]} rows for {n_rows} labels"
        )
    if (table < 0).any():
        raise ValueError(f"probabilities must not be negative: got {table.min()}")
    off = np.abs(table.sum(axis=1) - 1)
    if (off > _SUM_TOLERANCE).any():
        worst = int(off.argmax())
        raise ValueError(
            f"probabilities must sum to one in every row: got {table[worst].sum()} in row {worst}"
        )
    return table


def _columns(
    labels: NDArray[np.generic], n_classes: int, classes: ArrayLike | None
) -> NDArray[np.intp]:
    names = np.arange(n_classes) if classes is None else np.asarray(classes)
    if names.shape != (n_classes,):
        raise ValueError(
            f"classes must name the {n_classes} columns of probabilities: got shape {names.shape}"
        )
    # A dictionary, not searchsorted: labels may be objects that have no order.
    index = {name: k for k, name in enumerate(names.tolist())}
    if len(index) != n_classes:
        raise ValueError(f"classes must not repeat a label: got {names.tolist()}")
    try:
        return np.array([index[label] for label in labels.tolist()], dtype=np.intp)
    except KeyError as error:
        raise ValueError(
            f"y must hold only labels of classes: got {error.args[0]!r}, not in {names.tolist()}; "
            "pass classes, the labels of the columns of probabilities"
        ) from None
