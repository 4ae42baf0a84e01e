"""Graph layout: nodes of a causal graph in layers, causes to the left of effects.

After Sugiyama, Tagawa and Toda (1981): an edge over several layers passes through empty places,
layers are sorted by the mean place of their neighbours until fewer edges cross, and places move
towards their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nearbayes.causal.graph import CausalGraph

__all__ = ["Layout", "layered"]

Place = str | tuple[str, str, int]  # a node, or where an edge passes a layer
Links = Mapping[Place, list[Place]]
SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """Where nodes and edges are.

    Attributes
    ----------
    layers : list of list of str or tuple
        From left to right, each from top to bottom: nodes, and (cause, effect, layer) where an edge
        passes.
    height : mapping
        Vertical position of the middle of every place; the smallest is 0.
    """

    layers: list[list[Place]]
    height: Mapping[Place, float]

    def stops(self, cause: str, effect: str) -> list[tuple[int, Place]]:
        """Layers and places on the way of an edge, with both ends."""
        where = {node: k for k, layer in enumerate(self.layers) for node in layer}
        first, last = where[cause], where[effect]
        between = [(k, (cause, effect, k)) for k in range(first + 1, last)]
        return [(first, cause), *between, (last, effect)]


def layered(graph: CausalGraph, node_height: float = 34, gap: float = 22) -> Layout:
    """Place the nodes of a graph.

    Examples
    --------
    >>> found = layered(CausalGraph.of([("a", "b"), ("b", "c"), ("a", "c")]))
    >>> found.layers
    [['a'], ['b', ('a', 'c', 1)], ['c']]
    >>> [place for _, place in found.stops("a", "c")]
    ['a', ('a', 'c', 1), 'c']
    """
    depth = _depths(graph)
    layers: list[list[Place]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in graph.nodes:
        layers[depth[node]].append(node)
    before: dict[Place, list[Place]] = {}
    after: dict[Place, list[Place]] = {}
    for cause, effect in graph.edges:
        passed: list[tuple[str, str, int]] = [
            (cause, effect, k) for k in range(depth[cause] + 1, depth[effect])
        ]
        for each in passed:
            layers[each[2]].append(each)
        way: list[Place] = [cause, *passed, effect]
        for left, right in pairwise(way):
            after.setdefault(left, []).append(right)
            before.setdefault(right, []).append(left)
    layers = _sorted(layers, before, after)
    sizes = {
        place: node_height if isinstance(place, str) else 0.0 for row in layers for place in row
    }
    return Layout(layers, _heights(layers, before, after, sizes, gap))


def _depths(graph: CausalGraph) -> dict[str, int]:
    """Layer of every node: after all its causes; a root is just before its first effect."""
    depth: dict[str, int] = {}
    for node, causes in graph.parents.items():
        depth[node] = 1 + max((depth[each] for each in causes), default=-1)
    for root in graph.roots:
        reached = [depth[effect] for cause, effect in graph.edges if cause == root]
        depth[root] = min(reached, default=1) - 1
    return depth


def _sorted(layers: list[list[Place]], before: Links, after: Links) -> list[list[Place]]:
    """Layers in the order with the fewest crossings that was found."""
    best, fewest = layers, _crossings(layers, after)
    found = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        links, order = (
            (before, range(1, len(found)))
            if forward
            else (
                after,
                range(len(found) - 2, -1, -1),
            )
        )
        for k in order:
            rank = {place: i for i, place in enumerate(found[k - 1 if forward else k + 1])}
            found[k] = _by_neighbours(found[k], links, rank)
        crossed = _crossings(found, after)
        if crossed < fewest:
            best, fewest = [list(layer) for layer in found], crossed
    return best


def _by_neighbours(layer: list[Place], links: Links, rank: Mapping[Place, int]) -> list[Place]:
    def middle(item: tuple[int, Place]) -> tuple[float, int]:
        near = [rank[each] for each in links.get(item[1], [])]
        return (float(np.mean(near)) if near else float(item[0]), item[0])

    return [place for _, place in sorted(enumerate(layer), key=middle)]


def _crossings(layers: list[list[Place]], after: Links) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    total = 0
    for left, right in pairwise(layers):
        rank = {place: i for i, place in enumerate(right)}
        ends = [(i, rank[each]) for i, place in enumerate(left) for each in after.get(place, [])]
        starts, stops = np.array(ends, dtype=float).reshape(-1, 2).T
        total += int(((starts[:, None] < starts) & (stops[:, None] > stops)).sum())
    return total


def _heights(
    layers: list[list[Place]],
    before: Links,
    after: Links,
    sizes: Mapping[Place, float],
    gap: float,
) -> dict[Place, float]:
    """Heights near those of the neighbours, with room between them."""
    found: dict[Place, float] = {}
    for layer in layers:
        found |= zip(layer, _apart([0.0] * len(layer), layer, sizes, gap), strict=True)
    for sweep in range(SWEEPS):
        links = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = [
                float(np.mean([found[each] for each in links.get(place, [place])]))
                for place in layer
            ]
            found |= zip(layer, _apart(wanted, layer, sizes, gap), strict=True)
    lowest = min(found.values())
    return {place: height - lowest for place, height in found.items()}


def _apart(
    wanted: Sequence[float], layer: Sequence[Place], sizes: Mapping[Place, float], gap: float
) -> list[float]:
    """Heights in the same order, at least a gap apart, on average where they are wanted."""
    found: list[float] = []
    for k, height in enumerate(wanted):
        if k:
            room = (sizes[layer[k - 1]] + sizes[layer[k]]) / 2 + gap
            height = max(height, found[-1] + room)
        found.append(height)
    shift = float(np.mean(np.subtract(wanted, found)))
    return [height + shift for height in found]
