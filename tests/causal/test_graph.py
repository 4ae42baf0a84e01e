"""Graphs: order, relatives, and one sentence for every bad one."""

import networkx
import pytest

from nearbayes.causal import CausalGraph

EDGES = [("c", "d"), ("a", "c"), ("b", "c")]


def test_causes_come_before_effects():
    graph = CausalGraph.of(EDGES)
    assert graph.nodes == ("a", "b", "c", "d")
    assert graph.roots == ("a", "b")
    assert graph.effects == ("c", "d")
    assert graph.parents["c"] == ("a", "b")
    assert set(graph.edges) == set(EDGES)
    assert CausalGraph.of(graph) is graph


def test_descendants_leave_out_what_is_not_reached():
    graph = CausalGraph.of([*EDGES, ("b", "e")])
    assert graph.descendants(["a"]) == ("c", "d")
    assert graph.descendants(["e"]) == ()
    assert set(graph.descendants(["a", "b"])) == {"c", "d", "e"}


def test_networkx_graphs_keep_nodes_without_edges():
    given = networkx.DiGraph(EDGES)
    given.add_node("alone")
    assert "alone" in CausalGraph.of(given).roots


def test_an_edge_given_twice_is_one_parent():
    assert CausalGraph.of([("a", "b"), ("a", "b")]).parents["b"] == ("a",)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "has a cycle, .* remove one of its edges"),
        ([("a", "a")], "has a cycle"),
        ([], "has no edges"),
        (networkx.Graph([("a", "b")]), "edges without direction"),
        ([("a", "b", "c")], r"must have edges \(cause, effect\), got"),
        (["ab"], "must have edges"),
        ("a->b", "must be a networkx.DiGraph or a list of pairs"),
        ({"a": ["b"]}, "must be a networkx.DiGraph or a list of pairs"),
        (3, "must be a networkx.DiGraph or a list of pairs"),
    ],
)
def test_bad_graphs_are_refused_in_one_sentence(graph, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        CausalGraph.of(graph)
    assert "\n" not in str(caught.value)
