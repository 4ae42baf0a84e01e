"""Comparing: scores of methods by cross-validation, and whether the differences may be chance."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import nearbayes as nb
from nearbayes.cli.choices import ModelName, Task
from nearbayes.cli.errors import UsageError
from nearbayes.cli.models import as_numbers, for_model, make_estimator
from nearbayes.cli.schema import Schema
from nearbayes.execution.progress import show_progress

__all__ = ["Comparison", "compare"]

Array = NDArray[np.float64]

LEVELS = np.linspace(0.01, 0.99, 50)  # midpoints of 50 equal parts
SMALLEST = 1e-12
OURS: dict[str, dict[str, Any]] = {
    "base": {"n_draws": 1, "n_refits": 0},
    "bagging": {"method": "bootstrap"},
    "ensemble": {"method": "ensemble"},
    "martingale": {},
}
CLEARLY = 2.0  # standard errors


class Scores(NamedTuple):
    """Scores of one method, one entry per row; None if the method does not provide them."""

    loss: Array | None
    covered: Array | None
    width: Array | None


class Comparison(NamedTuple):
    """Table of methods, best first; a verdict in words; notes on methods that failed."""

    table: pd.DataFrame
    verdict: str
    notes: tuple[str, ...]


class Fold(NamedTuple):
    """Training rows and test rows of one fold."""

    X: pd.DataFrame
    y: NDArray[Any]
    X_new: pd.DataFrame
    y_new: NDArray[Any]


Method = Callable[[Any, Fold], Scores]


def compare(
    frame: pd.DataFrame,
    schema: Schema,
    *,
    model: ModelName,
    draws: int,
    folds: int,
    jobs: int,
    seed: int,
    progress: bool | None = None,
    executor: str | None = None,
) -> Comparison:
    """Compare methods by cross-validation.

    Losses are compared with those of the best method row by row. The standard error of the mean
    difference assumes independent rows. This is too optimistic: the training sets of any two folds
    overlap, and the best method was selected among several. So a difference of 2 standard errors
    is weak evidence.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
    model : str
        One of `nearbayes.cli.choices.ModelName`.
    draws, folds, jobs, seed : int
    progress : bool, optional
        Whether to show a progress bar; None shows it on a terminal.
    executor : str, optional
        Where draws are made; see `nearbayes.PosteriorClassifier`.
    """
    X, y = for_model(schema, model, schema.usable(frame)).labelled(frame)
    cuts = _cuts(schema, X, y, folds, seed)
    run: dict[str, Any] = {"n_draws": draws, "n_jobs": jobs, "random_state": seed}
    run |= {"progress": False, "executor": executor}
    methods = {**_own(schema.task, run), **_peers(schema.task, seed)}
    parts: dict[str, list[Scores]] = {name: [] for name in methods}
    seconds, failed = dict.fromkeys(methods, 0.0), dict[str, str]()
    with show_progress(folds * len(methods), np.inf, progress, "methods and folds") as advance:
        for train, test in cuts:
            fold = Fold(X.iloc[train], y[train], X.iloc[test], y[test])
            for name in [each for each in methods if each not in failed]:
                started = time.perf_counter()
                estimator = make_estimator(model, schema.task, len(train))
                try:
                    parts[name].append(methods[name](estimator, fold))
                except Exception as error:
                    if name in OURS:
                        raise
                    failed[name] = f"{name} is left out because it failed: {error}"
                seconds[name] += time.perf_counter() - started
                advance()
    order = np.concatenate([test for _, test in cuts])
    joined = {name: _joined(parts[name], order) for name in methods if name not in failed}
    score = "log score" if schema.classes else "CRPS"
    return _summary(joined, seconds, score, tuple(failed.values()))


def _cuts(
    schema: Schema, X: pd.DataFrame, y: NDArray[Any], folds: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of every fold, with every class in each of them."""
    fewest = min(Counter(y.tolist()).values()) if schema.classes else len(y)
    if folds > fewest:
        what = "rows of the rarest class" if schema.classes else "rows"
        raise UsageError(f"--folds must be at most the number of {what}, {fewest}, got {folds}.")
    cutter = StratifiedKFold if schema.classes else KFold
    return list(cutter(folds, shuffle=True, random_state=seed).split(X, y))


