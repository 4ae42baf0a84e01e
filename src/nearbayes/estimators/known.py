"""Known: a known truth as a fitted estimator, for functions of fitted estimators."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from nearbayes.tables.table import Table

__all__ = ["KnownClassifier", "KnownRegressor", "as_fitted"]


class Reference(Protocol):
    """Knows the function, or class probabilities, at each row."""

    def values(self, x: Table) -> NDArray[np.float64]:
        """Of shape (n_rows,) or (n_rows, n_classes)."""


class _Known(BaseEstimator):  # type: ignore[misc]
    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def __sklearn_is_fitted__(self) -> bool:
        return True


class KnownRegressor(RegressorMixin, _Known):  # type: ignore[misc]
    """A known regression function that predicts like a fitted regressor."""

    def predict(self, X: Table) -> NDArray[np.float64]:
        """The function at each row."""
        return self.reference.values(X)


class KnownClassifier(ClassifierMixin, _Known):  # type: ignore[misc]
    """Known class probabilities that predict like a fitted classifier."""

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """Probability of each class."""
        return self.reference.values(X)

    def predict_log_proba(self, X: Table) -> NDArray[np.float64]:
        """Log probability of each class."""
        return np.asarray(np.log(self.reference.values(X)))

    def predict(self, X: Table) -> NDArray[Any]:
        """Most probable class."""
        return np.asarray(self.classes_[self.reference.values(X).argmax(axis=1)])


def as_fitted(reference: Reference, like: Any, classes: NDArray[Any] | None = None) -> Any:
    """A known function as an estimator.

    Parameters
    ----------
    reference : object
        Its `values` are the function, or class probabilities, at each row.
    like : fitted estimator
        Has seen the same columns.
    classes : array of shape (n_classes,), optional
        For a classifier.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(4.0).reshape(-1, 1)
    >>> class Double:
    ...     def values(self, x): return 2 * x[:, 0]
    >>> known = as_fitted(Double(), LinearRegression().fit(X, X[:, 0]))
    >>> known.predict(X).tolist(), known.n_features_in_
    ([0.0, 2.0, 4.0, 6.0], 1)
    """
    known = KnownRegressor(reference) if classes is None else KnownClassifier(reference)
    if classes is not None:
        known.classes_ = classes
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(like, name):
            setattr(known, name, getattr(like, name))
    return known
