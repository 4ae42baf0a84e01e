"""LightGBM: refits that cost as much as a plain fit, for any number of imputed rows.

One binned `Dataset` holds the real input rows; a refit writes labels and weights into it and
trains. The result is a fitted object of the user's own class. Settings for which counts would not
be the repeated rows (`LightGBMFit.counts`) are fitted to repeated rows, by LightGBM's own `fit`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import joblib
import lightgbm
import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from nearbayes.core.data import Counts, Data
from nearbayes.fits.binned import Binned, refit_bins
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.targets import class_codes, class_weights, mean_targets
from nearbayes.tables.table import Table, n_rows, take

__all__ = ["LightGBMFit"]

Array = NDArray[np.float64]

# All aliases of the parameters that are read or replaced here.
ALIASES = {
    "bagging_fraction": "subsample sub_row bagging pos_bagging_fraction pos_sub_row pos_subsample "
    "pos_bagging neg_bagging_fraction neg_sub_row neg_subsample neg_bagging",
    "bagging_freq": "subsample_freq",
    "boosting": "boosting_type boost",
    "extra_trees": "extra_tree",
    "feature_fraction": "sub_feature colsample_bytree",
    "feature_fraction_bynode": "sub_feature_bynode colsample_bynode",
    "early_stopping_round": "early_stopping_rounds early_stopping n_iter_no_change",
    "is_unbalance": "unbalance unbalanced_sets",
    "linear_tree": "linear_trees",
    "max_bin": "max_bins",
    "metric": "metrics metric_types",
    "min_data_in_leaf": "min_data_per_leaf min_data min_child_samples min_samples_leaf",
    "num_class": "num_classes",
    "num_threads": "num_thread nthread nthreads n_jobs",
    "objective": "objective_type app application loss",
    "seed": "random_seed random_state",
}
NAMES = {name: (name, *others.split()) for name, others in ALIASES.items()}
LOG_LOSS = ("binary", "multiclass", "softmax")
# Losses that are linear in the label, so that its mean and count are sufficient.
LINEAR_IN_LABEL = (
    *("regression", "regression_l2", "l2", "mean_squared_error", "mse"),
    *("l2_root", "root_mean_squared_error", "rmse"),
    *("poisson", "gamma", "tweedie", "cross_entropy", "xentropy"),
)
# Values for which a fit depends on the rows of a leaf only through their summed gradients.
SUMS_GRADIENTS: dict[str, tuple[Any, ...]] = {
    "boosting": ("gbdt", "gbrt", "dart"),
    "class_weight": (),
    "data_sample_strategy": ("bagging",),
    **dict.fromkeys(("is_unbalance", "linear_tree", "reg_sqrt", "use_quantized_grad"), (False,)),
}
# Shares of rows and columns used for a tree.
DRAWN = ("bagging_fraction", "feature_fraction", "feature_fraction_bynode")
LOSS = ("objective", "num_class", "metric")
# Arguments of `fit` about columns, and arguments for which LightGBM's own `fit` is used.
ABOUT_COLUMNS = ("feature_name", "categorical_feature")
LEFT_TO_LIGHTGBM = ("init_model", "eval_class_weight", "eval_init_score")


@dataclass(frozen=True)
class LightGBMFit(EstimatorFit):
    """The user's `LGBMClassifier` or `LGBMRegressor`.

    Early stopping is repeated at every refit, on the real rows of `eval_set` (or of `eval_X` and
    `eval_y`).

    `min_child_samples` keeps its meaning as rows are imputed: it is the minimum number of real
    input rows in a leaf. LightGBM estimates that number from the weights in each bin and rounds
    it, so counts are exactly equivalent to repeated rows only where this limit is not reached.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = nb.PosteriorClassifier(
    ...     lightgbm.LGBMClassifier(learning_rate=0.3, early_stopping_round=3, verbosity=-1),
    ...     n_draws=3, n_refits=2, random_state=0)
    >>> model = model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])
    >>> len({draw.best_iteration_ for draw in model.estimators_}) > 1
    True
    """

    binned: Binned = field(default_factory=Binned, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in self.params:
            if not has_fit_parameter(self.estimator, name):
                raise TypeError(
                    f"{type(self.estimator).__name__}.fit has no argument {name!r}: remove it, or "
                    "check its spelling."
                )
        if self.params.get("init_score") is not None:
            raise ValueError(
                "init_score must not be passed to fit, because imputed rows would have none: add "
                "it as a column of X, or subtract it from y."
            )
        patience = self._patience
        if patience > 0 and not self._evaluation_sets():
            raise ValueError(
                f"early_stopping_round={patience} needs an eval_set, got none: "
                "fit(X, y, eval_set=[(X_validation, y_validation)])."
            )

    @property
    def stops_on_real_rows(self) -> bool:
        """With early stopping, which needs an evaluation set."""
        return self._patience > 0

    @property
    def _patience(self) -> int:
        return int(max(self._given("early_stopping_round"), default=0))

    @property
    def counts(self) -> Counts:
        """Class counts or mean outcomes, if a fit needs only sums over rows.

        False with row subsampling, which would keep or drop all repeats of a row together, and
        with losses that are not linear in the label.
        """
        shares, metric = self._given("bagging_fraction"), self.params.get("eval_metric")
        is_classifier = isinstance(self.estimator, LGBMClassifier)
        allowed = {**SUMS_GRADIENTS, "objective": LOG_LOSS if is_classifier else LINEAR_IN_LABEL}
        if (
            (max(self._given("bagging_freq")) > 0 and min(shares) < 1)
            or any(self.params.get(name) is not None for name in LEFT_TO_LIGHTGBM)
            or any(map(callable, metric if isinstance(metric, list) else [metric]))
            or any(value not in allowed[name] for name in allowed for value in self._given(name))
        ):
            return False
        return "labels" if is_classifier else "means"

    @property
    def randomised(self) -> bool:
        """Whether rows, columns or trees are sampled; otherwise the seed has no effect."""
        shares = [value for name in DRAWN for value in self._given(name)]
        extra = [*self._given("extra_trees"), *self._given("data_sample_strategy")]
        kinds = self._given("boosting")
        drawn = any(share != 1 for share in shares) or any(extra)
        return drawn or any(kind not in ("gbdt", "gbrt") for kind in kinds)

    @cached_property
    def leaf_sizes(self) -> dict[str, int]:
        """Minimum leaf sizes by parameter name; they grow with the number of rows of a fit."""
        params = self.estimator.get_params()
        return {name: params[name] for name in NAMES["min_data_in_leaf"] if name in params}

    def with_outcomes(self, outcomes: Callable[[Table, NDArray[Any]], NDArray[Any]]) -> Self:
        """Replace the outcomes of evaluation sets, which early stopping uses."""
        sets = [(x, outcomes(x, y)) for x, y in self._evaluation_sets()]
        params = {**_without(self.params, "eval_X", "eval_y"), "eval_set": sets}
        return replace(self, params=params if sets else self.params, binned=Binned())

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Classes as codes 0, 1, ..., so that a class missing in a sample is still known."""
        if not self.counts:
            return super().for_classes(classes)
        sets = [(x, class_codes(y, classes, "eval_set")) for x, y in self._evaluation_sets()]
        params = {**_without(self.params, "eval_X", "eval_y"), "eval_set": sets}
        # the cache holds coded labels of evaluation sets, so it cannot be shared
        return replace(self, params=params, binned=Binned()), np.arange(len(classes))

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone; see `EstimatorFit.fit`."""
        if not self.counts or data.y.ndim > 1:
            return super().fit(data, seed, labels)
        bins = None if self._given("max_bin") else refit_bins(data, usual=255)
        kept = self.binned.of(data.table, bins, partial(self._keep, labels))
        task = self._task(data, kept.template)
        model = self.configured(seed, len(task.label) / _real_rows(data))
        results: dict[str, Any] = {}
        # callbacks store the best score so far, so every fit needs its own
        callbacks = copy.deepcopy(self.params.get("callbacks") or [])
        booster = lightgbm.train(
            {**_training_params(model, bins), **task.loss},
            task.write_into(kept.train),
            model.n_estimators,
            valid_sets=kept.evaluation,
            valid_names=kept.names,
            callbacks=[*callbacks, lightgbm.record_evaluation(results)],
        )
        return _with_trees(model, kept.template, booster, results)

    def _given(self, name: str) -> list[Any]:
        """Values of a LightGBM parameter under all its names, except None."""
        params = self.estimator.get_params()
        values = (params.get(each) for each in NAMES.get(name, (name,)))
        return [value for value in values if value is not None]

    def _task(self, data: Data, template: Any) -> _Task:
        """Mean outcomes, fractions of ones (cross entropy is binary log loss), or class labels."""
        loss = {name: template.booster_.params.get(name) for name in LOSS}
        if not isinstance(template, LGBMClassifier):
            return _Task(*mean_targets(data), loss)
        # LightGBM computes the intercept before it scales positive rows: weights cannot do this
        scales = [*self._given("scale_pos_weight"), *self._given("sigmoid")]
        if loss["objective"] == "binary" and all(scale == 1 for scale in scales):
            return _Task(*mean_targets(data), {**loss, "objective": "cross_entropy"})
        return _Task.of_labels(class_weights(data, template.n_classes_), loss)

    def _keep(self, labels: NDArray[Any] | None, table: Table, bins: int | None) -> _Kept:
        """Bin the input rows and those of the evaluation sets."""
        columns = {name: self.params.get(name, "auto") for name in ABOUT_COLUMNS}
        # bins must not depend on the seed of a draw, because other draws use them too
        params = _without(_training_params(self.configured(0), bins), *NAMES["seed"])
        train = lightgbm.Dataset(table, np.zeros(n_rows(table)), params=params, **columns)
        weights = self.params.get("eval_sample_weight") or {}
        weights = weights if isinstance(weights, dict) else dict(enumerate(weights))
        own_names = dict(enumerate(self.params.get("eval_names") or ()))
        evaluation, names = [], []
        for i, (x, y) in enumerate(self._evaluation_sets()):
            rows = lightgbm.Dataset(x, y, train, weights.get(i), params=params, **columns)
            evaluation.append(rows.construct())
            # LightGBM ignores the set of this name, the training rows, in early stopping
            names.append("training" if _same(x, table) else own_names.get(i, f"valid_{i}"))
        return _Kept(train.construct(), evaluation, names, self._template(table, labels))

    def _template(self, table: Table, labels: NDArray[Any] | None) -> Any:
        """A model fitted to a few rows by LightGBM's own `fit`; only its trees are wrong."""
        y = np.ones(2) if labels is None else labels
        few = take(table, np.arange(len(y)) % n_rows(table))
        known = (*ABOUT_COLUMNS, "eval_metric")
        asked = {name: self.params[name] for name in known if name in self.params}
        quick = {"num_iterations": 1, "early_stopping_round": 0, "verbosity": -1}
        return self.configured(0).set_params(**quick).fit(few, y, **copy.deepcopy(asked))

    def _evaluation_sets(self) -> list[tuple[Table, Any]]:
        """Rows and labels of every evaluation set."""
        sets = self.params.get("eval_set")
        x, y = self.params.get("eval_X"), self.params.get("eval_y")
        if x is not None and y is not None:
            sets = list(zip(x, y, strict=True)) if isinstance(x, tuple) else [(x, y)]
        elif x is not None or y is not None:
            raise ValueError("eval_X and eval_y must be passed together, got only one of them.")
        return [sets] if isinstance(sets, tuple) else list(sets or ())


