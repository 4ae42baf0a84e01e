"""Queries: the interventions that models are asked about, and of which nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.causal_synthetic.scms import Array, SyntheticSCM

Units = Literal["raw", "standard"]
CONSTANTS = (-0.5, 0.0, 0.5)
N_VALUES = 20
LOW, HIGH = 0.1, 0.9  # quantiles at the ends of a grid


@dataclass(frozen=True)
class Query:
    """The distribution of some nodes under an intervention.

    Attributes
    ----------
    varied : str
        The node that the query is one grid value of.
    do : mapping of node to number
    outcomes : tuple of str
        Nodes asked about.
    weight : int
        How many queries of the protocol this one stands for.
    """

    varied: str
    do: Mapping[str, float]
    outcomes: tuple[str, ...]
    weight: int = 1


def grid(scm: SyntheticSCM, node: str, n_values: int = N_VALUES) -> Array:
    """Equally spaced values between the .1 and .9 quantiles of a node."""
    ends = np.quantile(scm.observed[:, scm.column(node)], [LOW, HIGH])
    return np.linspace(*ends, n_values)


def descendant_queries(scm: SyntheticSCM, n_values: int = N_VALUES) -> list[Query]:
    """One node set, all its descendants jointly: the protocol of Chao et al. (2023).

    Examples
    --------
    >>> from experiments.causal_synthetic.scms import SCMS
    >>> queries = descendant_queries(SCMS["chain-nonlin"], 2)
    >>> [(query.varied, query.outcomes) for query in queries[::2]]
    [('x1', ('x2', 'x3')), ('x2', ('x3',))]
    """
    return [
        Query(node, {node: float(value)}, scm.descendants(node))
        for node in scm.nodes
        if scm.descendants(node)
        for value in grid(scm, node, n_values)
    ]


def outcome_queries(scm: SyntheticSCM, units: Units, n_values: int = N_VALUES) -> list[Query]:
    """The last node with all others set: one varied on a grid, the rest at a constant in turn.

    The last node depends on its parents alone, so queries that give them the same values are one
    query with a weight. Queries off the domain of an equation (x2 = -.5 in chain-na) are left out:
    there is no truth to compare with.

    Parameters
    ----------
    scm : SyntheticSCM
    units : "raw" or "standard"
        Of the constants -.5, 0 and .5. "raw" is the paper's protocol, as far as it is printed; it
        puts some nodes off their support. "standard" is ours: mean plus constant times standard
        deviation of each node.
    n_values : int

    Returns
    -------
    list of Query
    """
    *others, last = scm.nodes
    queries: dict[tuple[float, ...], Query] = {}
    for varied in others:
        for constant in CONSTANTS:
            for value in grid(scm, varied, n_values):
                do = {node: _constant(scm, node, constant, units) for node in others}
                do[varied] = float(value)
                key = tuple(do[parent] for parent in scm.graph[last])
                weight = queries[key].weight + 1 if key in queries else 1
                queries[key] = Query(varied, do, (last,), weight)
    return [query for query in queries.values() if _is_defined(scm, query)]


def _constant(scm: SyntheticSCM, node: str, constant: float, units: Units) -> float:
    if units == "raw":
        return constant
    x = scm.observed[:, scm.column(node)]
    return float(x.mean() + constant * x.std())


def _is_defined(scm: SyntheticSCM, query: Query) -> bool:
    return bool(np.isfinite(scm.sample(1_000, np.random.default_rng(0), query.do)).all())
