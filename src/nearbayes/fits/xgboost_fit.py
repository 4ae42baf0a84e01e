"""XGBoost: refits that cost as much as a plain fit, for any number of imputed rows.

One binned matrix holds the real input rows; a refit writes labels and weights into it and trains.
The result is a fitted object of the user's own class. Settings for which counts would not be
exactly the repeated rows (`XGBoostFit.counts`) are fitted to repeated rows, by XGBoost's own `fit`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import xgboost
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from xgboost import XGBClassifier, XGBModel

from nearbayes.core.data import Counts, Data
from nearbayes.fits.binned import Binned, refit_bins
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.external import external_matrix
from nearbayes.fits.targets import class_codes, class_weights, mean_targets, with_every_class
from nearbayes.fits.xgboost_checks import check_outcomes, check_params
from nearbayes.tables.table import Table, categories, check_categories, is_mapped
from nearbayes.telling import warn

__all__ = ["XGBoostFit"]

Array = NDArray[np.float64]

# Losses that are linear in the label, so that its mean and count are sufficient.
LINEAR_IN_LABEL = ("reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:logistic")
LOG_LOSS = (None, "binary:logistic", "multi:softprob")
TREES = (None, "gbtree", "dart")
DROPOUT = ("rate_drop", "one_drop")
COLUMNS = ("tree", "level", "node")  # columns can be sampled for each of these
# Parameters of the user that loading a trained model overwrites.
USERS_OWN = ("base_score", "booster", "enable_categorical", "feature_types")
SMALLEST_HESSIAN, SMALLEST_SHARE = 1e-16, 1e-6  # as in XGBoost's own softmax objective


@dataclass(frozen=True)
class XGBoostFit(EstimatorFit):
    """The user's `XGBClassifier` or `XGBRegressor`.

    Early stopping is repeated at every refit, on the real rows of `eval_set`.

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
    # Not empty after the first fit: XGBoost would repeat the same warnings in every fit.
    spoken: set[str] = field(default_factory=set, compare=False, repr=False)
    # Categories seen in training, by column.
    categories: Mapping[str, set[Any]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_params(self.estimator, self.params)
        object.__setattr__(self, "estimator", _where_it_can_run(self.estimator))

    @property
    def counts(self) -> Counts:
        """Class counts or mean outcomes, if they are exactly equivalent to the repeated rows.

        False with row subsampling, which would keep or drop all repeats of a row together, and
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

    @property
    def randomised(self) -> bool:
        """Whether rows, columns or trees are sampled; otherwise the seed has no effect."""
        model = self.estimator
        shares = (model.subsample, *(getattr(model, f"colsample_by{what}") for what in COLUMNS))
        # since XGBoost 3.4 any booster of trees has the dropout of DART
        drops = model.booster == "dart" or any(map(model.get_params().get, DROPOUT))
        return drops or any(share not in (None, 1) for share in shares)

    @property
    def stops_on_real_rows(self) -> bool:
        """With early stopping, which needs an evaluation set."""
        return bool(self.estimator.early_stopping_rounds)

    def for_table(self, table: Table) -> Self:
        """Store the categories of each column, if they are not known yet."""
        return self if self.categories else replace(self, categories=categories(table))

    def check_inputs(self, table: Table) -> None:
        """Refuse unseen categories, which XGBoost may confuse with others (dmlc/xgboost#12189)."""
        check_categories(table, self.categories)

    def with_outcomes(self, outcomes: Callable[[Table, NDArray[Any]], NDArray[Any]]) -> Self:
        """Replace the outcomes of evaluation sets, which early stopping uses."""
        sets = [(x, outcomes(x, y)) for x, y in self.params.get("eval_set") or ()]
        params = {**self.params, "eval_set": sets} if sets else self.params
        return replace(self, params=params, binned=Binned())

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Use the codes 0, 1, ... as labels, also in the evaluation sets, as XGBoost requires."""
        if self.estimator.objective == "binary:logitraw":
            raise ValueError(
                "objective must not be 'binary:logitraw', which gives no probabilities to impute "
                "labels from: use objective='binary:logistic'."
            )
        sets = self.params.get("eval_set") or ()
        coded = [(x, class_codes(y, classes, "eval_set")) for x, y in sets]
        params = {**self.params, "eval_set": coded} if coded else self.params
        # the cache holds coded labels of evaluation sets, so it cannot be shared
        return replace(self, params=params, binned=Binned()), np.arange(len(classes))

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone; see `EstimatorFit.fit`."""
        if labels is None:
            check_outcomes(data.y, self.estimator.objective)
        by_counts = self.counts and data.y.ndim == 1
        fit = self._fit_counts if by_counts else self._fit_rows
        with xgboost.config_context(verbosity=0 if self.spoken else None):
            self.spoken.add("warnings")
            return fit(data, seed, labels)

    def _fit_rows(self, data: Data, seed: int, labels: NDArray[Any] | None) -> Any:
        """Fit repeated rows with the estimator's own `fit`."""
        model = self.configured(seed)
        rows = data if labels is None else with_every_class(data, len(labels))
        y = rows.y if labels is None else labels[rows.y]
        objective = model.objective
        if callable(objective):
            model.objective = _weighted(objective)
        model.fit(rows.x, y, **self._weights(rows), **{"verbose": False, **self.params})
        if callable(objective):
            model.objective = objective
        return model

    def _fit_counts(self, data: Data, seed: int, labels: NDArray[Any] | None) -> Any:
        """Write labels and weights into the binned matrix and train on it."""
        model = self.configured(seed)
        if labels is None:
            task = _Task.regression(data)
        elif len(labels) == 2:
            task = _Task.two_classes(data, model.scale_pos_weight, model.base_score)
        else:
            task = _Task.several_classes(data, len(labels), model.base_score)
        bins = model.max_bin or refit_bins(data, usual=256)
        train, evaluation = self.binned.of(data.table, bins, self._bin)
        train.set_info(label=task.label, weight=task.weight)
        params, gradients = (
            {**model.get_xgb_params(), **task.params, "max_bin": bins},
            task.gradients,
        )
        del task  # XGBoost has copies of its arrays
        booster = self._train(model, params, gradients, train, evaluation)
        return _loaded(model, booster)

    def _bin(
        self, table: Table, bins: int | None
    ) -> tuple[xgboost.DMatrix, list[tuple[xgboost.DMatrix, str]]]:
        """Bin the input rows and those of the evaluation sets."""
        train = self._matrix(table, bins, None)
        sets = self.params.get("eval_set") or ()
        weights = self.params.get("sample_weight_eval_set") or [None] * len(sets)
        evaluation = []
        for number, ((x, y), weight) in enumerate(zip(sets, weights, strict=True)):
            self.check_inputs(x)
            matrix = self._matrix(x, bins, train)
            matrix.set_info(label=y, weight=weight)
            evaluation.append((matrix, f"validation_{number}"))
        return train, evaluation

    def _matrix(
        self, table: Table, bins: int | None, reference: xgboost.DMatrix | None
    ) -> xgboost.DMatrix:
        """Rows as an XGBoost matrix; evaluation rows share the bins of their `reference`."""
        model = self.estimator
        options = {
            "missing": model.missing,
            "feature_types": model.feature_types,
            "enable_categorical": model.enable_categorical,
            "nthread": 1,
        }
        if reference is None:
            given = self.params.get("feature_weights")
            own = model.feature_weights
            options["feature_weights"] = given if own is None else own
        binned = model.tree_method in (None, "auto", "hist")
        if binned and is_mapped(table):
            types = options.pop("feature_types")
            return external_matrix(table, types, ref=reference, max_bin=bins, **options)
        if binned:
            return xgboost.QuantileDMatrix(table, ref=reference, max_bin=bins, **options)
        return xgboost.DMatrix(table, **options)

    def _train(
        self,
        model: Any,
        params: dict[str, Any],
        gradients: _SoftmaxGradients | None,
        train: xgboost.DMatrix,
        evaluation: list[tuple[xgboost.DMatrix, str]],
    ) -> xgboost.Booster:
        """Train as XGBoost's scikit-learn classes do, but on a cached matrix."""
        start = self.params.get("xgb_model")
        if model.eval_metric is not None:
            params["eval_metric"] = model.eval_metric
        with xgboost.config_context(verbosity=model.verbosity):
            return xgboost.train(
                params,
                train,
                model.get_num_boosting_rounds(),
                evals=evaluation,
                early_stopping_rounds=model.early_stopping_rounds,
                obj=gradients,
                verbose_eval=self.params.get("verbose", False),
                xgb_model=start.get_booster() if isinstance(start, XGBModel) else start,
                callbacks=model.callbacks,
            )


@dataclass(frozen=True)
class _Task:
    """Labels and weights to write into the binned matrix, and parameters of the loss."""

    label: Array
    weight: Array
    params: Mapping[str, Any] = field(default_factory=dict)
    gradients: _SoftmaxGradients | None = None

    @classmethod
    def regression(cls, data: Data) -> _Task:
        """Mean outcomes with counts."""
        return cls(*mean_targets(data))

    @classmethod
    def two_classes(cls, data: Data, scale: float | None, base_score: Any) -> _Task:
        """Fractions of ones with counts, including the effect of `scale_pos_weight`."""
        weights = class_weights(data, 2)
        total, params = weights.sum(axis=1), {"objective": "binary:logistic"}
        if scale in (None, 1) or np.array_equal(weights.max(axis=1), total):
            return cls(_share(weights), total, params)
        scaled = weights * [1.0, scale]
        if base_score is None:  # as in XGBoost, which takes one Newton step when it scales
            share = scaled[:, 1].sum() / scaled.sum()
            params["base_score"] = expit(4 * share - 2)
        return cls(_share(scaled), scaled.sum(axis=1), {**params, "scale_pos_weight": 1.0})

    @classmethod
    def several_classes(cls, data: Data, n_classes: int, base_score: Any) -> _Task:
        """One label per row if possible, as in real data; else class counts, by gradients."""
        weights = class_weights(data, n_classes)
        label, weight = weights.argmax(axis=1).astype(np.float64), weights.sum(axis=1)
        params = {"objective": "multi:softprob", "num_class": n_classes}
        if np.array_equal(weights.max(axis=1), weight):
            return cls(label, weight, params)
        if base_score is None:  # XGBoost would compute the intercept from incomplete labels
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


def _share(weights: Array) -> Array:
    """Share of the second class in each row; 0 if the row has no weight."""
    total = weights.sum(axis=1)
    shares = np.divide(weights[:, 1], total, out=np.zeros(len(total)), where=total > 0)
    return np.asarray(shares)


def _loaded(model: Any, booster: xgboost.Booster) -> Any:
    """Load the trees into the user's model, without the training data."""
    given = model.get_params()
    own = {name: given[name] for name in USERS_OWN}
    model.load_model(booster.save_raw())
    for name, value in own.items():  # after set_params, XGBoost would check and warn at prediction
        setattr(model, name, value)
    if model.device is not None:
        model.get_booster().set_param({"device": model.device})
    return model


def _weighted(objective: Callable[..., Any]) -> Callable[..., Any]:
    """The user's objective with support for weights, which refits need."""
    if "sample_weight" in inspect.signature(objective).parameters:
        return objective

    def weighted(y: Array, predicted: Array, sample_weight: Array | None = None) -> Any:
        parts = objective(y, predicted)
        if sample_weight is None:
            return parts
        # gradient and hessian have one value per row, or per row and class
        return tuple((np.asarray(part).T * sample_weight).T for part in parts)

    return weighted


def _where_it_can_run(estimator: Any) -> Any:
    """The estimator, moved to the CPU if XGBoost finds no GPU."""
    device = estimator.device
    if device in (None, "cpu") or _device_used(device) != "cpu":
        return estimator
    warn(
        f"device={device!r}, but XGBoost finds no GPU, so all draws are fitted on the CPU: "
        "use device='cpu', or install xgboost and a driver for your GPU.",
        UserWarning,
    )
    return clone(estimator).set_params(device="cpu")


def _device_used(device: str) -> str:
    """The device on which XGBoost really trains, found by fitting one tree to one row."""
    try:
        with xgboost.config_context(verbosity=0):
            tried = xgboost.train({"device": device}, xgboost.DMatrix([[0.0]], [0.0]), 1)
            config = json.loads(tried.save_config())
    except xgboost.core.XGBoostError as error:
        raise ValueError(
            f"device must be 'cpu' or, with a GPU, 'cuda' or 'cuda:0', got {device!r}, on which "
            "this XGBoost cannot train."
        ) from error
    return str(config["learner"]["generic_param"]["device"])


def example() -> tuple[XGBClassifier, Data]:
    """A classifier with its default settings, and data for it."""
    X = np.random.default_rng(7).normal(size=(90, 3))
    return XGBClassifier(), Data.of(X, X[:, 0] > 0.5 * X[:, 1])
