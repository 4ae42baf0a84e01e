"""Fitted: what pictures need of a fitted posterior classifier or regressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearbayes.core.credible import Functional
from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor

__all__ = ["Fitted", "check_model", "credible_interval_of", "target_columns"]

Fitted = PosteriorClassifier | PosteriorRegressor
Array = NDArray[np.float64]


def check_model(model: Any) -> None:
    """Refuse what is not fitted, or not ours."""
    if not isinstance(model, Fitted):
        raise TypeError(
            "model must be a fitted PosteriorClassifier or PosteriorRegressor, got "
            f"{type(model).__name__}: plots.posterior takes draws of any quantity."
        )
    check_is_fitted(model, "posterior_")


def credible_interval_of(model: Fitted, values: Array, coverage: float) -> Array:
    """Interval of draws of predictions, or of means of them, as `predict_interval` makes it.

    Parameters
    ----------
    values : array of shape (n_draws, ...)

    Returns
    -------
    array of shape (..., 2): calibrated where the model is, else corrected for truncation
    """
    if model.calibration_ is not None:
        return np.asarray(model.calibration_.interval(values, coverage))
    posterior = model.posterior_
    return Functional(values, posterior.inflation, posterior.link).interval(coverage)


def target_columns(model: Fitted, target: Any, n_columns: int) -> tuple[list[int], list[str]]:
    """Columns of the predictions to draw, and their names.

    Parameters
    ----------
    target : object
        A class, or the number of an output; None: the second of two classes, else all.
    n_columns : int
        Number of classes or outputs.
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
    single = ["prediction"] if n_columns == 1 else [f"output {column}" for column in columns]
    return columns, single
