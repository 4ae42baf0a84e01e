"""Causal graphs: which column depends on which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

__all__ = ["CausalGraph"]


@dataclass(frozen=True)
class CausalGraph:
    """A directed graph without cycles, whose nodes are columns.

    Attributes
    ----------
    parents : mapping of str to tuple of str
        Parents of every node, in the order of `nodes`.

    Examples
    --------
    >>> graph = CausalGraph.of([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> graph.nodes, graph.roots, graph.parents["wet"]
    (('rain', 'sprinkler', 'wet', 'slippery'), ('rain', 'sprinkler'), ('rain', 'sprinkler'))
    >>> graph.descendants(["rain"])
    ('wet', 'slippery')
    """

    parents: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, graph: Any) -> CausalGraph:
        """Make a graph from edges (cause, effect), or from a networkx `DiGraph`.

        Parameters
        ----------
        graph : CausalGraph, networkx.DiGraph, or iterable of pairs of str
        """
        if isinstance(graph, CausalGraph):
            return graph
        if hasattr(graph, "is_directed") and not graph.is_directed():
            raise ValueError(
                "graph has edges without direction: use networkx.DiGraph, whose edges lead from "
                "cause to effect."
            )
        edges = [_edge(each) for each in _edges_of(graph)]
        if not edges:
            raise ValueError("graph has no edges: without them, no column causes another.")
        nodes = dict.fromkeys(node for edge in edges for node in edge)
        given = dict.fromkeys(map(str, getattr(graph, "nodes", ())))
        parents = {node: [a for a, b in edges if b == node] for node in {**given, **nodes}}
        return cls(_ordered(parents))

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, causes before effects."""
        return tuple(self.parents)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (cause, effect)."""
        return tuple((cause, node) for node, causes in self.parents.items() for cause in causes)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Nodes without parents."""
        return tuple(node for node, causes in self.parents.items() if not causes)

    @cached_property
    def effects(self) -> tuple[str, ...]:
        """Nodes with parents."""
        return tuple(node for node, causes in self.parents.items() if causes)

    def descendants(self, nodes: Iterable[str]) -> tuple[str, ...]:
        """Nodes that at least one of these nodes causes, directly or indirectly."""
        reached = set(nodes)
        found = []
        for node, causes in self.parents.items():
            if reached.intersection(causes):
                reached.add(node)
                found.append(node)
        return tuple(found)

    def check_node(self, node: Any, what: str) -> None:
        """Reject names that are not nodes."""
        if not isinstance(node, Hashable) or node not in self.parents:
            raise ValueError(
                f"{what} is {node!r}, which is not a node: choose {_listed(self.nodes)}."
            )


def _edges_of(graph: Any) -> Iterable[Any]:
    edges = getattr(graph, "edges", graph)
    if isinstance(graph, str | bytes | Mapping) or not isinstance(edges, Iterable):
        raise TypeError(
            "graph must be a networkx.DiGraph or a list of pairs (cause, effect), "
            f"got {graph!r:.80}."
        )
    return edges


def _edge(edge: Any) -> tuple[str, str]:
    # a set has no order
    unordered = (str, bytes, set, frozenset, Mapping)
    if isinstance(edge, unordered) or not isinstance(edge, Iterable) or len(tuple(edge)) != 2:
        raise ValueError(f"graph must have edges (cause, effect), got {edge!r}.")
    cause, effect = edge
    return str(cause), str(effect)


def _ordered(parents: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Causes before effects; parents in the order of nodes."""
    try:
        order = list(TopologicalSorter(parents).static_order())
    except CycleError as error:
        around = " -> ".join(reversed(error.args[1]))
        raise ValueError(f"graph has a cycle, {around}: remove one of its edges.") from None
    place = {node: k for k, node in enumerate(parents)}
    depth: dict[str, int] = {}
    for node in order:
        depth[node] = 1 + max((depth[each] for each in parents[node]), default=-1)
    nodes = sorted(parents, key=lambda node: (depth[node], place[node]))
    rank = {node: k for k, node in enumerate(nodes)}
    return {node: tuple(sorted(set(parents[node]), key=rank.__getitem__)) for node in nodes}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
