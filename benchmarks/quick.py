"""Quick mode: its time over that of a 5-fold cross-validation, and how its intervals of y do.

python -m benchmarks.quick         # two minutes on one core; MAPIE's CV+ beside it, if installed

The data look like the sale prices of houses that people use for such comparisons: 1,460 rows, 36
numbers and 43 categories, many of them missing or rare, and a skewed price.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # what takes more threads differs by library

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measuring import seconds_in_turn, show
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import nearbayes as nb

N_ROWS, N_NUMBERS, N_CATEGORIES = 1_460, 36, 43
GOAL = "at most 3"


def houses(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Rows like those of sold houses, and their prices."""
    rng = np.random.default_rng(seed)
    numbers = rng.gamma(4, 1, size=(n, N_NUMBERS))
    numbers[:, : N_NUMBERS // 3] = np.round(numbers[:, : N_NUMBERS // 3])
    codes = np.minimum(rng.geometric(0.4, size=(n, N_CATEGORIES)), 8)
    size = 0.12 * numbers[:, :8].sum(axis=1) + 0.1 * codes[:, :6].sum(axis=1)
    log_price = 11 + size / 3 + 0.05 * numbers[:, 0] * (codes[:, 0] < 3)
    price = np.exp(log_price + 0.12 * rng.standard_t(5, size=n))
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    columns: dict[str, Any] = {f"n{k}": numbers[:, k] for k in range(N_NUMBERS)}
    for k in range(N_CATEGORIES):
        names = pd.Series(codes[:, k].astype(str)).where(rng.random(n) > 0.05)
        columns[f"c{k}"] = pd.Categorical(names)
    return pd.DataFrame(columns), price


def intervals_of_price() -> None:
    """LightGBM on houses: time over that of cross-validation, coverage and width."""
    X, y = houses(2 * N_ROWS)
    X, X_new, y, y_new = train_test_split(X, y, train_size=N_ROWS, random_state=0)
    tree = LGBMRegressor(n_jobs=1, verbosity=-1, random_state=0)
    found: dict[str, Any] = {}

    def ours() -> None:
        model = nb.PosteriorRegressor(tree, n_draws="quick", random_state=0, progress=False)
        found["quick"] = model.fit(X, y).predict_interval(X_new)

    def cv_plus() -> None:
        found["MAPIE CV+"] = _cv_plus(tree, X, y, X_new)

    tasks: dict[str, Callable[[], Any]] = {
        "5-fold cross-validation": lambda: cross_val_score(clone(tree), X, y, cv=5),
        "quick": ours,
    }
    if find_spec("mapie") is not None:
        tasks["MAPIE CV+"] = cv_plus
    times = seconds_in_turn(tasks, rounds=3)
    show_times("houses, LightGBM, 90 % intervals of y", times)
    for name, bounds in found.items():
        inside = (bounds[:, 0] <= y_new) & (y_new <= bounds[:, 1])
        width = np.median(bounds[:, 1] - bounds[:, 0]) / np.median(y_new)
        show(f"  {name}: covers", float(inside.mean()), "0.85 to 0.95")
        show(f"  {name}: median width over median price", float(width), "-")


def _cv_plus(tree: Any, X: pd.DataFrame, y: Any, X_new: pd.DataFrame) -> Any:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(clone(tree), confidence_level=0.9, method="plus", cv=5)
    _, bounds = model.fit_conformalize(X, y).predict_interval(X_new)
    return bounds[:, :, 0]


def other_learners() -> None:
    """Time of a quick fit over that of a 5-fold cross-validation, for other learners and tasks."""
    X, y = houses(N_ROWS)
    numbers = X.select_dtypes("number")
    forest = make_pipeline(SimpleImputer(), RandomForestRegressor(50, random_state=0))
    trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
    dear = (y > np.quantile(y, 0.7)).astype(int)
    cases = {
        "houses, HistGradientBoosting": (nb.PosteriorRegressor, trees, X, y),
        "houses, random forest": (nb.PosteriorRegressor, forest, numbers, y),
        "dear houses, LightGBM": (
            nb.PosteriorClassifier,
            LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0),
            X,
            dear,
        ),
        "houses, the default learner": (nb.PosteriorRegressor, nb.SmoothTreesRegressor(), X, y),
    }
    for name, (kind, estimator, rows, target) in cases.items():
        model = kind(estimator, n_draws="quick", random_state=0, progress=False)
        tasks: dict[str, Callable[[], Any]] = {
            "5-fold cross-validation": lambda e=estimator, r=rows, t=target: cross_val_score(  # type: ignore[misc]
                clone(e), r, t, cv=5
            ),
            "quick": lambda m=model, r=rows, t=target: m.fit(r, t).predict_interval(r),  # type: ignore[misc]
        }
        show_times(name, seconds_in_turn(tasks, rounds=1))


def show_times(name: str, times: dict[str, float]) -> None:
    """Seconds of each task, and the ratio that counts."""
    said = ", ".join(f"{task} {seconds:.2f} s" for task, seconds in times.items())
    ratio = times["quick"] / times["5-fold cross-validation"]
    show(f"{name} ({said}): quick over cross-validation", ratio, GOAL)


if __name__ == "__main__":
    intervals_of_price()
    other_learners()
