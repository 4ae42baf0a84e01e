"""Models: the estimators that --model names."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Task
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor

__all__ = ["ModelName", "as_numbers", "make_estimator"]

ModelName = Literal["blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp", "mlp"]
MOST_ROWS_OF_GP = 2_000


def make_estimator(name: ModelName, task: Task, n_rows: int) -> Any:
    """An estimator for tables of numbers, categories and missing values.

    Parameters
    ----------
    name : "blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp" or "mlp"
    task : "classification" or "regression"
    n_rows : int
        Number of training rows.
    """
    if name == "gp" and n_rows > MOST_ROWS_OF_GP:
        raise UsageError(
            f"--model gp supports at most {MOST_ROWS_OF_GP} rows, got {n_rows}: use another model, "
            "such as blend."
        )
    needed, extra = NEEDED.get(name, ((), ""))
    if any(find_spec(package) is None for package in needed):
        raise UsageError(
            f"--model {name} needs the package {needed[0]}: pip install 'nearbayes[{extra}]'."
        )
    return MODELS[name](task == "classification")


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
    if classifies:
        return make_pipeline(as_numbers(), GaussianProcessClassifier(RBF(3.0)))
    kernel = RBF(3.0) + WhiteKernel(0.1)
    return make_pipeline(as_numbers(), GaussianProcessRegressor(kernel, normalize_y=True))


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
NEEDED: dict[ModelName, tuple[tuple[str, ...], str]] = {
    "xgboost": (("xgboost",), "xgboost"),
    "lightgbm": (("lightgbm",), "lightgbm"),
    "mlp": (("jax", "equinox", "optax"), "jax"),
}
