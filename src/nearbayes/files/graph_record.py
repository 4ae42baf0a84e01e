"""Causal graphs and their columns as records, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.variables import Variable
from nearbayes.files.arrays import NotSaveable, array_bytes, array_of
from nearbayes.files.container import Members
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused

__all__ = ["graph_of", "graph_record", "variables_of_record", "variables_record"]

KINDS = ("number", "integer", "category")
UNITS = ("mean", "sd", "low", "high")
PLAIN = (str, bool, int, float)  # types of categories; all of a column have the same
DTYPES = "biufOUS"


def graph_record(graph: CausalGraph) -> list[dict[str, Any]]:
    """Nodes and their parents, causes before effects."""
    return [{"node": node, "parents": list(causes)} for node, causes in graph.parents.items()]


def graph_of(records: list[Record]) -> CausalGraph:
    """Undo `graph_record`; parents that come later, as in a cycle, are refused."""
    parents: dict[str, tuple[str, ...]] = {}
    for record in records:
        node, causes = record.text("node"), record.many("parents")
        known = all(isinstance(each, str) and each in parents for each in causes)
        if node in parents or not known or len(set(causes)) < len(causes):
            raise FileRefused(f"its node {node[:40]!r} is there twice, or has unknown parents.")
        parents[node] = tuple(causes)
    if not any(parents.values()):
        raise FileRefused("its graph has no edges.")
    return CausalGraph(parents)


def variables_record(variables: Mapping[str, Variable], members: Members) -> dict[str, Any]:
    """Kinds, categories and units of columns; `variables` is in the order of the nodes."""
    units = [[getattr(each, name) for name in UNITS] for each in variables.values()]
    return {
        "columns": [_column(each) for each in variables.values()],
        "units": members.add("arrays", array_bytes(np.array(units, dtype=np.float64)), "npy"),
    }


def _column(variable: Variable) -> dict[str, Any]:
    categories = [each.item() if hasattr(each, "item") else each for each in variable.categories]
    odd = next((each for each in categories if type(each) not in PLAIN), None)
    if odd is not None:
        raise NotSaveable(
            f"categories of {variable.name!r} have the type {type(odd).__name__}, which a safe "
            "file cannot hold: make text of them before fit."
        )
    dtype = np.dtype(variable.dtype)
    return {"kind": variable.kind, "categories": categories, "dtype": dtype.str}


def variables_of_record(record: Record, graph: CausalGraph, read: Reader) -> dict[str, Variable]:
    """Undo `variables_record`."""
    columns, units = record.records("columns"), array_of(read(record.text("units")), "f")
    if len(columns) != len(graph.nodes) or units.shape != (len(columns), len(UNITS)):
        raise FileRefused(f"it does not say what each of its {len(graph.nodes)} nodes is.")
    triples = zip(graph.nodes, columns, units.tolist(), strict=True)
    return {name: _variable(name, column, unit) for name, column, unit in triples}


def _variable(name: str, column: Record, units: list[float]) -> Variable:
    kind, dtype = column.text("kind", KINDS), np.dtype(column.text("dtype"))
    categories = tuple(column.many("categories"))
    right = all(type(each) in PLAIN for each in categories) and (
        len(set(categories)) == len(categories) and (len(categories) > 1) == (kind == "category")
    )
    if not right or dtype.kind not in DTYPES or (kind == "integer" and dtype.kind not in "iu"):
        raise FileRefused(f"its node {name[:40]!r} has odd categories, or an odd type.")
    mean, sd, low, high = units
    if kind != "category" and not (np.isfinite(units).all() and sd > 0 and low <= high):
        raise FileRefused(f"its node {name[:40]!r} has units that are none.")
    return Variable(name, kind, categories, mean, sd, low, high, dtype)  # type: ignore[arg-type]
