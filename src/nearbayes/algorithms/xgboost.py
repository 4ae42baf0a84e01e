"""XGBoost: refits that cost what a plain fit costs, however many rows are imputed.

One binned matrix holds the real input rows; a refit writes labels and weights into it and trains.
What comes out is the user's own class, fitted. Settings for which counts would not be exactly the
repeated rows (`XGBoostFit.accepts_counts`) are fitted to repeated rows, by XGBoost's own `fit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import xgboost
from numpy.typing import NDArray
from scipy.special import softmax
from xgboost import XGBClassifier

from nearbayes.algorithms.binned import Binned
from nearbayes.algorithms.fitting import EstimatorFit
from nearbayes.algorithms.targets import class_codes, class_weights, mean_targets
from nearbayes.core.data import Counts, Data
from nearbayes.core.tables import Table

__all__ = ["XGBoostFit"]

Array = NDArray[np.float64]

# Losses that are linear in the label, so that its mean and count say all.
LINEAR_IN_LABEL = ("reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:logistic")
LOG_LOSS = (None, "binary:logistic", "multi:softprob")
TREES = (None, "gbtree", "dart")
# Set by loading a trained model, but the user's to choose.
USERS_OWN = ("base_score", "booster", "enable_categorical", "feature_types")
SMALLEST_HESSIAN, SMALLEST_SHARE = 1e-16, 1e-6  # as in XGBoost's own softmax objective


@dataclass(frozen=True)
class XGBoostFit(EstimatorFit):
    """`XGBClassifier` or `XGBRegressor` as the user configured it.

    Early stopping is repeated at every refit, on the rows of `eval_set`, which are real.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = nb.PosteriorClassifier(
    ...     xgboost.XGBClassifier(n_estimators=100, early_stopping_rounds=5),
    ...     n_draws=3, n_refits=2, random_state=0)
    >>> model = model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])
    >>> len({draw.best_iteration for draw in model.estimators_}) > 1
    True
    """

    binned: Binned = field(default_factory=Binned, compare=False, repr=False)
    normalises_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.params.get("base_margin") is not None:
            raise ValueError(
                "base_margin cannot be given to fit: imputed rows would have none. "
                "Add it as a column of X, or subtract it from y."
            )
        if self.estimator.early_stopping_rounds and not self.params.get("eval_set"):
            raise ValueError(
                f"early_stopping_rounds={self.estimator.early_stopping_rounds} needs rows to stop "
                "on, got no eval_set: fit(X, y, eval_set=[(X_validation, y_validation)])."
            )

    @property
    def accepts_counts(self) -> Counts:
        """Class counts or mean outcomes, where they are exactly the repeated rows.

        Not so with row subsampling, which would keep or drop all repeats of a row at once, and
        with losses that are not linear in the label.
        """
        model = self.estimator
        metrics = model.eval_metric if isinstance(model.eval_metric, list) else [model.eval_metric]
        plain = (
            not any(map(callable, metrics))
            and model.booster in TREES
            and model.subsample in (None, 1)
            and model.multi_strategy != "multi_output_tree"
        )
        if isinstance(model, XGBClassifier):
            return "labels" if plain and model.objective in LOG_LOSS else False
        return "means" if plain and model.objective in (None, *LINEAR_IN_LABEL) else False

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Classes as XGBoost knows them: 0, 1, ..., in the evaluation sets, too."""
        sets = self.params.get("eval_set") or ()
        coded = [(x, class_codes(y, classes, "eval_set")) for x, y in sets]
        params = {**self.params, "eval_set": coded} if coded else self.params
        return replace(self, params=params), np.arange(len(classes))

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone; see `EstimatorFit.fit`."""
        if not self.accepts_counts or data.y.ndim > 1:
            return super().fit(data, seed, labels)
        model = self.configured(seed)
        if labels is None:
            task = _Task.regression(data)
        elif len(labels) == 2:
            task = _Task.two_classes(data, model.scale_pos_weight or 1.0)
        else:
            task = _Task.several_classes(data, len(labels), model.base_score)
        train, evaluation = self.binned.of(data.table, self._bin)
        train.set_info(label=task.label, weight=task.weight)
        booster = self._train(model, task, train, evaluation)
        return _loaded(model, booster)

    def _bin(self, table: Table) -> tuple[xgboost.DMatrix, list[tuple[xgboost.DMatrix, str]]]:
        """The input rows in binned form, and beside them the rows of the evaluation sets."""
        train = self._matrix(table, None)
        sets = self.params.get("eval_set") or ()
        weights = self.params.get("sample_weight_eval_set") or [None] * len(sets)
        evaluation = []
        for number, ((x, y), weight) in enumerate(zip(sets, weights, strict=True)):
            matrix = self._matrix(x, train)
            matrix.set_info(label=y, weight=weight)
            evaluation.append((matrix, f"validation_{number}"))
        return train, evaluation

    def _matrix(self, table: Table, reference: xgboost.DMatrix | None) -> xgboost.DMatrix:
        """Rows as XGBoost keeps them; evaluation rows share the bins of their `reference`."""
        model = self.estimator
        options = {
            "missing": model.missing,
            "feature_types": model.feature_types,
            "enable_categorical": model.enable_categorical,
            "nthread": 1,
        }
        if reference is None:
            options["feature_weights"] = model.feature_weights
        if model.tree_method in (None, "auto", "hist"):
            return xgboost.QuantileDMatrix(table, ref=reference, max_bin=model.max_bin, **options)
        return xgboost.DMatrix(table, **options)

    def _train(
        self,
        model: Any,
        task: _Task,
        train: xgboost.DMatrix,
        evaluation: list[tuple[xgboost.DMatrix, str]],
    ) -> xgboost.Booster:
        """Train as XGBoost's scikit-learn classes do, but on a matrix that is kept."""
        params = {**model.get_xgb_params(), **task.params}
        if model.eval_metric is not None:
            params["eval_metric"] = model.eval_metric
        with xgboost.config_context(verbosity=model.verbosity):
            return xgboost.train(
                params,
                train,
                model.get_num_boosting_rounds(),
                evals=evaluation,
                early_stopping_rounds=model.early_stopping_rounds,
                obj=task.gradients,
                verbose_eval=self.params.get("verbose", False),
                xgb_model=self.params.get("xgb_model"),
                callbacks=model.callbacks,
            )


