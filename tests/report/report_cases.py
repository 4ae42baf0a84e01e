"""Small fitted posteriors with held-out rows, made once and shared by the tests of reports."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import nearbayes as nb
from nearbayes import report

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quoted\" & 'single'",
    "=HYPERLINK(1)",
    "line\u2028end\u2029",
    "{{ 7 * 7 }}",
)


@dataclass(frozen=True)
class Case:
    """A fitted model, a baseline, and rows neither has seen."""

    model: Any
    bagging: Any
    X: Any
    y: Any

    @property
    def contents(self) -> dict[str, Any]:
        return report.contents(self.model, self.X, self.y, baselines={"bagging": self.bagging})


def _case(kind: Any, estimator: Any, X: Any, y: Any, n_draws: int = 8, **settings: Any) -> Case:
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    model = kind(estimator, n_draws=n_draws, random_state=0, **settings).fit(X[train], y[train])
    bagging = kind(estimator, n_draws=4, method="bootstrap", calibration=None, random_state=0)
    return Case(model, bagging.fit(X[train], y[train]), X[test], y[test])


@cache
def patients() -> Case:
    """Two classes with string labels, a category, missing values; trees, calibrated."""
    rng = np.random.default_rng(0)
    n = 160
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "ward": pd.Categorical(rng.choice(["east", "west", "north"], n)),
            "visits": rng.integers(0, 4, n),
        },
        index=[f"patient {k}" for k in range(n)],
    )
    score = (X["age"] - 50) / 10 + (X["ward"] == "west") + rng.logistic(size=n)
    X.iloc[::9, 0] = np.nan
    y = pd.Series(np.where(score > 0.3, "sick", "healthy"), index=X.index, name="state")
    estimator = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    return _case(nb.PosteriorClassifier, estimator, X, y)


@cache
def flowers() -> Case:
    """Three classes, an array, no calibration."""
    data = load_iris()
    return _case(
        nb.PosteriorClassifier, GaussianNB(), data.data, data.target_names[data.target], n_draws=12
    )


@cache
def diabetes() -> Case:
    """Outcomes, a frame, linear."""
    data = load_diabetes(as_frame=True)
    return _case(nb.PosteriorRegressor, Ridge(0.1), data.data, data.target, n_draws=12)


@cache
def contents_of(name: str) -> dict[str, Any]:
    """Contents of a case, computed once."""
    return CASES[name]().contents


@cache
def hostile_contents() -> dict[str, Any]:
    """Names, categories and labels that try to be something else than text."""
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=n), HOSTILE[1]: rng.choice(HOSTILE, n)})
    X[HOSTILE[1]] = X[HOSTILE[1]].astype("category")
    X.index = [f"{HOSTILE[k % 6]} {k}" for k in range(n)]
    y = np.array(HOSTILE, dtype=object)[rng.integers(0, 3, n)]
    estimator = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype")
    model = nb.PosteriorClassifier(estimator, n_draws=3, calibration=None, random_state=0)
    found = model.fit(X, y)
    return report.contents(found, X, y, title=HOSTILE[1], target=HOSTILE[2])


@cache
def large_contents(task: str) -> dict[str, Any]:
    """Fifty thousand held-out rows; ten classes are the most that each have a column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 6))
    if task == "regression":
        y = 1e4 + 1e3 * X[:, 0] + rng.normal(0, 300, len(X))
        model: Any = nb.PosteriorRegressor(LinearRegression(), n_draws=5, random_state=0)
    else:
        y = rng.integers(0, 10, len(X))
        X += np.eye(10)[y][:, :6]
        model = nb.PosteriorClassifier(GaussianNB(), n_draws=5, random_state=0)
    return report.contents(model.fit(X[:300], y[:300]), X, y)


CASES = {"patients": patients, "flowers": flowers, "diabetes": diabetes}
