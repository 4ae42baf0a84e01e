"""SmoothTrees: boosted trees and a smooth model, blended; the default learner.

Trees find steps and interactions of any kind, but approximate a slope by steps; a smooth additive
model with products of pairs does the reverse. The share of each, the depth and number of trees, and
the smoothness of each column are chosen once, out of fold on real rows (`choosing.py`). Refits of a
posterior keep these choices.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from nearbayes.core.schedule import is_whole
from nearbayes.learners.boosting import boosted
from nearbayes.learners.choosing import Choice, choose_for_classes, choose_for_numbers, folds_of
from nearbayes.learners.logistic import blend, class_probabilities, logistic
from nearbayes.learners.ridge import Ridge
from nearbayes.tables.table import Table, is_frame, n_rows, take

__all__ = ["SmoothTreesClassifier", "SmoothTreesRegressor"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


class _SmoothTrees(BaseEstimator):  # type: ignore[misc]
    """Shared by the regressor and the classifier."""

    def __init__(self, *, max_rounds: int = 120, random_state: Any = None) -> None:
        self.max_rounds = max_rounds
        self.random_state = random_state

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, NDArray[Any], Array]:
        """Rows with positive weight; data frames stay data frames."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: call "
                "fit(X, y)."
            )
        table, y = self._table(X, reset=True), column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if n_rows(table) != len(y):
            raise ValueError(
                "X and y must have the same number of rows, got inconsistent numbers of samples: "
                f"{n_rows(table)} and {len(y)}."
            )
        weights = _check_sample_weight(sample_weight, np.zeros((len(y), 1)), dtype=np.float64)
        kept = np.flatnonzero(weights > 0)
        if len(kept) < 2:
            raise ValueError(
                f"X must have at least 2 rows of positive weight, got n_samples={len(kept)}: add "
                "rows."
            )
        return take(table, kept), y[kept], weights[kept]

    @property
    def _most_rounds(self) -> int:
        if not is_whole(self.max_rounds) or self.max_rounds < 1:
            raise ValueError(
                f"max_rounds must be a whole number, 1 or more, got {self.max_rounds!r}."
            )
        return int(self.max_rounds)

    def _table(self, X: Any, *, reset: bool) -> Table:
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags


class SmoothTreesRegressor(RegressorMixin, _SmoothTrees):  # type: ignore[misc]
    """Boosted trees and a smooth additive model with products, blended out of fold.

    Accepts missing values and, in data frames, categorical columns. The default of
    `PosteriorRegressor`.

    Parameters
    ----------
    max_rounds : int
        Maximum number of boosting rounds to choose from, at rate 0.15.
    random_state : None, int or RandomState
        Randomness of the folds.

    Attributes
    ----------
    choice_ : Choice
        Share of the smooth model, depth and number of trees, penalties.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SmoothTreesRegressor(random_state=0).fit(X, y)
    >>> 0 <= model.choice_.share <= 1
    True
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose out of fold, then fit to all rows."""
        table, y, weights = self._checked(X, y, sample_weight)
        y = y.astype(np.float64)
        return self.fit_chosen(self.choose(table, y, weights), table, y, weights)

    def choose(self, table: Table, y: Array, weights: Array) -> Choice:
        """Depth and number of trees, penalties and share by squared error out of fold."""
        folds = folds_of(y, check_random_state(self.random_state))
        table = self._table(table, reset=True)
        return choose_for_numbers(table, y, weights, folds, self._most_rounds)

    def fit_chosen(self, choice: Choice, X: Any, y: Array, weights: Array) -> Self:
        """Fit both parts with the chosen settings."""
        table = self._table(X, reset=True)
        self.choice_ = choice
        self.trees_ = self.smooth_ = None
        if choice.share < 1:
            size = {"depth": choice.depth, "rounds": choice.rounds}
            self.trees_ = boosted(table, y, weights, classes=False, **size)
        if choice.share > 0:
            functions = choice.functions(table)
            self.smooth_ = Ridge.fitted(functions, y, weights, np.ones(functions.shape[1]))
        return self

    def predict(self, X: Any) -> Array:
        """The blend, shape (n_rows,)."""
        check_is_fitted(self, "choice_")
        table, share = self._table(X, reset=False), self.choice_.share
        blended = np.zeros(n_rows(table))
        if self.trees_ is not None:
            blended += (1 - share) * self.trees_.predict(table)
        if self.smooth_ is not None:
            blended += share * self.smooth_.predict(self.choice_.functions(table))
        return blended


class SmoothTreesClassifier(ClassifierMixin, _SmoothTrees):  # type: ignore[misc]
    """Boosted trees and a smooth logistic regression with products, blended out of fold.

    Log probabilities are blended. Accepts missing values and, in data frames, categorical columns.
    The default of `PosteriorClassifier`.

    Parameters
    ----------
    max_rounds : int
        Maximum number of boosting rounds to choose from, at rate 0.15.
    random_state : None, int or RandomState
        Randomness of the folds.

    Attributes
    ----------
    choice_ : Choice
        Share of the smooth model, depth and number of trees, penalties.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SmoothTreesClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose out of fold, then fit to all rows."""
        table, labels, weights = self._checked(X, y, sample_weight)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got only one class, {classes[0]!r}: there is "
                "nothing to classify."
            )
        choice = self.choose(table, codes, weights, len(classes))
        return self.fit_chosen(choice, table, codes, weights, classes)

    def choose(self, table: Table, codes: Codes, weights: Array, n_classes: int) -> Choice:
        """Depth and number of trees, penalties and share by log loss out of fold."""
        folds = folds_of(codes, check_random_state(self.random_state))
        table = self._table(table, reset=True)
        return choose_for_classes(table, codes, weights, folds, self._most_rounds, n_classes)

    def fit_chosen(
        self,
        choice: Choice,
        X: Any,
        codes: Codes,
        weights: Array,
        classes: NDArray[Any],
        growth: float = 1.0,
    ) -> Self:
        """Fit both parts as in `choice`; `growth` is the number of rows per distinct input."""
        table = self._table(X, reset=True)
        self.choice_, self.classes_ = choice, classes
        self.trees_ = self.smooth_ = None
        if choice.share < 1:
            size = {"depth": choice.depth, "rounds": choice.rounds}
            self.trees_ = boosted(table, codes, weights, classes=True, growth=growth, **size)
        if choice.share > 0:
            self.smooth_ = logistic(choice.functions(table), codes, weights)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, shape (n_rows, n_classes)."""
        check_is_fitted(self, "choice_")
        table, n_classes = self._table(X, reset=False), len(self.classes_)
        parts = []
        if self.smooth_ is not None:
            functions = self.choice_.functions(table)
            parts.append(class_probabilities(self.smooth_, functions, n_classes))
        if self.trees_ is not None:
            parts.append(class_probabilities(self.trees_, table, n_classes))
        if len(parts) == 1:
            return parts[0]
        return blend(parts[0], parts[1], self.choice_.share)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class, shape (n_rows,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
