"""Gaussian processes of nearbayes, stored as parameters and arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from nearbayes.files.arrays import plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.draws import Models, estimator_of, estimators_of, estimators_record
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm
from nearbayes.gp.marginal import Collapsed
from nearbayes.gp.process import EmpiricalBayesGP, Fitted, Scaling

__all__ = ["dump", "dump_draws", "load", "load_draws"]

COVARIANCES = 3  # number of (n_rows, n_rows) matrices in a prediction


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


def load(record: Any, read: Reader) -> EmpiricalBayesGP:
    """Inverse of `dump`; checks every value."""
    model = EmpiricalBayesGP(**plain_of(record["params"], read))
    if record["fitted"] is None:
        return model
    parts = plain_of(record["fitted"], read)
    rows, columns = _shape(parts["x"])
    read.check(COVARIANCES * 8.0 * rows**2, "a Gaussian process")
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


def dump_draws(
    algorithm: EmpiricalBayesAlgorithm,
    drawn: Sequence[Fitted] | None,
    models: Models,
    members: Members,
) -> dict[str, Any]:
    """A record of the algorithm and of its draws, each as an estimator."""
    record: dict[str, Any] = {
        "estimator": models.record(algorithm.estimator, members),
        "n_rows": algorithm.n_rows,
    }
    if drawn is not None:
        shown = [algorithm.reveal(each) for each in drawn]
        record["models"] = estimators_record(shown, models, members)
    return record


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[EmpiricalBayesAlgorithm, list[Fitted] | None]:
    """Undo `dump_draws`."""
    estimator, n_rows = estimator_of(record, read, trusted), record.whole("n_rows", 1)
    if type(estimator) is not EmpiricalBayesGP:
        raise FileRefused("its estimator is not a Gaussian process, as its draws are.")
    if size is None:
        return EmpiricalBayesAlgorithm(estimator, None, n_rows), None
    loaded = estimators_of(record.many("models"), read, trusted)
    fitted = [
        each for each in loaded if type(each) is EmpiricalBayesGP and hasattr(each, "fitted_")
    ]
    if len(fitted) != size or len(loaded) != size:
        raise FileRefused(f"it has {len(fitted)} fitted Gaussian processes, not {size}.")
    algorithm = EmpiricalBayesAlgorithm(estimator, fitted[0].scaling_, n_rows)
    return algorithm, [each.fitted_ for each in fitted]


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
