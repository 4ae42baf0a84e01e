"""Comparing: methods by cross-validation on one file, and whether the best is really better."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

import nearbayes as nb
from nearbayes.cli.models import make_estimator
from nearbayes.cli.schema import Schema, Task
from nearbayes.core.progress import show_progress

__all__ = ["Comparison", "compare"]

Array = NDArray[np.float64]

LEVELS = np.linspace(0.005, 0.995, 100)
SMALLEST = 1e-12
OURS: dict[str, dict[str, Any]] = {
    "base": {"n_draws": 1, "n_refits": 0},
    "bagging": {"method": "bootstrap"},
    "ensemble": {"method": "ensemble"},
    "martingale": {},
}
CLEARLY = 2.0  # standard errors


class Scores(NamedTuple):
    """Of one method, one entry per row; None for what it does not say."""

    loss: Array | None
    covered: Array | None
    width: Array | None


class Comparison(NamedTuple):
    """Table of methods, best first, and what to make of it in words."""

    table: pd.DataFrame
    verdict: str
    score: str


def compare(
    frame: pd.DataFrame,
    schema: Schema,
    *,
    model: str,
    draws: int,
    folds: int,
    jobs: int,
    seed: int,
    progress: bool | None = None,
) -> Comparison:
    """Compare methods by cross-validation.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
    model : str
        One of `nearbayes.cli.models.MODELS`.
    draws, folds, jobs, seed : int
    progress : bool, optional
        Whether to show a bar; None shows it on a terminal.
    """
    X, y = schema.labelled(frame)
    classifies = schema.task == "classification"
    cutter = (StratifiedKFold if classifies else KFold)(folds, shuffle=True, random_state=seed)
    run = {"n_draws": draws, "n_jobs": jobs, "random_state": seed, "progress": False}
    methods = _methods(schema.task, run)
    parts: dict[str, list[Scores]] = {name: [] for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    order = []
    with show_progress(folds * len(methods), np.inf, progress, "methods and folds") as advance:
        for train, test in cutter.split(X, y):
            order.append(test)
            for name, score in methods.items():
                started = time.perf_counter()
                estimator = make_estimator(model, schema.task, len(train))
                parts[name].append(score(estimator, X.iloc[train], y[train], X.iloc[test], y[test]))
                seconds[name] += time.perf_counter() - started
                advance()
    joined = {name: _joined(scores, np.concatenate(order)) for name, scores in parts.items()}
    return _summary(joined, seconds, "log score" if classifies else "CRPS")


def _methods(task: Task, run: dict[str, Any]) -> dict[str, Callable[..., Scores]]:
    def ours(options: dict[str, Any]) -> Callable[..., Scores]:
        return lambda *fold: _posterior(task, {**run, **options}, *fold)

    methods = {name: ours(options) for name, options in OURS.items()}
    if find_spec("mapie") is not None and task == "regression":
        methods["MAPIE (CV+)"] = _mapie
    if find_spec("ngboost") is not None:
        methods["NGBoost"] = _ngboost_classes if task == "classification" else _ngboost_numbers
    return methods


def _posterior(
    task: Task, run: dict[str, Any], estimator: Any, X: Any, y: Any, X_new: Any, y_new: Any
) -> Scores:
    kind = nb.PosteriorClassifier if task == "classification" else nb.PosteriorRegressor
    with warnings.catch_warnings():  # an ensemble of equal fits warns; the table shows it as well
        warnings.simplefilter("ignore")
        model = kind(estimator, calibration=None, **run).fit(X, y)
    if task == "classification":
        return Scores(_log_loss(model.predict_proba(X_new), model.classes_, y_new), None, None)
    quantiles, bounds = model.predict_quantiles(X_new, LEVELS), model.predict_interval(X_new)
    return _of_quantiles(quantiles, bounds, y_new)


def _mapie(estimator: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> Scores:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(estimator, confidence_level=0.9, method="plus", cv=10)
    bounds = model.fit_conformalize(X, y).predict_interval(X_new)[1][:, :, 0]
    return Scores(None, *_covered(bounds, y_new))


def _ngboost_classes(estimator: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> Scores:
    from ngboost import NGBClassifier
    from ngboost.distns import k_categorical

    classes, codes = np.unique(y, return_inverse=True)
    encode = _encoder().fit(X)
    model = NGBClassifier(Dist=k_categorical(len(classes)), verbose=False)
    model.fit(encode.transform(X), codes)
    probability = model.predict_proba(encode.transform(X_new))
    return Scores(_log_loss(probability, classes, y_new), None, None)


def _ngboost_numbers(estimator: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> Scores:
    from ngboost import NGBRegressor

    encode = _encoder().fit(X)
    normal = (
        NGBRegressor(verbose=False).fit(encode.transform(X), y).pred_dist(encode.transform(X_new))
    )
    quantiles = np.stack([normal.ppf(level) for level in LEVELS], axis=1)
    bounds = np.stack([normal.ppf(0.05), normal.ppf(0.95)], axis=1)
    return _of_quantiles(quantiles, bounds, y_new)


def _encoder() -> Any:
    """What makes numbers of categories and missing values: the first step of a linear model."""
    return make_estimator("linear", "regression", 0).steps[0][1]


def _log_loss(probability: Array, classes: NDArray[Any], y: NDArray[Any]) -> Array:
    of_truth = probability[np.arange(len(y)), np.searchsorted(classes, y)]
    return np.asarray(-np.log(np.maximum(of_truth, SMALLEST)))


def _of_quantiles(quantiles: Array, bounds: Array, y: Array) -> Scores:
    """CRPS as twice the mean pinball loss over levels."""
    error = y[:, None] - quantiles
    loss = 2 * np.maximum(LEVELS * error, (LEVELS - 1) * error).mean(axis=1)
    return Scores(loss, *_covered(bounds, y))


def _covered(bounds: Array, y: Array) -> tuple[Array, Array]:
    inside = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
    return inside.astype(float), bounds[:, 1] - bounds[:, 0]


def _joined(folds: list[Scores], rows: NDArray[np.intp]) -> Scores:
    """Scores of all rows, in the order of the file."""
    back = np.argsort(rows)
    columns = (
        None if column[0] is None else np.concatenate(column)[back]
        for column in zip(*folds, strict=True)
    )
    return Scores(*columns)


def _summary(scores: dict[str, Scores], seconds: dict[str, float], score: str) -> Comparison:
    rows = {
        name: {
            score: None if each.loss is None else each.loss.mean(),
            "coverage": None if each.covered is None else each.covered.mean(),
            "width": None if each.width is None else each.width.mean(),
            "seconds": seconds[name],
        }
        for name, each in scores.items()
    }
    table = pd.DataFrame(rows).T.sort_values(score, na_position="last")
    differences = {name: _against(scores, str(table.index[0]), str(name)) for name in table.index}
    table.insert(1, "worse by", [value[0] for value in differences.values()])
    table.insert(2, "standard error", [value[1] for value in differences.values()])
    return Comparison(table.dropna(axis=1, how="all"), _verdict(table, score), score)


def _against(scores: dict[str, Scores], best: str, name: str) -> tuple[float, float]:
    """Mean difference in loss to the best, row by row, and its standard error."""
    mine, its = scores[name].loss, scores[best].loss
    if name == best or mine is None or its is None:
        return float("nan"), float("nan")
    gap = mine - its
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))


def _verdict(table: pd.DataFrame, score: str) -> str:
    best = table.index[0]
    others = table[table["worse by"].notna()]
    far = others["worse by"] > CLEARLY * others["standard error"]
    if far.all():
        return f"{best} has the best {score}: all others are more than 2 standard errors worse."
    close = ", ".join(others.index[~far])
    return f"{best} has the best {score}, but the difference from {close} may be chance."
