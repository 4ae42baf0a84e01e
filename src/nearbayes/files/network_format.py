"""Networks of nearbayes, stored as parameters, the encoding of columns and arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.files.arrays import (
    NotSaveable,
    array_bytes,
    array_of,
    labels_of,
    labels_record,
    plain_of,
    plain_record,
)
from nearbayes.files.container import Members
from nearbayes.files.draws import Models, estimator_of
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.neural.chunks import NetworkModel
from nearbayes.neural.encoding import Categories, Encoding, Numeric
from nearbayes.neural.network import Network
from nearbayes.neural.network_algorithm import NetworkAlgorithm
from nearbayes.neural.outcomes import Classes, CountOutcomes, Numbers, Outcomes
from nearbayes.neural.perceptrons import MLPClassifier, MLPRegressor
from nearbayes.neural.stopping import Stopping

__all__ = ["dump", "dump_draws", "load", "load_draws"]

ESTIMATORS: dict[str, type[Any]] = {
    "MLPClassifier": MLPClassifier,
    "MLPRegressor": MLPRegressor,
}


def dump(model: Any, members: Members) -> dict[str, Any]:
    """Record of an estimator and, if it is fitted, of its network."""
    name = type(model).__name__
    record: dict[str, Any] = {
        "kind": name,
        "params": plain_record(_parameters(model), members, f"a parameter of {name}"),
        "fitted": None,
    }
    if hasattr(model, "network_"):
        record["fitted"] = _fitted_record(model.algorithm_, [model.network_], members)
    return record


def load(record: Any, read: Reader) -> Any:
    """Inverse of `dump`; checks every value."""
    parts = Record(record, "network")
    kind = ESTIMATORS[parts.text("kind", tuple(ESTIMATORS))]
    params = plain_of(parts.get("params"), read)
    if not isinstance(params, dict) or set(params) != set(kind().get_params()):
        raise FileRefused(f"{kind.__name__} must have its own parameters, and no others.")
    model = kind(**params)
    if "fitted" not in parts:
        return model
    algorithm, (network,) = _fitted_of(model, parts.record("fitted"), 1, read)
    return model.with_fit(algorithm, network)


def dump_draws(
    algorithm: NetworkAlgorithm,
    drawn: Sequence[NetworkModel] | None,
    models: Models,
    members: Members,
) -> dict[str, Any]:
    """A record of the estimator and of the networks of its draws."""
    if algorithm.estimator is None or algorithm.prior == "ntkgp":
        raise NotSaveable(
            "networks that are not of MLPClassifier or MLPRegressor cannot be saved, as a safe "
            "file holds no functions: save the values that you need, "
            "np.save(path, posterior.apply(function).values), or use predict_on."
        )
    record: dict[str, Any] = {"estimator": models.record(algorithm.estimator, members)}
    record["fitted"] = _fitted_record(algorithm, drawn or [], members)
    return record


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[NetworkAlgorithm, list[NetworkModel] | None]:
    """Undo `dump_draws`."""
    estimator = estimator_of(record, read, trusted)
    if type(estimator) not in ESTIMATORS.values():
        raise FileRefused("its estimator is not a network, as its draws are.")
    algorithm, models = _fitted_of(estimator, record.record("fitted"), size or 0, read)
    return algorithm, None if size is None else models


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters without generators, which a file cannot contain and a fit does not need."""
    params: dict[str, Any] = model.get_params()
    state = params["random_state"]
    params["random_state"] = state if isinstance(state, int | np.integer) else None
    return params


def _fitted_record(
    algorithm: NetworkAlgorithm, models: Sequence[NetworkModel], members: Members
) -> dict[str, Any]:
    assert algorithm.encoding is not None
    assert algorithm.stopping is not None
    known, outcomes = algorithm.encoding, algorithm.outcomes
    parts = {
        "n_columns": known.n_columns,
        **{name: getattr(known.numeric, name) for name in ("places", "mean", "sd", "gaps")},
        "categories": [(each.place, each.values) for each in known.categories],
        "names": known.names,
        "outcomes": {name: getattr(outcomes, name) for name in _units(outcomes)},
        "noise": algorithm.noise,
        "n_rows": algorithm.n_rows,
        "n_passes": algorithm.stopping.n_passes,
        "passes": algorithm.stopping.passes,
        "curve": algorithm.stopping.curve,
        "noises": np.array([model.noise for model in models], dtype=np.float64),
    }
    weights = np.stack([model.parameters for model in models]) if models else np.zeros((0, 0))
    return {
        "parts": plain_record(parts, members, "a part of a network"),
        "classes": labels_record(algorithm.classes),
        "weights": members.add("arrays", array_bytes(weights.astype(np.float32)), "npy"),
    }