@dataclass(frozen=True)
class _Task:
    """What is written into the binned matrix, and what XGBoost is told to do with it."""

    label: Array
    weight: Array
    params: Mapping[str, Any] = field(default_factory=dict)
    gradients: _SoftmaxGradients | None = None

    @classmethod
    def regression(cls, data: Data) -> _Task:
        """Mean outcomes with counts."""
        return cls(*mean_targets(data))

    @classmethod
    def two_classes(cls, data: Data, scale_pos_weight: float) -> _Task:
        """Fractions of ones with counts; positive rows are scaled here, as fractions are not."""
        weights = class_weights(data, 2) * [1.0, scale_pos_weight]
        weight = weights.sum(axis=1)
        label = np.divide(weights[:, 1], weight, out=np.zeros(len(weight)), where=weight > 0)
        return cls(label, weight, {"objective": "binary:logistic", "scale_pos_weight": 1.0})

    @classmethod
    def several_classes(cls, data: Data, n_classes: int, base_score: Any) -> _Task:
        """Labels where each row has one, as in real data; else class counts through gradients."""
        weights = class_weights(data, n_classes)
        label, weight = weights.argmax(axis=1).astype(np.float64), weights.sum(axis=1)
        params = {"objective": "multi:softprob", "num_class": n_classes}
        if np.array_equal(weights.max(axis=1), weight):
            return cls(label, weight, params)
        if base_score is None:  # XGBoost takes the intercept from labels, which are not all here
            logs = np.log(weights.sum(axis=0) / weights.sum() + SMALLEST_SHARE)
            params["base_score"] = (logs - logs.mean()).tolist()
        return cls(label, weight, params, _SoftmaxGradients(weights))


@dataclass(frozen=True)
class _SoftmaxGradients:
    """XGBoost's softmax objective with gradients summed over all labels of a row.

    Attributes
    ----------
    weights : array of shape (n_rows, n_classes)
    """

    weights: Array

    def __call__(self, margin: Array, train: xgboost.DMatrix) -> tuple[Array, Array]:
        probability = softmax(margin, axis=1)
        total = self.weights.sum(axis=1, keepdims=True)
        hessian = np.maximum(2 * probability * (1 - probability) * total, SMALLEST_HESSIAN)
        return probability * total - self.weights, hessian


def _loaded(model: Any, booster: xgboost.Booster) -> Any:
    """The user's class, fitted: with trees but without what training kept beside them."""
    own = {name: model.get_params()[name] for name in USERS_OWN}
    model.load_model(booster.save_raw())
    return model.set_params(**own)
