"""Fitting: how a scikit-learn estimator is cloned, seeded, weighted and fitted.

The user's estimator is never changed: every fit uses a clone with its own seed, and gets the kind
of table that the user passed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from nearbayes.core.data import Counts, Data
from nearbayes.core.protocols import Rng, Traits
from nearbayes.core.schedule import Schedule, is_whole, usual_schedule
from nearbayes.fits.losses import variance_power
from nearbayes.fits.targets import row_weights
from nearbayes.tables.table import Table

__all__ = ["EstimatorFit", "boosted_schedule", "has_no_missing", "unfitted"]

WEIGHTED_BOOSTING = ("lightgbm", "xgboost")
BOOSTING_LIBRARIES = (*WEIGHTED_BOOSTING, "catboost", "ngboost")
LEAVE_INPUTS = (*BOOSTING_LIBRARIES, "sklearn", "nearbayes")
COPY_NAMES = ("copy", "copy_X", "copy_x", "copy_X_train", "copy_cov")
HISTOGRAM_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
# Estimators for which weights are equivalent to repeated rows. Others may accept weights, but count
# rows in minimum leaf sizes, subsamples or inner splits, so weights would change what they learn.
EXACT_WITH_WEIGHTS = (BernoulliNB, CategoricalNB, GaussianNB, LogisticRegression, MultinomialNB)
# Estimators for which the mean label of a row with its count is equivalent to its labels.
EXACT_WITH_MEANS = (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
# Parameters that weigh classes in some library, and the value that changes nothing.
CLASS_WEIGHTS: dict[str, Any] = {
    "class_weight": None,
    "scale_pos_weight": 1,
    "is_unbalance": False,
    "class_weights": None,
    "auto_class_weights": "None",
}
LINEAR = (LinearRegression, Ridge, BayesianRidge, ARDRegression)
# Few parameters and small default penalties: intervals of these cover without calibration.
LITTLE_BIAS = (*EXACT_WITH_WEIGHTS, *LINEAR)

# Powers of the number of rows with which the time of a fit grows; 1 for most.
CUBIC = ("GaussianProcessClassifier", "GaussianProcessRegressor", "KernelRidge")
SQUARED = ("NuSVC", "NuSVR", "SVC", "SVR")
GROWTH = dict.fromkeys(CUBIC, 3.0) | dict.fromkeys(SQUARED, 2.0)


@dataclass(frozen=True)
class EstimatorFit:
    """The user's estimator, and the arguments of its `fit`.

    Attributes
    ----------
    estimator : scikit-learn estimator
    params : mapping
        Further keyword arguments of `fit`, the same at every fit.
    """

    estimator: Any
    params: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def traits(self) -> Traits:
        """Traits of an algorithm that fits this estimator."""
        return Traits(
            counts=self.counts,
            growth=GROWTH.get(type(self.last).__name__, 1.0),
            randomised=self.randomised,
            calibrate=self.calibrate,
            schedule=self.schedule,
            packages=self.packages,
        )

    @property
    def fits(self) -> bool:
        """Whether everything needed by `fit` is available, which is false in a loaded posterior."""
        return True

    @property
    def normalises_weights(self) -> bool:
        """Whether weights sum to n, so that penalties in units of rows keep their strength."""
        return _library(self.estimator) in WEIGHTED_BOOSTING

    @property
    def counts(self) -> Counts:
        """Which short form of repeated rows is exactly equivalent to them, if any."""
        if type(self.estimator) in EXACT_WITH_MEANS:
            return "means"
        exact = type(self.estimator) in EXACT_WITH_WEIGHTS
        # class_weight="balanced" counts rows, not weights
        balanced = getattr(self.estimator, "class_weight", None) is not None
        return "labels" if exact and not balanced else False

    def for_table(self, table: Table) -> Self:
        """Adapt to this table, for example by storing its categories to check new rows."""
        return self

    def tuned(self, data: Data, rng: Rng) -> Self:
        """Tune on real rows what all refits keep; most estimators have nothing to tune."""
        return self

    @property
    def stops_on_real_rows(self) -> bool:
        """Whether early stopping uses real validation rows at every refit."""
        return False

    def check_inputs(self, table: Table) -> None:
        """Refuse rows that the estimator would silently misread."""

    def with_outcomes(self, outcomes: Callable[[Table, NDArray[Any]], NDArray[Any]]) -> Self:
        """Replace the outcomes of evaluation sets by ``outcomes(x, y)``."""
        return self

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Adapt to these classes; return also the labels that the estimator gets."""
        return self, classes

    @property
    def calibrate(self) -> bool:
        """Whether the learner's bias is too large for its posterior's intervals to cover.

        Linear models have little bias, except Lasso, ElasticNet and scikit-learn's Poisson, gamma
        and Tweedie regression, because of their default penalty.
        """
        if isinstance(self.last, PoissonRegressor | GammaRegressor | TweedieRegressor):
            return bool(self.last.alpha != 0)
        return not isinstance(self.last, LITTLE_BIAS)

    @property
    def is_linear(self) -> bool:
        """Whether predictions are linear in the outcomes, so that rows have a leverage."""
        return isinstance(self.last, LINEAR)

    @property
    def has_class_weights(self) -> bool:
        """Whether the estimator weighs classes, so that it does not predict their shares."""
        params = self.last.get_params(deep=False)
        return any(params.get(name) not in (None, plain) for name, plain in CLASS_WEIGHTS.items())

    @property
    def is_boosted(self) -> bool:
        """Whether this is gradient-boosted trees."""
        return (
            isinstance(self.last, HISTOGRAM_BOOSTING) or _library(self.last) in BOOSTING_LIBRARIES
        )

    @property
    def variance_power(self) -> float | None:
        """Power p of the variance function mean ** p of the loss; see `losses`."""
        return variance_power(self.last)

    @property
    def last(self) -> Any:
        """The estimator, or the last step of a pipeline."""
        pipeline = isinstance(self.estimator, Pipeline)
        return self.estimator.steps[-1][1] if pipeline else self.estimator

    @property
    def schedule(self) -> Callable[[int | None], Schedule]:
        """The default schedule for a number of refits."""
        return boosted_schedule if self.is_boosted else usual_schedule

    @cached_property
    def seed_names(self) -> tuple[str, ...]:
        """Names of the seed parameters of the estimator and its parts."""
        named = (name for name, _ in self._parameters("random_state"))
        return (*named, *self._of_catboost("random_seed", "random_state"))

    @cached_property
    def thread_names(self) -> tuple[str, ...]:
        """Names of thread parameters of parts that joblib cannot limit.

        The executor limits the threads of scikit-learn's own estimators.
        """
        named = (name for name, part in self._parameters("n_jobs") if not _is_from_sklearn(part))
        return (*named, *self._of_catboost("thread_count"))

    @cached_property
    def leaf_sizes(self) -> dict[str, int]:
        """Minimum leaf sizes of histogram boosting, by full parameter name.

        They count rows, and imputed rows repeat old inputs. With a constant minimum, leaves would
        hold fewer and fewer distinct rows, and each refit would overfit more than the last. So the
        minimum grows with the data (benchmarks/leaf_size.py).
        """
        return {
            name: part.min_samples_leaf
            for name, part in self._parameters("min_samples_leaf")
            if isinstance(part, HISTOGRAM_BOOSTING)
        }

    def _parameters(self, name: str) -> Iterator[tuple[str, Any]]:
        """Full names of the parameters called `name`, with the part each belongs to."""
        parts = {"": self.estimator, **self.estimator.get_params(deep=True)}
        for full in parts:
            owner, _, last = full.rpartition("__")
            if last == name:
                yield full, parts[owner]

    def _of_catboost(self, name: str, alias: str | None = None) -> Iterator[str]:
        """Full names of a CatBoost parameter, of CatBoost alone or as a part of the estimator.

        CatBoost lists only the parameters that the user set.
        """
        for prefix, part in {"": self.estimator, **self.estimator.get_params(deep=True)}.items():
            if _library(part) == "catboost" and alias not in part.get_params():
                yield f"{prefix}__{name}".removeprefix("__")

    @property
    def randomised(self) -> bool:
        """Whether any part of the estimator has a `random_state`."""
        return bool(self.seed_names)

    @cached_property
    def weight_name(self) -> str | None:
        """Name of the argument of `fit` for sample weights; None if there is none."""
        if has_fit_parameter(self.estimator, "sample_weight"):
            return "sample_weight"
        if isinstance(self.estimator, Pipeline):
            name, last = self.estimator.steps[-1]
            if has_fit_parameter(last, "sample_weight"):
                routed = get_config()["enable_metadata_routing"]
                return "sample_weight" if routed else f"{name}__sample_weight"
        return None

    @property
    def packages(self) -> tuple[str, ...]:
        """Package of the estimator, for the provenance."""
        root = _library(self.estimator)
        return () if root in ("sklearn", "__main__", "nearbayes") else (root,)

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone with a fresh seed, on one thread.

        XGBoost and LightGBM would start one thread per core, ignoring the limit of their thread
        pool. With other busy processes this is many times slower than one thread.

        Parameters
        ----------
        data : Data
        seed : int
            For every `random_state` of the estimator and its parts.
        labels : array, optional
            Class labels of the codes in ``data.y``.
        """
        model = self.configured(seed, data.size / data.n)
        rows = data.repeat() if data.count is not None and self.weight_name is None else data
        y = rows.y if labels is None else labels[rows.y]
        x = copy.deepcopy(rows.x) if self.may_change_inputs else rows.x
        return model.fit(x, y, **self._weights(rows), **self._own_params)

    @property
    def _own_params(self) -> dict[str, Any]:
        """Arguments of a fit, with copies of arrays: SGDClassifier trains in its `coef_init`."""
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self.params.items()
        }

    @cached_property
    def may_change_inputs(self) -> bool:
        """Whether `fit` may write into its table, so that it must get its own copy.

        Known libraries do not, unless requested (``StandardScaler(copy=False)``). Read-only views
        would make some estimators fail that otherwise work.
        """
        parts = {"": self.estimator, **self.estimator.get_params(deep=True)}
        strange = any(
            _library(part) not in LEAVE_INPUTS for part in parts.values() if hasattr(part, "fit")
        )
        asked = any(
            isinstance(value, FunctionType) or (value is False and name.endswith(COPY_NAMES))
            for name, value in parts.items()
        )
        return strange or asked

    def configured(self, seed: int, growth: float = 1.0) -> Any:
        """A clone with a seed, one thread, and minimum leaf sizes multiplied by `growth`."""
        seeds, threads = dict.fromkeys(self.seed_names, seed), dict.fromkeys(self.thread_names, 1)
        leaves = {name: round(growth * size) for name, size in self.leaf_sizes.items()}
        files = dict.fromkeys(self._of_catboost("allow_writing_files"), False)
        return unfitted(self.estimator).set_params(**seeds, **threads, **leaves, **files)

    def _weights(self, data: Data) -> dict[str, NDArray[np.float64]]:
        """Sample weights as an argument of `fit`; empty if there are none."""
        if self.weight_name is None:
            return {}
        if self.normalises_weights and data.size != data.n:
            return {self.weight_name: row_weights(data)}
        return {} if data.count is None else {self.weight_name: data.count}


def unfitted(estimator: Any) -> Any:
    """An unfitted copy of an estimator; a plain copy of anything else.

    CatBoost returns copies of its parameters, so scikit-learn's `clone` considers lists such as
    ``cat_features=[0]`` as changed and fails. CatBoost is then created again, or copied if it is a
    part of another estimator.

    Examples
    --------
    >>> unfitted(Ridge(alpha=3.0).fit([[0], [1]], [0, 1]))
    Ridge(alpha=3.0)
    """
    try:
        return clone(estimator, safe=False)
    except RuntimeError:
        if _library(estimator) == "catboost":
            return type(estimator)(**estimator.get_params())
        if not any(_library(part) == "catboost" for part in estimator.get_params().values()):
            raise
        return copy.deepcopy(estimator)


def boosted_schedule(n_refits: int | None) -> Schedule:
    """Equal blocks up to n imputed rows, for boosted trees; 4 if their number is left open.

    Boosted trees drift when they are refitted on many more imputed rows than real ones, so a long
    horizon costs them accuracy (docs/design.md).
    """
    refits = 4 if n_refits is None else n_refits
    if not is_whole(refits) or refits < 0:
        raise ValueError(f"n_refits must be a whole number, 0 or more, got {n_refits!r}.")
    return Schedule.arithmetic(1.0, 1.0 / refits) if refits else Schedule.optimal(0)


def _library(part: Any) -> str:
    """Name of the package that defines an object's class."""
    return type(part).__module__.partition(".")[0]


def _is_from_sklearn(part: Any) -> bool:
    """Whether an object is a scikit-learn estimator, or of a subclass of one."""
    shared = ("sklearn.base", "sklearn.utils")
    modules = [each.__module__ for each in type(part).__mro__]
    return any(name.startswith("sklearn.") and not name.startswith(shared) for name in modules)


def has_no_missing(predictions: NDArray[np.float64], estimator: Any) -> NDArray[np.float64]:
    """Return the predictions, or raise an error if they are not finite."""
    if not np.isfinite(predictions).all():
        raise ValueError(f"{type(estimator).__name__} predicted NaN or infinity.")
    return predictions
