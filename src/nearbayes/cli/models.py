"""Models: the estimators that --model names."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from nearbayes.cli.choices import ModelName, Task
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema
from nearbayes.cli.target_column import Outcome
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor

__all__ = ["as_numbers", "for_model", "make_estimator"]

MOST_ROWS_OF_GP, MOST_FEATURES_OF_GP = 2_000, 200


def make_estimator(name: ModelName, task: Task, n_rows: int, outcome: Outcome = "any") -> Any:
    """An estimator for tables of numbers, categories and missing values.

    Parameters
    ----------
    name : "blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp" or "mlp"
        "gp" for classes is a logistic regression on features of the kernel of a process.
    task : "classification" or "regression"
    n_rows : int
        Number of training rows.
    outcome : "any", "count", "positive" or "nonnegative"
        What the target can be. Boosted trees get a loss for it, and with that loss noise that is
        never negative.
    """
    if name == "gp" and task == "regression" and n_rows > MOST_ROWS_OF_GP:
        raise UsageError(
            f"--model gp supports at most {MOST_ROWS_OF_GP} rows, got {n_rows}: use another model, "
            "such as blend."
        )
    key = "gp regression" if name == "gp" and task == "regression" else name
    needed, extra = NEEDED.get(key, ((), ""))
    if any(find_spec(package) is None for package in needed):
        raise UsageError(
            f"--model {name} needs the package {needed[0]}: pip install 'nearbayes[{extra}]'."
        )
    estimator = MODELS[name](task == "classification")
    if name == "gp" and task == "classification":
        estimator.set_params(nystroem__n_components=min(MOST_FEATURES_OF_GP, n_rows // 2))
    loss = LOSSES.get(name, {}).get(outcome) if task == "regression" else None
    return estimator.set_params(**loss) if loss else estimator


def for_model(schema: Schema, name: ModelName, train: pd.DataFrame) -> Schema:
    """The schema with inputs that the model takes: Gaussian process regression wants numbers."""
    wants_numbers = name == "gp" and schema.task == "regression"
    return schema.with_numbers(train) if wants_numbers else schema


def _blend(classifies: bool) -> Any:
    return SmoothTreesClassifier() if classifies else SmoothTreesRegressor()


def _hist(classifies: bool) -> Any:
    kind = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype")


def _xgboost(classifies: bool) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBClassifier if classifies else XGBRegressor
    return kind(enable_categorical=True, learning_rate=0.1, n_jobs=1)


def _lightgbm(classifies: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if classifies else LGBMRegressor
    return kind(verbosity=-1, n_jobs=1)


def _forest(classifies: bool) -> Any:
    kind = RandomForestClassifier if classifies else RandomForestRegressor
    return make_pipeline(as_numbers(), kind(min_samples_leaf=3))


def _linear(classifies: bool) -> Any:
    last = LogisticRegression(max_iter=1_000) if classifies else Ridge()
    return make_pipeline(as_numbers(), last)


def _gp(classifies: bool) -> Any:
    if classifies:  # scikit-learn's process is refitted to all imputed rows, for hours
        kernel = Nystroem(n_components=MOST_FEATURES_OF_GP, random_state=0)
        return make_pipeline(as_numbers(), kernel, LogisticRegression(C=10.0, max_iter=1_000))
    from nearbayes.gp.process import EmpiricalBayesGP

    return EmpiricalBayesGP()


def _mlp(classifies: bool) -> Any:
    from nearbayes.neural.perceptrons import MLPClassifier, MLPRegressor

    return MLPClassifier() if classifies else MLPRegressor()


def as_numbers() -> ColumnTransformer:
    """Impute and scale numbers, one-hot encode categories (missing is a category of its own)."""
    numbers: Pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("categories", categories, make_column_selector(dtype_include="category")),
        ]
    )


MODELS: dict[ModelName, Callable[[bool], Any]] = {
    "blend": _blend,
    "hist": _hist,
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "forest": _forest,
    "linear": _linear,
    "gp": _gp,
    "mlp": _mlp,
}
# Log links. Other models have a squared loss, and their intervals are cut off at 0.
LOSSES: dict[ModelName, dict[Outcome, dict[str, str]]] = {
    "hist": {"count": {"loss": "poisson"}, "positive": {"loss": "gamma"}},
    "xgboost": {
        "count": {"objective": "count:poisson"},
        "positive": {"objective": "reg:gamma"},
        "nonnegative": {"objective": "reg:tweedie"},
    },
    "lightgbm": {
        "count": {"objective": "poisson"},
        "positive": {"objective": "gamma"},
        "nonnegative": {"objective": "tweedie"},
    },
}
NEEDED: dict[str, tuple[tuple[str, ...], str]] = {
    "xgboost": (("xgboost",), "xgboost"),
    "lightgbm": (("lightgbm",), "lightgbm"),
    "gp regression": (("jax", "tinygp", "optax"), "jax"),
    "mlp": (("jax", "equinox", "optax"), "jax"),
}