def _own(task: Task, run: dict[str, Any]) -> dict[str, Method]:
    def method(options: dict[str, Any]) -> Method:
        return lambda estimator, fold: _posterior(task, {**run, **options}, estimator, fold)

    return {name: method(options) for name, options in OURS.items()}


def _peers(task: Task, seed: int) -> dict[str, Method]:
    """Methods of other libraries that are installed."""
    methods: dict[str, Method] = {}
    if find_spec("mapie") is not None and task == "regression":
        methods["MAPIE (CV+)"] = partial(_mapie, seed)
    if find_spec("ngboost") is not None:
        scored = _ngboost_classes if task == "classification" else _ngboost_numbers
        methods["NGBoost"] = partial(scored, seed)
    return methods


def _posterior(task: Task, run: dict[str, Any], estimator: Any, fold: Fold) -> Scores:
    kind = nb.PosteriorClassifier if task == "classification" else nb.PosteriorRegressor
    with warnings.catch_warnings():  # the table shows that it equals the base model
        warnings.filterwarnings("ignore", "an ensemble of an algorithm without")
        model = kind(estimator, calibration=None, **run).fit(fold.X, fold.y)
    if task == "classification":
        probability = model.predict_proba(fold.X_new)
        return Scores(_log_loss(probability, model.classes_, fold.y_new), None, None)
    quantiles = model.predict_quantiles(fold.X_new, LEVELS)
    return _of_quantiles(quantiles, model.predict_interval(fold.X_new), fold.y_new)


def _mapie(seed: int, estimator: Any, fold: Fold) -> Scores:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        estimator, confidence_level=0.9, method="plus", cv=10, random_state=seed
    )
    bounds = model.fit_conformalize(fold.X, fold.y).predict_interval(fold.X_new)[1][:, :, 0]
    return Scores(None, *_covered(bounds, fold.y_new))


def _ngboost_classes(seed: int, estimator: Any, fold: Fold) -> Scores:
    from ngboost import NGBClassifier
    from ngboost.distns import k_categorical

    classes, codes = np.unique(fold.y, return_inverse=True)
    encode = as_numbers().fit(fold.X)
    model = NGBClassifier(k_categorical(len(classes)), **_ngboost_options(seed))
    model.fit(encode.transform(fold.X), codes)
    probability = model.predict_proba(encode.transform(fold.X_new))
    return Scores(_log_loss(probability, classes, fold.y_new), None, None)


def _ngboost_numbers(seed: int, estimator: Any, fold: Fold) -> Scores:
    from ngboost import NGBRegressor

    encode = as_numbers().fit(fold.X)
    model = NGBRegressor(**_ngboost_options(seed))
    model.fit(encode.transform(fold.X), fold.y)
    normal = model.pred_dist(encode.transform(fold.X_new))
    quantiles = np.stack([normal.ppf(level) for level in LEVELS], axis=1)
    bounds = np.stack([normal.ppf(0.05), normal.ppf(0.95)], axis=1)
    return _of_quantiles(quantiles, bounds, fold.y_new)


def _ngboost_options(seed: int) -> dict[str, Any]:
    """NGBoost's default trees with a seed, which NGBoost does not pass on to them."""
    from ngboost.learners import default_tree_learner

    trees = clone(default_tree_learner).set_params(random_state=seed)
    return {"Base": trees, "verbose": False, "random_state": seed}


def _log_loss(probability: Array, classes: NDArray[Any], y: NDArray[Any]) -> Array:
    of_truth = probability[np.arange(len(y)), np.searchsorted(classes, y)]
    return np.asarray(-np.log(np.maximum(of_truth, SMALLEST)))


def _of_quantiles(quantiles: Array, bounds: Array, y: Array) -> Scores:
    """Compute the CRPS as twice the mean pinball loss over the levels."""
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


def _summary(
    scores: dict[str, Scores], seconds: dict[str, float], score: str, notes: tuple[str, ...]
) -> Comparison:
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
    return Comparison(table.dropna(axis=1, how="all"), _verdict(table, score), notes)


def _against(scores: dict[str, Scores], best: str, name: str) -> tuple[float, float]:
    """Mean of the row-wise differences in loss to the best method, and its standard error."""
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
