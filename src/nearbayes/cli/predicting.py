"""Predicting: a table of predictions, intervals and shares of epistemic uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.modelfile import ModelFile
from nearbayes.estimators.classifier import Uncertainty

__all__ = ["predict", "rows_at_a_time"]

MOST_ROWS, MOST_NUMBERS = 50_000, 8_000_000


def rows_at_a_time(made: ModelFile) -> int:
    """How many rows to predict together, so that predictions of all draws take some 100 MB."""
    size = len(made.model.posterior_) * max(1, len(made.schema.classes))
    return max(1, min(MOST_ROWS, MOST_NUMBERS // size))


def predict(made: ModelFile, frame: pd.DataFrame, coverage: float) -> pd.DataFrame:
    """Predictions for the rows of a file, in its order.

    Returns
    -------
    DataFrame
        Classification: "prediction", and the probability of each class with an interval.
        Regression: "prediction", a predictive interval of the outcome and a credible interval of
        its mean. Both: "epistemic_share", the share of the uncertainty that more data would remove.
        If the fit had an id column and the file has it, it comes first.
    """
    schema, X = made.schema, made.schema.inputs(frame)
    if schema.task == "classification":
        columns = _classes(made.model, X, coverage)
    else:
        columns = _numbers(made.model, X, coverage)
        if schema.outcome != "any":
            columns = {name: np.maximum(values, 0.0) for name, values in columns.items()}
    ids = {schema.id: frame[schema.id]} if schema.id in frame.columns else {}
    return pd.DataFrame({**ids, **columns}, index=frame.index)


def _classes(model: Any, X: pd.DataFrame, coverage: float) -> dict[str, Any]:
    draws = model.posterior_.predictions(X)
    probability, bounds, parts = draws.mean, draws.interval(coverage), Uncertainty.of(draws)
    columns: dict[str, Any] = {"prediction": model.classes_[probability.argmax(axis=1)]}
    for k, label in enumerate(model.classes_):
        columns[f"P({label})"] = probability[:, k]
        columns[f"P({label}) lower"] = bounds[:, k, 0]
        columns[f"P({label}) upper"] = bounds[:, k, 1]
    return {**columns, "epistemic_share": _share(parts.epistemic, parts.total)}


def _numbers(model: Any, X: pd.DataFrame, coverage: float) -> dict[str, Any]:
    mean, sd = model.predict(X, return_std=True)
    outcome = model.predict_interval(X, coverage)
    draws = model.posterior_.predictions(X)
    curve, between = draws.interval(coverage), draws.values.var(axis=0)
    return {
        "prediction": mean,
        "lower": outcome[:, 0],
        "upper": outcome[:, 1],
        "mean lower": curve[:, 0],
        "mean upper": curve[:, 1],
        "epistemic_share": _share(between, sd**2),
    }


def _share(part: Any, total: Any) -> Any:
    return np.divide(part, total, out=np.zeros(len(part)), where=total > 0).clip(0, 1)