@dataclass(frozen=True)
class _Kept:
    """Data shared by all refits on one table; `template` is a fitted model except for its trees."""

    train: lightgbm.Dataset
    evaluation: list[lightgbm.Dataset]
    names: list[str]
    template: Any


@dataclass(frozen=True)
class _Task:
    """Labels and weights to write into the binned rows, and the loss to use.

    `index` is the table row of each label; None means one label per row, in order.
    """

    label: Array
    weight: Array
    loss: dict[str, Any]
    index: NDArray[np.intp] | None = None

    @classmethod
    def of_labels(cls, weights: Array, loss: dict[str, Any]) -> _Task:
        """One label per row if possible, as in real data; else one row per distinct label."""
        total = weights.sum(axis=1)
        if np.array_equal(weights.max(axis=1), total):
            return cls(weights.argmax(axis=1).astype(np.float64), total, loss)
        seen = weights > 0
        seen[:, 0] |= total == 0  # weight 0, but LightGBM also counts rows
        index, label = np.nonzero(seen)
        return cls(label.astype(np.float64), weights[seen], loss, index)

    def write_into(self, train: lightgbm.Dataset) -> lightgbm.Dataset:
        """Write labels and weights into the binned rows, or into a copy with repeats."""
        rows = train if self.index is None else train.subset(self.index.tolist()).construct()
        rows.set_label(self.label)
        # `set_weight` would keep the weights of the last fit if all new ones are 1
        rows.set_field("weight", None if (self.weight == 1).all() else self.weight)
        return rows


