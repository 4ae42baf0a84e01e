"""Effect tables: the effect of every node of a causal model on every node that it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearbayes.causal.causal_model import CausalModel
from nearbayes.causal.variables import Variable
from nearbayes.draws.functional import Functional
from nearbayes.report.rounding import in_digits, rounded

__all__ = ["COVERAGE", "effect_tables"]

COVERAGE = 0.9
N_ROWS = 512  # rows that stand for a distribution
MOST_CAUSES = 30
MOST_CATEGORIES = 4  # shown of a node
RANGES = ((0.25, 0.75), (0.1, 0.9), (0.0, 1.0))  # the first whose ends differ is compared
BAR = 160.0  # width of the drawing of an interval
FROM_WHAT = {RANGES[0]: "quartiles", RANGES[1]: "deciles", RANGES[2]: "extremes"}


@dataclass(frozen=True)
class Contrast:
    """Two values of a cause that are compared."""

    cause: str
    low: Any
    high: Any
    words: str


def effect_tables(model: CausalModel) -> dict[str, Any]:
    """Effects, one table per quantity of an outcome.

    Causes of numbers go from their lower to their upper quartile; categories are compared with the
    most frequent one.

    Returns
    -------
    dict with "tables", the number of "causes" shown and "of" how many, and "coverage"
    """
    graph = model.graph_
    causes = [node for node in graph.nodes if graph.descendants([node])]
    reach = {node: len(graph.descendants([node])) for node in causes}
    shown = set(sorted(causes, key=lambda node: -reach[node])[:MOST_CAUSES])
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for contrast in (each for node in causes if node in shown for each in _contrasts(model, node)):
        do, versus = {contrast.cause: contrast.high}, {contrast.cause: contrast.low}
        for outcome, found in model.effects(do, versus, n=N_ROWS).items():
            for label, part in _quantities(model, outcome, found):
                row = _row(part, contrast, contrast.cause in graph.parents[outcome])
                rows.setdefault((outcome, label), []).append(row)
    places = {node: k for k, node in enumerate(graph.nodes)}
    ordered = sorted(rows, key=lambda key: places[key[0]])
    return {
        "tables": [
            _table(model, outcome, label, rows[outcome, label]) for outcome, label in ordered
        ],
        "causes": len(shown),
        "of": len(causes),
        "coverage": COVERAGE,
    }


def _contrasts(model: CausalModel, node: str) -> list[Contrast]:
    variable, seen = model.variables_[node], model.seen_[node]
    if variable.kind != "category":
        for levels in RANGES:
            low, high = np.quantile(seen, levels, method="inverted_cdf").tolist()
            if low < high:
                words = f"{in_digits(low)} → {in_digits(high)} ({FROM_WHAT[levels]})"
                return [Contrast(node, low, high, words)]
    common = _most_frequent(variable, seen)
    usual = variable.categories[common[0]]
    others = [variable.categories[k] for k in common[1 : MOST_CATEGORIES + 1]]
    return [Contrast(node, usual, each, f"{usual} → {each}") for each in others]


def _most_frequent(variable: Variable, seen: Any) -> list[int]:
    counts = np.bincount(seen.astype(np.intp), minlength=variable.width)
    found: list[int] = np.argsort(-counts, kind="stable").tolist()
    return found


def _quantities(
    model: CausalModel, outcome: str, found: Functional
) -> list[tuple[str, Functional]]:
    """The mean of numbers, the probability of the second of two categories, or of several."""
    variable = model.variables_[outcome]
    if variable.kind != "category":
        return [(f"mean of {outcome}", found)]
    shown = [1]
    if variable.width > 2:
        shown = sorted(_most_frequent(variable, model.seen_[outcome])[:MOST_CATEGORIES])
    names = variable.categories
    return [(f"probability of {outcome} = {names[k]}", found.at(k)) for k in shown]


def _row(found: Functional, contrast: Contrast, is_direct: bool) -> dict[str, Any]:
    low, high = found.interval(COVERAGE).tolist()
    verdict = "up" if low > 0 else "down" if high < 0 else "unclear"
    words = {"up": "raises it", "down": "lowers it", "unclear": "direction unclear"}
    if low == high == 0:
        words["unclear"] = "no effect found"
    return {
        "cause": contrast.cause,
        "change": contrast.words,
        "direct": is_direct,
        "mean": rounded(found.mean),
        "lower": rounded(low),
        "upper": rounded(high),
        "verdict": verdict,
        "words": words[verdict],
    }


def _table(
    model: CausalModel, outcome: str, label: str, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """Rows with the drawing of their intervals, on a scale that they share."""
    ends = [0.0, *(row["lower"] for row in rows), *(row["upper"] for row in rows)]
    left, right = min(ends), max(ends)
    per = BAR / (right - left) if right > left else 0.0

    def at(value: float) -> float:
        return round(float(4 + (value - left) * per), 1)

    bars = [{name: at(row[name]) for name in ("lower", "mean", "upper")} for row in rows]
    variable = model.variables_[outcome]
    return {
        "outcome": outcome,
        "label": label,
        "sd": None if variable.kind == "category" else rounded(variable.sd),
        "width": BAR + 8,
        "zero": at(0.0),
        "rows": [{**row, "bar": bar} for row, bar in zip(rows, bars, strict=True)],
    }
