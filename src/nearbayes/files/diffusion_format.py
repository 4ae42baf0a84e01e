"""Diffusion models of a graph as records: settings, ranges of nodes and arrays of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_args

import numpy as np

from nearbayes.causal.diffusion_mechanism import DiffusionMechanism, DiffusionModels
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.variables import Variable
from nearbayes.files.arrays import array_bytes, array_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.neural.chunks import Optimiser
from nearbayes.neural.network import Activation

__all__ = ["dump_mechanism", "load_mechanism"]

APART = ("graph", "variables", "nodes", "ranges", "optimiser")  # fields that are not plain settings
SETTINGS = tuple(each.name for each in fields(DiffusionMechanism) if each.name not in APART)
PRIORS = ("anchored", "ntkgp")


def dump_mechanism(
    mechanism: DiffusionMechanism, draws: Sequence[DiffusionModels], members: Members
) -> dict[str, Any]:
    """Record of the mechanism and of its networks, without data that only refits need.

    Parameters
    ----------
    mechanism : DiffusionMechanism
        After `prepare`.
    draws : sequence of DiffusionModels
        Chunks of draws.
    members : Members
        Arrays are added to it.
    """
    parameters = DiffusionModels.joined(draws).parameters.astype(np.float32)
    settings = {name: getattr(mechanism, name) for name in SETTINGS}
    ranges = np.array([mechanism.ranges[node] for node in mechanism.nodes], dtype=np.float64)
    return {
        "nodes": list(mechanism.nodes),
        "settings": {
            name: plain_record(value, members, f"{name} of a diffusion model")
            for name, value in settings.items()
        },
        "optimiser": {name: float(value) for name, value in asdict(mechanism.optimiser).items()},
        "ranges": members.add("arrays", array_bytes(ranges), "npy"),
        "parameters": members.add("arrays", array_bytes(parameters), "npy"),
    }


def load_mechanism(
    record: Record, graph: CausalGraph, variables: Mapping[str, Variable], size: int, read: Reader
) -> tuple[DiffusionMechanism, DiffusionModels]:
    """Undo `dump_mechanism`: the mechanism, and `size` draws."""
    nodes = tuple(record.many("nodes"))
    numeric = [node for node in graph.effects if variables[node].kind != "category"]
    if not nodes or len(set(nodes)) < len(nodes) or not set(nodes) <= set(numeric):
        raise FileRefused("its diffusion models are of nodes that are no effects, or no numbers.")
    ranges = array_of(read(record.text("ranges")), "f")
    if ranges.shape != (len(nodes), 2) or not np.isfinite(ranges).all():
        raise FileRefused("its diffusion models must have one range per node.")
    parameters = array_of(read(record.text("parameters")), "f")
    mechanism = DiffusionMechanism(
        graph,
        variables,
        nodes,
        optimiser=Optimiser(**_optimiser(record.numbers("optimiser"))),
        ranges={
            node: (low, high) for node, (low, high) in zip(nodes, ranges.tolist(), strict=True)
        },
        **_settings(record.record("settings"), parameters.shape),
    )
    _check(mechanism, parameters, size)
    # step sizes are for refits, for which a file does not have the rows
    return mechanism, DiffusionModels(parameters, parameters[:, :, :0])


def _optimiser(found: dict[str, float]) -> dict[str, float]:
    if set(found) != {each.name for each in fields(Optimiser)}:
        raise FileRefused("its diffusion models must have the settings of their optimiser.")
    return found


def _settings(record: Record, shape: tuple[int, ...]) -> dict[str, Any]:
    """Settings, all of plain types; networks cannot be larger than the stored parameters."""
    if set(record.entries) != set(SETTINGS):
        raise FileRefused(f"a diffusion model must have the settings {', '.join(SETTINGS)}.")
    plain = all(isinstance(each, str | int | float | None) for each in record.entries.values())
    most = shape[-1] if shape else 0
    width, depth = record.whole("width", 1, max(1, most)), record.whole("depth", 1, max(1, most))
    if not plain or width + (depth - 1) * width * (width + 1) > most:
        raise FileRefused("a diffusion model has odd settings, or too few parameters for them.")
    record.text("activation", get_args(Activation))
    if record.get("prior") is not None:
        record.text("prior", PRIORS)
    record.whole("n_rows", 1)
    return dict(record.entries)


def _check(mechanism: DiffusionMechanism, parameters: Any, size: int) -> None:
    wanted = (size, len(mechanism.nodes), mechanism.network.n_parameters)
    right = parameters.shape == wanted and parameters.dtype == np.float32
    if not right or not np.isfinite(parameters).all():
        raise FileRefused(
            f"parameters of its diffusion models have shape {parameters.shape}, not {wanted}, or "
            "are not finite numbers."
        )
