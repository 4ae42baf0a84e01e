"""Perceptrons: `MLPClassifier` and `MLPRegressor`, ordinary scikit-learn estimators.

As estimators of `nearbayes.PosteriorClassifier` and `nearbayes.PosteriorRegressor` their draws
train together, and are refitted by the proximal Bregman objective (`network_algorithm.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from nearbayes.core.data import Data
from nearbayes.core.protocols import DrawsFailedError
from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Seeds
from nearbayes.neural.chunks import NetworkModel, Optimiser
from nearbayes.neural.network import MLP, Activation
from nearbayes.neural.network_algorithm import NetworkAlgorithm, Refit
from nearbayes.neural.outcomes import Classes, CountOutcomes, Numbers, Outcomes, VaryingNumbers
from nearbayes.tables.table import Table, as_table

__all__ = ["MLPClassifier", "MLPRegressor", "network_algorithm"]

Array = NDArray[Any]


class _Perceptron(BaseEstimator):  # type: ignore[misc]
    """Shared by the classifier and the regressor."""

    @abstractmethod
    def _outcomes(self) -> Outcomes:
        """The configured kind of y."""

    def algorithm(self) -> NetworkAlgorithm:
        """The algorithm with the settings of the estimator, checked."""
        for name in ("learning_rate", "weight_decay"):
            _check_number(name, getattr(self, name), at_least_zero=name == "weight_decay")
        for name in ("batch_size", "max_passes", "n_passes"):
            _check_whole(name, getattr(self, name), optional=name != "max_passes")
        network = partial(
            MLP,
            hidden=_widths(self.hidden),
            activation=self.activation,
            residual=bool(self.residual),
            layer_norm=bool(self.layer_norm),
        )
        network(1, 1)  # checks the widths and the activation
        return NetworkAlgorithm(
            network,
            self._outcomes(),
            Optimiser(float(self.learning_rate), float(self.weight_decay)),
            self.batch_size,
            self.max_passes,
            self.n_passes,
            self.refit_by,
            noisy_outcomes=bool(getattr(self, "noisy_outcomes", False)),
            estimator=clone(self),
        )

    def _fit(self, X: Any, y: Array, sample_weight: ArrayLike | None) -> Self:
        """Train one network."""
        table = self._table(X, reset=True)
        data = Data.of(table, y, sample_weight)
        seeds = Seeds(self.random_state)
        prepared, real = self.algorithm().prepare(data, seeds.shared())
        try:
            (model,) = prepared.finish(prepared.fit([real], seeds.streams((0,), 0).at(0)))
        except DrawsFailedError as failed:
            raise failed.errors[0] from None
        return self._set_fit(prepared, model)

    def with_fit(self, algorithm: NetworkAlgorithm, model: NetworkModel) -> Self:
        """A copy with a fitted network."""
        return clone(self)._set_fit(algorithm, model)  # type: ignore[no-any-return]

    def _set_fit(self, algorithm: NetworkAlgorithm, model: NetworkModel) -> Self:
        assert algorithm.encoding is not None
        self.algorithm_, self.network_ = algorithm, model
        self.n_features_in_ = algorithm.encoding.n_columns
        if algorithm.encoding.names is not None:
            self.feature_names_in_ = np.array(algorithm.encoding.names, dtype=object)
        if algorithm.stopping is not None:
            self.n_passes_ = algorithm.n_passes or algorithm.stopping.n_passes
            self.validation_passes_ = algorithm.stopping.passes
            self.validation_curve_ = algorithm.stopping.curve
        if algorithm.classes is not None:
            self.classes_ = algorithm.classes
        return self

    def _predicted(self, X: Any) -> Array:
        check_is_fitted(self, "network_")
        table = self._table(X, reset=False)
        return np.asarray(self.algorithm_.predict([self.network_], table)[0])

    def _table(self, X: Any, *, reset: bool) -> Table:
        table = as_table(X)
        if len(table.shape) != 2:
            raise ValueError(
                f"X must have rows and columns, got shape {table.shape}. Reshape your data: "
                "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        validate_data(self, table, reset=reset, skip_check_array=True)
        if getattr(getattr(table, "dtype", None), "kind", "f") == "c":
            raise ValueError("Complex data not supported: X must be real numbers.")
        if 0 in table.shape:
            axis, at_least = ("sample", 1) if table.shape[0] == 0 else ("feature", 1)
            raise ValueError(
                f"Found array with 0 {axis}(s) (shape={table.shape}) while a minimum of "
                f"{at_least} is required."
            )
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


class MLPRegressor(RegressorMixin, _Perceptron):  # type: ignore[misc]
    """A neural network for regression.

    Inputs are standardised, columns of categories become one column per value, and missing values
    are marked by an extra column. Training stops at the lowest loss on left-out rows.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers.
    loss : "squared", "heteroscedastic" or "poisson"
        Squared loss has the same normal noise everywhere, "heteroscedastic" noise that depends on
        x, "poisson" is for counts.
    activation : "swish", "selu", "tanh" or "relu"
    residual : bool
        Whether a hidden layer adds to its input, if widths are the same.
    layer_norm : bool
        Whether inputs of activations are normalised.
    learning_rate, weight_decay : float
        Settings of AdamW.
    batch_size : int, optional
        Approximate number of rows in a minibatch; None uses all rows at every step.
    max_passes : int
        Maximum number of passes over the rows.
    n_passes : int, optional
        Number of passes; by default chosen by left-out rows.
    refit_by : "proximal" or "gauss-newton"
        How a posterior refits: by the optimiser, or by one Gauss-Newton step.
    noisy_outcomes : bool
        Whether the methods "anchored" and "ntkgp" add noise to y, as the exact posterior of a
        linear model needs.
    random_state : None, int, numpy Generator or RandomState

    Attributes
    ----------
    n_passes_ : int
    validation_passes_, validation_curve_ : array
        Number of passes, and the mean loss on left-out rows after them, up to a constant.

    Examples
    --------
    >>> import nearbayes as nb
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = nb.neural.MLPRegressor(random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).mean() < 0.2)
    True
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64, 64),
        *,
        loss: Literal["squared", "heteroscedastic", "poisson"] = "squared",
        activation: Activation = "swish",
        residual: bool = False,
        layer_norm: bool = False,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        batch_size: int | None = 64,
        max_passes: int = 1_000,
        n_passes: int | None = None,
        refit_by: Refit = "proximal",
        noisy_outcomes: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.loss = loss
        self.activation = activation
        self.residual = residual
        self.layer_norm = layer_norm
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_passes = max_passes
        self.n_passes = n_passes
        self.refit_by = refit_by
        self.noisy_outcomes = noisy_outcomes
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MLPRegressor:
        """Train the network; a `sample_weight` of 2 counts a row twice."""
        if y is None:
            raise ValueError("MLPRegressor requires y to be passed, but the target y is None.")
        outcomes = check_array(
            y, ensure_2d=False, dtype="numeric", ensure_all_finite=True, input_name="y"
        ).astype(np.float64)
        if outcomes.ndim == 2 and (outcomes.shape[1] == 1 or self.loss != "squared"):
            outcomes = column_or_1d(outcomes, warn=True)
        return self._fit(X, outcomes, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The regression function and, if `return_std`, the standard deviation of y around it."""
        mean = self._predicted(X)
        if not return_std:
            return mean
        (predictive,) = self.algorithm_.predictives([self.network_], as_table(X))
        return mean, np.sqrt(predictive.variance)

    def _outcomes(self) -> Outcomes:
        kinds: dict[str, type[Outcomes]] = {
            "squared": Numbers,
            "heteroscedastic": VaryingNumbers,
            "poisson": CountOutcomes,
        }
        if self.loss not in kinds:
            raise ValueError(f"loss must be one of {', '.join(kinds)}, got {self.loss!r}.")
        return kinds[self.loss]()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.loss == "squared"
        return tags


class MLPClassifier(ClassifierMixin, _Perceptron):  # type: ignore[misc]
    """A neural network for classification.

    Parameters
    ----------
    hidden, activation, residual, layer_norm, learning_rate, weight_decay, batch_size, max_passes
        As in `MLPRegressor`.
    n_passes, refit_by, random_state
        As in `MLPRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_passes_, validation_passes_, validation_curve_
        As in `MLPRegressor`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nb.neural.MLPClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64, 64),
        *,
        activation: Activation = "swish",
        residual: bool = False,
        layer_norm: bool = False,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        batch_size: int | None = 64,
        max_passes: int = 1_000,
        n_passes: int | None = None,
        refit_by: Refit = "proximal",
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.residual = residual
        self.layer_norm = layer_norm
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_passes = max_passes
        self.n_passes = n_passes
        self.refit_by = refit_by
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MLPClassifier:
        """Train the network; a `sample_weight` of 2 counts a row twice."""
        if y is None:
            raise ValueError("MLPClassifier requires y to be passed, but the target y is None.")
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        return self._fit(X, labels, sample_weight)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, shape (n_rows, n_classes)."""
        return self._predicted(X)

    def predict(self, X: Any) -> Array:
        """Most probable class."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def _outcomes(self) -> Outcomes:
        return Classes()


def network_algorithm(estimator: MLPClassifier | MLPRegressor) -> NetworkAlgorithm:
    """The algorithm of an estimator in a posterior."""
    return estimator.algorithm()


def _widths(hidden: Any) -> tuple[int, ...]:
    try:
        return tuple(hidden) if np.ndim(hidden) else (hidden,)
    except TypeError as error:
        raise ValueError(f"hidden must be widths of layers, got {hidden!r}.") from error


def _check_number(name: str, value: Any, at_least_zero: bool) -> None:
    good = isinstance(value, int | float | np.number) and np.isfinite(value)
    if not good or (value < 0 if at_least_zero else value <= 0):
        words = "a number of 0 or more" if at_least_zero else "a positive number"
        raise ValueError(f"{name} must be {words}, got {value!r}.")


def _check_whole(name: str, value: Any, optional: bool) -> None:
    if value is None and optional:
        return
    if not is_whole(value) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


def example() -> tuple[MLPClassifier, Data]:
    """A classifier of the default size that is trained for a short time, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return MLPClassifier(n_passes=10), Data.of(
        X, np.where(X[:, 0] + rng.normal(size=60) > 0, "a", "b")
    )