def _training_params(model: Any, bins: int | None) -> dict[str, Any]:
    """Parameters of a model, except its loss, for LightGBM's `train` with one thread.

    If `bins` is None, the model's own number of bins is used.
    """
    names = (name for main in (*LOSS, "num_threads") for name in NAMES[main])
    elsewhere = ("importance_type", "n_estimators", "class_weight")
    chosen = {} if bins is None else {"max_bin": bins}
    return {**_without(model.get_params(), *names, *elsewhere), **chosen, "num_threads": 1}


def _real_rows(data: Data) -> float:
    """Number of real input rows, without unlabelled and imputed rows of the table.

    Weights do not add rows, and a bootstrap sample has as many as its source.
    """
    real = data.real or data
    return min(n_rows(data.table), max(len(real.y), real.size))


def _same(rows: Table, table: Table) -> bool:
    """Whether rows are those of the table; works also in another process."""
    return rows is table or (rows.shape == table.shape and joblib.hash(rows) == joblib.hash(table))


def _without(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in names}


def _with_trees(model: Any, template: Any, booster: lightgbm.Booster, results: Any) -> Any:
    """Put the trees into the user's model, with private names as LightGBM has no public way."""
    vars(model).update(_without(vars(template), *template.get_params(), "_other_params"))
    model._Booster = booster
    model._best_iteration = booster.best_iteration
    model._best_score = booster.best_score
    model._evals_result = results
    return model


def example() -> tuple[lightgbm.LGBMRegressor, Data]:
    """A regressor with its default settings, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 3))
    return lightgbm.LGBMRegressor(verbosity=-1), Data.of(X, X[:, 0] + rng.normal(size=90))
