"""Graph drawing: boxes and arrows of a causal graph, as numbers for an inline SVG."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from nearbayes.causal.graph import CausalGraph
from nearbayes.report.graph_layout import Layout, layered

__all__ = ["drawing"]

BOX_HEIGHT, GAP, BETWEEN, MARGIN = 34.0, 22.0, 72.0, 6.0
LONGEST_NAME = 22
PER_CHARACTER, PADDING, NARROWEST = 7.6, 24.0, 56.0
ARROW = 8.0


def drawing(graph: CausalGraph) -> dict[str, Any]:
    """Boxes and arrows, in pixels.

    Returns
    -------
    dict with "width", "height", "nodes" (name, label, x, y, width, height, is_root) and "edges"
    (cause, effect, and the SVG paths of the line and of its head)

    Examples
    --------
    >>> found = drawing(CausalGraph.of([("dose", "outcome")]))
    >>> [node["label"] for node in found["nodes"]], len(found["edges"])
    (['dose', 'outcome'], 1)
    """
    layout = layered(graph, BOX_HEIGHT, GAP)
    spans = _spans(layout)
    middle = {place: at + MARGIN + BOX_HEIGHT / 2 for place, at in layout.height.items()}
    nodes: list[dict[str, Any]] = [
        {
            "name": node,
            "label": _label(node),
            "is_root": node in graph.roots,
            "x": _shown(spans[k][0] + (spans[k][1] - spans[k][0] - _width(node)) / 2),
            "y": _shown(middle[node] - BOX_HEIGHT / 2),
            "width": _shown(_width(node)),
            "height": BOX_HEIGHT,
        }
        for k, layer in enumerate(layout.layers)
        for node in layer
        if isinstance(node, str)
    ]
    boxes = {node["name"]: node for node in nodes}
    return {
        "width": _shown(spans[-1][1] + MARGIN),
        "height": _shown(max(middle.values()) + BOX_HEIGHT / 2 + MARGIN),
        "nodes": nodes,
        "edges": [_edge(a, b, layout, spans, middle, boxes) for a, b in graph.edges],
    }


def _label(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _width(node: str) -> float:
    return max(NARROWEST, PADDING + PER_CHARACTER * len(_label(node)))


def _spans(layout: Layout) -> list[tuple[float, float]]:
    """Left and right end of every layer."""
    found, left = [], MARGIN
    for layer in layout.layers:
        width = max(_width(node) if isinstance(node, str) else 0.0 for node in layer)
        found.append((left, left + width))
        left += width + BETWEEN
    return found


def _edge(
    cause: str,
    effect: str,
    layout: Layout,
    spans: list[tuple[float, float]],
    middle: dict[Any, float],
    boxes: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """A line from the right of one box to the left of another, level where it passes a layer."""
    stops = layout.stops(cause, effect)
    start = boxes[cause]["x"] + boxes[cause]["width"]
    points = [(start, start, middle[cause])]
    points += [(*spans[k], middle[place]) for k, place in stops[1:-1]]
    end = boxes[effect]["x"]
    points.append((end - ARROW, end - ARROW, middle[effect]))
    line = f"M{_shown(start)} {_shown(middle[cause])}"
    for (_, x, y), (left, right, level) in pairwise(points):
        half = (x + left) / 2
        line += f"C{_shown(half)} {_shown(y)} {_shown(half)} {_shown(level)} "
        line += f"{_shown(left)} {_shown(level)}H{_shown(right)}"
    tip = f"M{_shown(end)} {_shown(middle[effect])}l{-ARROW} {-ARROW / 2}v{ARROW}z"
    return {"cause": cause, "effect": effect, "line": line, "head": tip}


def _shown(value: float) -> float:
    return round(float(value), 1)
