"""Gaussian processes of nearbayes, stored as parameters and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearbayes.algorithms.kept import KeptPredictions
from nearbayes.files.arrays import Read, plain_of, plain_record
from nearbayes.files.container import FileRefused, Members
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm
from nearbayes.gp.marginal import Collapsed
from nearbayes.gp.process import EmpiricalBayesGP, Fitted, Scaling

__all__ = ["drawn", "dump", "load"]


def dump(model: EmpiricalBayesGP, members: Members) -> dict[str, Any]:
    """Record of the process and, if it is fitted, of the rows it predicts from."""
    record: dict[str, Any] = {
        "params": plain_record(model.get_params(), members, "a parameter of EmpiricalBayesGP"),
        "fitted": None,
    }
    if hasattr(model, "fitted_"):
        fitted = model.fitted_
        parts = {
            **fitted.data._asdict(),
            **vars(model.scaling_),
            "logs": fitted.logs,
            "value": fitted.value,
            "steps": fitted.steps,
        }
        record["fitted"] = plain_record(parts, members, "a fit of EmpiricalBayesGP")
    return record


def load(record: Any, read: Read) -> EmpiricalBayesGP:
    """Inverse of `dump`; checks every value."""
    model = EmpiricalBayesGP(**plain_of(record["params"], read))
    if record["fitted"] is None:
        return model
    parts = plain_of(record["fitted"], read)
    rows, columns = _shape(parts["x"])
    shapes = {
        "logs": (model.model.n_parameters(columns),),
        "x": (rows, columns),
        **dict.fromkeys(("mean", "count"), (rows,)),
        **dict.fromkeys(("x_mean", "x_sd"), (columns,)),
    }
    for name, shape in shapes.items():
        _check(name, parts.get(name), shape)
    y_mean, y_sd, within, value, steps = (
        _number(name, parts.get(name)) for name in ("y_mean", "y_sd", "within", "value", "steps")
    )
    if not ((parts["count"] > 0).all() and (parts["x_sd"] > 0).all() and y_sd > 0):
        raise FileRefused("counts and scales of a Gaussian process must be positive.")
    data = Collapsed(parts["x"], parts["mean"], parts["count"], within)
    scaling = Scaling(parts["x_mean"], parts["x_sd"], y_mean, y_sd)
    unknown = np.eye(len(parts["logs"]))  # the curvature estimate of the search is not stored
    return model.with_fit(Fitted(parts["logs"], data, value, int(steps), unknown), scaling)


def drawn(
    estimator: EmpiricalBayesGP, models: list[Any], n_rows: int, keep_at: Any
) -> tuple[EmpiricalBayesAlgorithm, list[Any]]:
    """Algorithm of loaded draws, and its models."""
    if isinstance(models[0], KeptPredictions):
        return EmpiricalBayesAlgorithm(estimator, None, n_rows, keep_at), models
    if not all(hasattr(each, "fitted_") for each in models):
        raise FileRefused("a draw of a Gaussian process has no fit.")
    algorithm = EmpiricalBayesAlgorithm(estimator, models[0].scaling_, n_rows)
    return algorithm, [each.fitted_ for each in models]


def _shape(x: Any) -> tuple[int, int]:
    if not isinstance(x, np.ndarray) or x.ndim != 2 or 0 in x.shape:
        raise FileRefused("x of a Gaussian process must be a non-empty 2-D array.")
    rows, columns = x.shape
    return rows, columns


def _check(name: str, array: Any, shape: tuple[int, ...]) -> None:
    right = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    if not right or not np.isfinite(array).all():
        raise FileRefused(f"{name} of a Gaussian process must have shape {shape} and be finite.")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise FileRefused(f"{name} of a Gaussian process must be a finite number.")
    return float(value)
