"""Causal models as files: draws, graph, columns, roots of the data and parameters."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nearbayes import causal
from nearbayes.causal.causal_model import CausalModel
from nearbayes.causal.graph_algorithm import GraphAlgorithm
from nearbayes.files.arrays import NotSaveable, array_bytes, array_of, plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.draws import Models, estimator_of, estimator_record
from nearbayes.files.manifest import Record
from nearbayes.files.posterior_file import header
from nearbayes.files.posterior_record import posterior_of, posterior_record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.files.run_records import schedule_of, schedule_record, seed_record
from nearbayes.files.tamed import tamed_params
from nearbayes.files.thinning import write_draws

__all__ = ["CAUSAL_KINDS", "causal_of", "save_causal"]

CAUSAL_KINDS = ("DiffusionSCM", "SCM")
SPECIAL = ("graph", "models", "schedule", "random_state")
# never written to a file or read from one: a checkpoint contains pickles
OF_ONE_MACHINE = {"checkpoint", "executor"}


def save_causal(
    model: Any,
    path: str | os.PathLike[str],
    *,
    thin: int | None = None,
    max_megabytes: float | None = None,
    attachments: Mapping[str, bytes] | None = None,
    trusted: Collection[str] = (),
) -> Path:
    """Write a fitted causal model; see `CausalModel.save`."""
    if type(model).__name__ not in CAUSAL_KINDS:
        raise NotSaveable(
            f"{type(model).__name__} cannot be saved: a file contains no code, so only SCM and "
            "DiffusionSCM of nearbayes.causal can be loaded."
        )
    return write_draws(
        path,
        len(model.posterior_),
        partial(_manifest, model),
        thin=thin,
        max_megabytes=max_megabytes,
        attachments=attachments,
        trusted=trusted,
    )


def _manifest(model: Any, draws: list[int], models: Models, members: Members) -> dict[str, Any]:
    roots = model.rows_[:, [model.graph_.nodes.index(node) for node in model.graph_.roots]]
    seen = np.stack([model.seen_[node] for node in model.graph_.nodes])
    posterior = posterior_record(model.posterior_, draws, models, members)
    return {
        **header(model.posterior_, type(model).__name__),
        "posterior": posterior,
        "params": _params_record(model, models, members),
        "roots": members.add("arrays", array_bytes(roots), "npy"),
        "seen": members.add("arrays", array_bytes(seen), "npy"),
    }


def causal_of(manifest: Record, read: Reader, trusted: Collection[str] = ()) -> Any:
    """Undo `save_causal`; all entries are checked."""
    kind = getattr(causal, manifest.text("kind", CAUSAL_KINDS))
    posterior = posterior_of(manifest.record("posterior"), read, trusted)
    algorithm = posterior.algorithm
    if not isinstance(algorithm, GraphAlgorithm):
        raise FileRefused(f"its draws are not those of a {kind.__name__}.")
    params = _params_of(manifest.record("params"), kind, read, trusted)
    model: CausalModel = kind(algorithm.graph, **params)
    model.graph_, model.variables_ = algorithm.graph, dict(algorithm.variables)
    model.posterior_ = posterior
    shape = posterior.first.weights.shape[1], len(algorithm.graph.nodes)
    seen = _values(manifest, "seen", (shape[1], shape[0]), read)
    roots = _values(manifest, "roots", (shape[0], len(algorithm.graph.roots)), read)
    model.rows_ = np.full(shape, np.nan)  # a file has no rows of effects
    for k, node in enumerate(algorithm.graph.roots):
        model.rows_[:, algorithm.graph.nodes.index(node)] = _coded(model, node, roots[:, k])
    model.seen_ = {
        node: _coded(model, node, seen[k]) for k, node in enumerate(algorithm.graph.nodes)
    }
    return model


def _values(manifest: Record, name: str, shape: tuple[int, int], read: Reader) -> Any:
    values = array_of(read(manifest.text(name)), "f")
    if values.shape != shape or values.dtype != np.float64 or not np.isfinite(values).all():
        raise FileRefused(f"{name} must be {shape[0]} by {shape[1]} finite numbers.")
    return values


def _coded(model: Any, node: str, values: Any) -> Any:
    """Values of a node; codes must match its categories."""
    variable = model.variables_[node]
    if variable.kind == "category" and not np.isin(values, np.arange(variable.width)).all():
        raise FileRefused(f"its values of {node[:40]!r} are no codes of its categories.")
    return values


# -- parameters ---------------------------------------------------------------------------------


def _params_record(model: Any, models: Models, members: Members) -> dict[str, Any]:
    """Parameters; the graph is that of the draws."""
    params = model.get_params(deep=False)
    found = {
        name: plain_record(value, members, name)
        for name, value in params.items()
        if name not in SPECIAL and name not in OF_ONE_MACHINE
    }
    found["schedule"] = schedule_record(params["schedule"])
    found["random_state"] = seed_record(model)
    if "models" in params:
        found["models"] = _models_record(params["models"], models, members)
    return found


def _models_record(chosen: Any, models: Models, members: Members) -> dict[str, Any]:
    """The `models` of SCM: a name, an estimator, or a mapping of nodes to either."""
    if isinstance(chosen, Mapping):
        return {"nodes": {node: _models_record(e, models, members) for node, e in chosen.items()}}
    if isinstance(chosen, str):
        return {"name": chosen}
    return {"estimator": estimator_record(chosen, models, members, optional=True)}


def _params_of(
    record: Record, kind: type, read: Reader, trusted: Collection[str]
) -> dict[str, Any]:
    known = set(kind((("a", "b"),)).get_params(deep=False))
    known -= {"graph", *OF_ONE_MACHINE}
    if set(record.entries) != known:
        raise FileRefused(f"{kind.__name__} must have its own parameters, and no others.")
    found = tamed_params(
        {name: plain_of(each, read) for name, each in record.entries.items() if name not in SPECIAL}
    )
    found["schedule"] = schedule_of(record.record("schedule")) if "schedule" in record else None
    found["random_state"] = (
        record.whole("random_state", 0, 2**256) if "random_state" in record else None
    )
    if "models" in known:
        found["models"] = _models_of(record.record("models"), read, trusted)
    return found


def _models_of(record: Record, read: Reader, trusted: Collection[str]) -> Any:
    """Undo `_models_record`."""
    if "nodes" in record:
        nodes = record.record("nodes")
        return {node: _models_of(nodes.record(node), read, trusted) for node in nodes.entries}
    return record.text("name") if "name" in record else estimator_of(record, read, trusted)