def _units(outcomes: Outcomes) -> tuple[str, ...]:
    """Names of the values learned from y."""
    if isinstance(outcomes, Numbers):
        return ("mean", "sd")
    return ("n_classes",) if isinstance(outcomes, Classes) else ("unit",)


def _fitted_of(
    estimator: Any, record: Record, size: int, read: Reader
) -> tuple[NetworkAlgorithm, list[NetworkModel]]:
    """The prepared algorithm, and its networks."""
    parts = Record(plain_of(record.get("parts"), read), "network")
    encoding = _encoding_of(parts)
    bare = estimator.algorithm()
    classes = labels_of(record.get("classes"), read)
    outcomes = _outcomes_of(bare.outcomes, parts.record("outcomes"), classes)
    network = bare.network(encoding.n_inputs, outcomes.n_outputs)
    n_passes = parts.whole("n_passes", 1)
    nothing = np.zeros((2, 0, outcomes.n_outputs))  # outputs at left-out rows are not stored
    stopping = Stopping(n_passes, nothing, _array(parts, "passes"), _array(parts, "curve"))
    algorithm = replace(
        bare,
        network=network,
        outcomes=outcomes,
        classes=classes,
        encoding=encoding,
        stopping=stopping,
        noise=parts.number("noise"),
        n_rows=parts.whole("n_rows", 1),
    )
    return algorithm, _models_of(network, record, parts, size, read)


def _models_of(
    network: Network, record: Record, parts: Record, size: int, read: Reader
) -> list[NetworkModel]:
    weights, noises = array_of(read(record.text("weights")), "f"), _array(parts, "noises")
    right = weights.shape == (size, network.n_parameters) or (size == 0 and weights.size == 0)
    if not right or not np.isfinite(weights).all() or weights.dtype != np.float32:
        raise FileRefused(f"its weights have shape {weights.shape}, or are not finite numbers.")
    if noises.shape != (size,) or not (noises >= 0).all():
        raise FileRefused("its networks must have one noise each, of 0 or more.")
    return [NetworkModel(each, float(noise)) for each, noise in zip(weights, noises, strict=True)]


def _encoding_of(parts: Record) -> Encoding:
    n_columns = parts.whole("n_columns", 1)
    places = _array(parts, "places", "i")
    mean, sd = _array(parts, "mean"), _array(parts, "sd")
    gaps = _array(parts, "gaps", "b")
    if not mean.shape == sd.shape == gaps.shape == places.shape or not (sd > 0).all():
        raise FileRefused("its columns of numbers do not have one mean and one sd each.")
    categories = tuple(_categories_of(each) for each in parts.many("categories"))
    used = [*places.tolist(), *(each.place for each in categories)]
    if len(used) != n_columns or sorted(used) != list(range(n_columns)):
        raise FileRefused(f"it does not say what each of its {n_columns} columns is.")
    names = parts.get("names")
    if names is not None and not (
        isinstance(names, tuple)
        and len(names) == n_columns
        and all(isinstance(name, str) for name in names)
    ):
        raise FileRefused("its columns must have one name each, or none.")
    return Encoding(n_columns, Numeric(places, mean, sd, gaps), categories, names)


def _categories_of(entry: Any) -> Categories:
    good = (
        isinstance(entry, tuple)
        and len(entry) == 2
        and isinstance(entry[0], int)
        and isinstance(entry[1], tuple)
        and all(isinstance(value, str) for value in entry[1])
    )
    if not good:
        raise FileRefused("a column of categories must have a place and values.")
    return Categories(*entry)


def _outcomes_of(bare: Outcomes, parts: Record, classes: NDArray[Any] | None) -> Outcomes:
    if isinstance(bare, Classes):
        if classes is None or parts.whole("n_classes", 1) != len(classes):
            raise FileRefused("its classes are not as many as the outputs of its networks.")
        return Classes(len(classes))
    if isinstance(bare, CountOutcomes):
        return replace(bare, unit=parts.number("unit"))
    mean, sd = (np.asarray(parts.get(name), dtype=np.float64) for name in ("mean", "sd"))
    if mean.shape != sd.shape or mean.ndim > 1 or not (np.isfinite(mean) & (sd > 0)).all():
        raise FileRefused("its outcomes must have finite means and positive sds.")
    return replace(bare, mean=mean[()], sd=sd[()])  # type: ignore[call-arg]


def _array(parts: Record, name: str, kinds: str = "fi") -> NDArray[Any]:
    value = parts.get(name)
    right = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in kinds
    if not right or (value.dtype.kind == "f" and not np.isfinite(value).all()):
        raise FileRefused(f"{name} of a network must be a list of finite numbers.")
    return np.asarray(value)
