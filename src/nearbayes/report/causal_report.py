"""Causal report: all numbers and texts of the page about a causal model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency, kruskal, spearmanr

from nearbayes.causal.causal_model import CausalModel
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.report.account import CITATION, drawn, seconds_of_draws, time_taken
from nearbayes.report.diagnostics import about_failures, about_schedule, failures
from nearbayes.report.effect_tables import COVERAGE, effect_tables
from nearbayes.report.graph_drawing import drawing
from nearbayes.report.rounding import counted, in_digits, percent, rounded

__all__ = ["causal_contents"]

SURPRISING = 0.01  # p value, divided by the number of pairs
FEWEST_DRAWS = 20
MOST_NAMED = 8
CAUTIONS = [
    "An effect is an average over the rows, all else coming about as before. Single rows may "
    "differ from it, in direction too.",
    "Intervals show what is uncertain about the models if the graph is right. They do not show "
    "doubts about the graph.",
    "Intervals of effects are not calibrated by simulation. They may be too narrow where the "
    "models cannot follow the data.",
    "Effects compare values inside the range of the data. Beyond it, models extrapolate.",
    "An interval with 0 inside does not show that there is no effect.",
    f"With many effects, one in ten {percent(COVERAGE)} intervals is expected to miss.",
]


def causal_contents(model: CausalModel, *, title: str | None = None) -> dict[str, Any]:
    """Compute the contents of a report about a fitted causal model.

    Parameters
    ----------
    model : fitted nearbayes.causal.SCM or DiffusionSCM
        Also one that `nearbayes.load` gave.
    title : str, optional
        Heading.

    Returns
    -------
    dict of strings, numbers (four significant digits), None, lists and dicts

    Examples
    --------
    >>> import numpy as np, nearbayes as nb
    >>> x = np.arange(20.0)
    >>> model = nb.causal.SCM([("x", "y")], models="linear", n_draws=5, random_state=0)
    >>> found = causal_contents(model.fit({"x": x, "y": 2 * x + np.sin(x)}))
    >>> [(row["cause"], row["words"]) for row in found["effects"]["tables"][0]["rows"]]
    [('x', 'raises it')]
    """
    if not isinstance(model, CausalModel) or not hasattr(model, "posterior_"):
        raise TypeError(
            "model must be a fitted nearbayes.causal.SCM or DiffusionSCM, got "
            f"{type(model).__name__}."
        )
    if len(model.posterior_) < 2:
        raise ValueError("model must have 2 draws or more, as one has no spread, got 1.")
    # thousands of small predictions: several threads would be many times slower
    effects, seconds = timed_on_one_thread(lambda: effect_tables(model))
    parts = {**seconds_of_draws(model.posterior_), "This report": seconds}
    return {
        "title": title or f"{_named(model.graph_.nodes)}: causes and effects",
        "task": "causal",
        "graph": drawing(model.graph_),
        "nodes": [_node(model, name) for name in model.graph_.nodes],
        "effects": effects,
        "headline": _headline(model, effects),
        "assumptions": _assumptions(model),
        "done": _done(model),
        "diagnostics": _diagnostics(model),
        "cost": [time_taken(name, each) for name, each in parts.items() if each is not None],
        "cautions": CAUTIONS,
        "citation": CITATION,
    }


def _named(names: tuple[str, ...]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _node(model: CausalModel, name: str) -> dict[str, Any]:
    variable, seen = model.variables_[name], model.seen_[name]
    if variable.kind == "category":
        shares = np.bincount(seen.astype(np.intp), minlength=variable.width) / len(seen)
        values = [f"{each} ({percent(shares[k])})" for k, each in enumerate(variable.categories)]
        said = _named(tuple(values))
    else:
        low, middle, high = np.quantile(seen, [0.0, 0.5, 1.0])
        said = f"{in_digits(low)} to {in_digits(high)}, median {in_digits(middle)}"
    kind = "whole number" if variable.kind == "integer" else variable.kind
    return {"name": name, "kind": kind, "values": said, "causes": list(model.graph_.parents[name])}


def _headline(model: CausalModel, effects: dict[str, Any]) -> list[dict[str, Any]]:
    graph, rows = model.graph_, [row for each in effects["tables"] for row in each["rows"]]
    clear = sum(row["verdict"] != "unclear" for row in rows)
    found = [
        ("nodes", "Nodes", len(graph.nodes), f"with {counted(len(graph.edges), 'arrow')}"),
        ("rows", "Rows", len(model.rows_), "that the model was fitted to"),
        ("draws", "Draws", len(model.posterior_), "whose spread gives the intervals"),
    ]
    numbers = [
        {"key": key, "label": label, "value": value, "text": f"{value:,}", "detail": detail}
        for key, label, value, detail in found
    ]
    detail = f"of {counted(len(rows), 'effect')} have a {percent(COVERAGE)} interval without 0"
    numbers.append(
        {"key": "clear", "label": "Clear", "value": clear, "text": str(clear), "detail": detail}
    )
    return numbers


def _done(model: CausalModel) -> dict[str, Any]:
    source = model.posterior_.provenance
    graph = model.graph_
    facts = {
        "Model": type(model).__name__,
        "Models of nodes": str(getattr(model, "models", "diffusion"))[:300],
        "Rows": f"{len(model.rows_):,}",
        "Method": source.method.replace("_", " "),
        "Draws": f"{len(model.posterior_)} of {source.n_draws}",
        "Refits per draw": str(len(source.blocks)),
        "Imputed rows per draw": f"{sum(source.blocks):,}",
        "Schedule": source.schedule,
        "Seed": str(source.seed),
    }
    return {
        "sentences": [
            f"A model of how each of {counted(len(graph.effects), 'node')} comes from its causes "
            f"was fitted to {counted(len(model.rows_), 'row')}, along a graph that was given.",
            drawn(model.posterior_),
        ],
        "facts": [{"label": label, "value": value} for label, value in facts.items()],
        "versions": dict(source.versions),
    }


def _assumptions(model: CausalModel) -> list[dict[str, str]]:
    """What has to be true for effects to be right, in plain words."""
    found = [
        (
            "The graph is taken as given.",
            "It was not learned from the data, and nothing on this page tests it. An arrow says "
            "that a node may directly change another. A missing arrow says that it does not.",
        ),
        (
            "There are no hidden confounders.",
            "Nothing outside the graph changes two of its nodes. If something does, effects are "
            "wrong, more rows do not help, and the intervals do not show it.",
        ),
        (
            "Setting a node changes nothing else.",
            "Other nodes come from their causes as before, and rows do not affect each other.",
        ),
    ]
    if len(model.graph_.roots) > 1:
        found.append(("Nodes without causes are independent.", _about_roots(model)))
    return [{"short": short, "long": long} for short, long in found]


def _about_roots(model: CausalModel) -> str:
    said = f"These are {_named(model.graph_.roots)}."
    pairs = _dependent_roots(model)
    if not pairs:
        return f"{said} The data do not contradict this for any two of them."
    named = _named(tuple(f"{a} and {b}" for a, b in pairs))
    return (
        f"{said} The data contradict this for {named}: add an arrow between them, or their "
        "common cause."
    )


def _dependent_roots(model: CausalModel) -> list[tuple[str, str]]:
    """Pairs of roots whose independence the data contradict, by a test of each pair."""
    pairs = list(combinations(model.graph_.roots, 2))
    return [pair for pair in pairs if _p_value(model, *pair) < SURPRISING / len(pairs)]


def _p_value(model: CausalModel, first: str, second: str) -> float:
    nodes = sorted((first, second), key=lambda node: model.variables_[node].kind == "category")
    a, b = (model.rows_[:, model.graph_.nodes.index(node)] for node in nodes)
    n_categories = sum(model.variables_[node].kind == "category" for node in nodes)
    if n_categories == 0:
        return float(spearmanr(a, b).pvalue)
    groups = np.unique(b)
    if n_categories == 1:
        return float(kruskal(*(a[b == group] for group in groups)).pvalue)
    table = [[np.sum((a == i) & (b == j)) for j in groups] for i in np.unique(a)]
    return float(chi2_contingency(table).pvalue)


def _diagnostics(model: CausalModel) -> dict[str, Any]:
    posterior, source = model.posterior_, model.posterior_.provenance
    n_draws = len(posterior)
    width = (2 * (n_draws - 1)) ** -0.5
    few = f" Use at least {FEWEST_DRAWS} draws." if n_draws < FEWEST_DRAWS else ""
    about_draws = (
        f"Draws are independent, so the standard error of an interval width is about "
        f"{percent(width)}.{few}"
    )
    return {
        "words": [about_failures(posterior), about_draws, about_schedule(posterior)],
        "draws": n_draws,
        "asked": source.n_draws,
        "failed": failures(posterior),
        "n_failed": len(posterior.failed),
        "mc_error": {"median": None, "largest": None},
        "captured": rounded(source.captured),
        "inflation": rounded(source.inflation),
    }
