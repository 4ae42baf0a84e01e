"""Predicting: a table of predictions, intervals and shares of epistemic uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.modelfile import ModelFile

__all__ = ["predict"]


def predict(made: ModelFile, frame: pd.DataFrame, coverage: float) -> pd.DataFrame:
    """Predictions for the rows of a file, in its order.

    Returns
    -------
    DataFrame
        Classification: "prediction", and the probability of each class with an interval.
        Regression: "prediction", a predictive interval of the outcome and a credible interval of
        its mean. Both: "epistemic_share", the share of the uncertainty that more data would remove.
    """
    X = made.schema.inputs(frame)
    classifies = made.schema.task == "classification"
    columns = (_classes if classifies else _numbers)(made.model, X, coverage)
    return pd.DataFrame(columns, index=frame.index)


def _classes(model: Any, X: pd.DataFrame, coverage: float) -> dict[str, Any]:
    probability, bounds = model.predict_proba(X), model.predict_interval(X, coverage)
    parts = model.predict_uncertainty(X)
    columns: dict[str, Any] = {"prediction": model.classes_[probability.argmax(axis=1)]}
    for k, label in enumerate(model.classes_):
        columns[f"P({label})"] = probability[:, k]
        columns[f"P({label}) lower"] = bounds[:, k, 0]
        columns[f"P({label}) upper"] = bounds[:, k, 1]
    return {**columns, "epistemic_share": _share(parts.epistemic, parts.total)}


def _numbers(model: Any, X: pd.DataFrame, coverage: float) -> dict[str, Any]:
    mean, sd = model.predict(X, return_std=True)
    outcome = model.predict_interval(X, coverage)
    curve = model.predict_interval(X, coverage, kind="credible")
    between = model.posterior_predictions(X).var(axis=0)
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
