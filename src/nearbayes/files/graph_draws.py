"""Draws of causal graphs as records: the graph, its columns, the weights of roots, mechanisms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.graph_algorithm import GraphAlgorithm, GraphModels
from nearbayes.causal.mechanisms import LearnedMechanism, Mechanism
from nearbayes.causal.variables import Variable
from nearbayes.core.protocols import ChunkAlgorithm
from nearbayes.files.arrays import NotSaveable, array_bytes, array_of
from nearbayes.files.container import Members
from nearbayes.files.draws import Models
from nearbayes.files.graph_record import (
    graph_of,
    graph_record,
    variables_of_record,
    variables_record,
)
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.files.run_records import schedule_of, schedule_record
from nearbayes.registry import family_named, family_of

__all__ = ["dump_draws", "load_draws"]

MECHANISMS = ("diffusion", "learned")


def dump_draws(
    algorithm: GraphAlgorithm, drawn: Sequence[GraphModels] | None, models: Models, members: Members
) -> dict[str, Any]:
    """A record of the graph, and of models of every draw.

    Parameters
    ----------
    algorithm : GraphAlgorithm
        After `prepare`.
    drawn : sequence of GraphModels
        The first fit, possibly before `finish`, and the draws.
    models : Models
        Turns estimators into records.
    members : Members
        Arrays and models are added to it.
    """
    if drawn is None:
        raise NotSaveable("predictions of a causal graph cannot be saved without its models.")
    weights = np.concatenate([each.weights for each in drawn]).astype(np.float64)
    parts = [
        _mechanism_record(mechanism, [each.mechanisms[k] for each in drawn], models, members)
        for k, mechanism in enumerate(algorithm.mechanisms)
    ]
    in_order = {node: algorithm.variables[node] for node in algorithm.graph.nodes}
    return {
        "graph": graph_record(algorithm.graph),
        "variables": variables_record(in_order, members),
        "weights": members.add("arrays", array_bytes(weights), "npy"),
        "mechanisms": parts,
        "schedule": schedule_record(algorithm.schedule),
    }


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[GraphAlgorithm, list[GraphModels]]:
    """Undo `dump_draws`."""
    if size is None:
        raise FileRefused("it has predictions of a causal graph without its models.")
    graph = graph_of(record.records("graph"))
    variables = variables_of_record(record.record("variables"), graph, read)
    pairs = [
        _mechanism_of(each, graph, variables, size, read, trusted)
        for each in record.records("mechanisms")
    ]
    mechanisms = tuple(mechanism for mechanism, _ in pairs)
    modelled = [node for each in mechanisms for node in each.nodes]
    if sorted(modelled) != sorted(graph.effects):
        raise FileRefused("it must have one model for every node with parents, and no others.")
    schedule = schedule_of(record.record("schedule")) if "schedule" in record else None
    chunk = GraphModels(tuple(models for _, models in pairs), _weights(record, size, read))
    algorithm = GraphAlgorithm(graph, variables, mechanisms, schedule)
    return algorithm, [chunk[place] for place in range(size)]


def _weights(record: Record, size: int, read: Reader) -> Any:
    weights = array_of(read(record.text("weights")), "f")
    right = weights.ndim == 2 and len(weights) == size and weights.dtype == np.float64
    if not right or not np.isfinite(weights).all() or not (weights >= 0).all():
        raise FileRefused(f"its weights of rows have shape {weights.shape}, or are no weights.")
    if not (weights.sum(axis=1) > 0).all():
        raise FileRefused("a draw has no rows to take roots from.")
    return weights


# -- mechanisms ---------------------------------------------------------------------------------


def _mechanism_record(
    mechanism: Mechanism, parts: Sequence[Any], models: Models, members: Members
) -> dict[str, Any]:
    """Record of a mechanism and of its models, one chunk per entry of `parts`."""
    if not isinstance(mechanism, LearnedMechanism):
        from nearbayes.files import diffusion_format  # needs JAX

        return {"kind": "diffusion", **diffusion_format.dump_mechanism(mechanism, parts, members)}  # type: ignore[arg-type]
    finished = [part if isinstance(part, list) else mechanism.finish(part) for part in parts]
    drawn = [model for part in finished for model in part]
    algorithm = _plain(mechanism.algorithm)
    family = family_of(algorithm)
    try:
        if family is None or family.files is None:
            raise NotSaveable(f"{type(algorithm).__name__} has no file format.")
        draws = family.resolved("files").dump_draws(algorithm, drawn, models, members)
    except NotSaveable as error:
        raise NotSaveable(
            f"the model of node {mechanism.node.name!r}, {_name(algorithm)}, cannot be saved: give "
            "the node an estimator of nearbayes, scikit-learn, XGBoost or LightGBM, and choose "
            "noise by name."
        ) from error
    return {
        "kind": "learned",
        "node": mechanism.node.name,
        "family": family.name,
        "draws": draws,
    }


def _plain(algorithm: ChunkAlgorithm) -> Any:
    """The plain algorithm, if it was lifted to chunks."""
    return getattr(algorithm, "algorithm", algorithm)


def _name(algorithm: Any) -> str:
    """What the user passed: an estimator, if there is one."""
    fitting = getattr(algorithm, "fitting", algorithm)
    return type(getattr(fitting, "estimator", None) or algorithm).__name__


def _mechanism_of(
    record: Record,
    graph: CausalGraph,
    variables: Mapping[str, Variable],
    size: int,
    read: Reader,
    trusted: Collection[str],
) -> tuple[Mechanism, Any]:
    """Undo `_mechanism_record`: a mechanism and its models."""
    if record.text("kind", MECHANISMS) == "diffusion":
        from nearbayes.files import diffusion_format

        return diffusion_format.load_mechanism(record, graph, variables, size, read)
    node, family = record.text("node", graph.effects), family_named(record.text("family"))
    if family is None or family.files is None or family.name == "causal graph":
        raise FileRefused(f"the model of {node[:40]!r} is of an unknown family.")
    load = family.resolved("files").load_draws
    algorithm, models = load(record.record("draws"), size, read, trusted)
    classes = getattr(algorithm, "classes", None)
    n_classes = 0 if classes is None else len(classes)
    if n_classes != len(variables[node].categories):
        raise FileRefused(f"the model of {node[:40]!r} does not fit the kind of its column.")
    return LearnedMechanism.of(node, graph, variables, algorithm), list(models)
