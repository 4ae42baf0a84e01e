"""Fitted: checks and helpers for a fitted posterior classifier or regressor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor
from nearbayes.inspection.columns import evenly_spaced
from nearbayes.tables.table import Table, n_rows

__all__ = ["Fitted", "checked_outcomes", "prediction_of", "target_columns", "thinned"]

Fitted = PosteriorClassifier | PosteriorRegressor
Array = NDArray[np.float64]


def check_model(model: Any) -> None:
    """Raise an error unless `model` is a fitted posterior estimator."""
    if not isinstance(model, Fitted):
        raise TypeError(
            "model must be a fitted PosteriorClassifier or PosteriorRegressor, got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model, "posterior_")


def checked_outcomes(model: Any, table: Table, y: Any) -> NDArray[Any]:
    """Check y; return it as class codes or finite numbers, one per row of X."""
    check_model(model)
    outcomes = np.asarray(y)
    if outcomes.ndim == 2 and outcomes.shape[1] > 1:
        raise ValueError(
            f"y must have one output, got {outcomes.shape[1]}: fit one regressor per output."
        )
    outcomes = outcomes.ravel()
    if len(outcomes) != n_rows(table):
        raise ValueError(
            f"y must have one value for each row of X, got {len(outcomes)} for {n_rows(table)} "
            "rows."
        )
    return _codes(model, outcomes) if hasattr(model, "classes_") else _finite(outcomes)


def _codes(model: PosteriorClassifier, labels: NDArray[Any]) -> NDArray[np.intp]:
    code = {label: k for k, label in enumerate(model.classes_.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in code})
    if unknown:
        raise ValueError(
            f"y must hold classes seen during fit ({list(code)}), got "
            f"{', '.join(unknown[:5])}: leave out those rows."
        )
    return np.array([code[label] for label in labels.tolist()], dtype=np.intp)


def _finite(outcomes: NDArray[Any]) -> Array:
    numbers = outcomes.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"y must be finite, got {int((~np.isfinite(numbers)).sum())} missing or infinite "
            "values: leave out those rows."
        )
    return numbers


def prediction_of(model: Fitted) -> Callable[[Any, Table], Array]:
    """Function of a fitted estimator and a table: what a draw of the model predicts.

    Its values have shape (n_rows,) or (n_rows, n_outputs), or for classes (n_rows, n_classes).
    """
    if not isinstance(model, PosteriorClassifier):
        return lambda fitted, table: np.asarray(fitted.predict(table), dtype=np.float64)
    labels = model.posterior_.algorithm.labels

    def probabilities(fitted: Any, table: Table) -> Array:
        found = np.zeros((n_rows(table), len(labels)))  # a draw may not have seen every class
        found[:, np.searchsorted(labels, fitted.classes_)] = fitted.predict_proba(table)
        return found

    return probabilities


def target_columns(model: Fitted, target: Any, n_columns: int) -> tuple[list[int], list[str]]:
    """Columns of predictions for a target, and their names.

    `target` is a class, or the index of an output. None: the second of two classes, else all.
    """
    is_classifier = isinstance(model, PosteriorClassifier)
    known: Sequence[Any] = model.classes_.tolist() if is_classifier else list(range(n_columns))
    if target is None:
        columns = [1] if is_classifier and n_columns == 2 else list(range(n_columns))
    elif target in known:
        columns = [known.index(target)]
    else:
        raise ValueError(f"target must be one of {known}, got {target!r}.")
    if is_classifier:
        return columns, [f"P({known[column]})" for column in columns]
    return columns, ["prediction"] if n_columns == 1 else [f"output {k}" for k in columns]


def thinned(model: Fitted, most: int) -> Fitted:
    """The model with at most `most` of its draws, evenly spaced."""
    posterior, few = model.posterior_, copy(model)
    chosen = evenly_spaced(len(posterior), most)
    few.posterior_ = replace(posterior, models=[posterior.models[k] for k in chosen])
    return few
