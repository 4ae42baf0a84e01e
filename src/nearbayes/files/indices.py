"""Indices: checks of indices that compiled code uses unchecked.

Trees are arrays of node numbers, and compiled predictors assume that `fit` made them. A file may
hold anything, so every index of a loaded model is checked to be in range, and every tree to be a
tree. A malicious file thus cannot make a predictor read other memory or loop forever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.files.container import FileRefused

__all__ = ["check_children", "check_parts", "check_range", "check_tree"]

Indices = NDArray[Any]


def check_range(values: Any, low: int, high: int, what: str) -> None:
    """Refuse indices below `low`, or at or above `high`."""
    array = np.asarray(values)
    if array.size and (array.dtype.kind not in "iu" or array.min() < low or array.max() >= high):
        raise FileRefused(f"{what} of a model must be indices from {low} to {high - 1}.")


def check_children(left: Indices, right: Indices, n_nodes: int) -> None:
    """Refuse children that are out of range, or that two nodes share.

    If the root is not a child and no node has two parents, there are no cycles.

    Parameters
    ----------
    left, right : array of int
        Children of the internal nodes, as node numbers.
    n_nodes : int
    """
    children = np.concatenate([left, right])
    check_range(children, 1, n_nodes, "children")
    if len(np.unique(children)) < len(children):
        raise FileRefused("a tree has a node with two parents.")


def check_tree(n_features: int, n_classes: Indices, n_outputs: int, state: dict[str, Any]) -> None:
    """Check the state of scikit-learn's `Tree`, before the object is created."""
    nodes, values, count = state["nodes"], state["values"], state["node_count"]
    if not (
        isinstance(n_features, int)
        and isinstance(n_outputs, int)
        and n_classes.shape == (n_outputs,)
        and nodes.shape == (count,)
        and count >= 1
        and values.shape == (count, n_outputs, n_classes.max(initial=0))
    ):
        raise FileRefused("the arrays of a tree have inconsistent shapes.")
    inner = nodes[nodes["left_child"] != -1]
    check_children(inner["left_child"], inner["right_child"], count)
    check_range(inner["feature"], 0, n_features, "features")


def check_parts(model: Any) -> None:
    """Check every part of a scikit-learn model whose compiled code uses indices."""
    for part in _parts(model, set()):
        if hasattr(part, "_predictors"):
            _check_histogram_boosting(part)
        elif hasattr(part, "tree_"):
            _same(part.tree_.n_features, part.n_features_in_, "features of a tree")
        elif hasattr(part, "_n_support"):
            _check_support_vectors(part)
        elif type(part).__name__ in ("KDTree", "BallTree"):
            _check_neighbours(part)
        if type(part).__name__.startswith(("RandomForest", "ExtraTrees")):
            for each in getattr(part, "estimators_", ()):
                _same(each.n_features_in_, part.n_features_in_, "features of a forest")


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """A model and all objects inside it, each once."""
    if id(value) in seen or isinstance(value, str | int | float | type(None)):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, list | tuple | set):
        inside = list(value)
    elif isinstance(value, np.ndarray):
        inside = value.ravel().tolist() if value.dtype == object else []
    else:
        yield value
        inside = list(getattr(value, "__dict__", {}).values())
    for each in inside:
        yield from _parts(each, seen)


def _same(got: Any, wanted: Any, what: str) -> None:
    if got != wanted:
        raise FileRefused(f"{what}: expected {wanted}, got {got}.")


def _check_histogram_boosting(model: Any) -> None:
    mapper = model._bin_mapper
    _same(model._n_features, model.n_features_in_, "features of histogram boosting")
    _same(len(mapper.is_categorical_), model._n_features, "categorical features")
    for trees in model._predictors:
        _same(len(trees), model.n_trees_per_iteration_, "trees of one iteration")
        for tree in trees:
            nodes = tree.nodes
            inner = nodes[nodes["is_leaf"] == 0]
            check_children(
                inner["left"].astype(np.int64), inner["right"].astype(np.int64), len(nodes)
            )
            check_range(inner["feature_idx"], 0, model._n_features, "features")
            by_category = inner[inner["is_categorical"] != 0]["bitset_idx"]
            sets = min(len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets))
            check_range(by_category, 0, sets, "sets of categories")
            _same(tree.raw_left_cat_bitsets.shape[1:], (8,), "sets of categories")


def _check_support_vectors(model: Any) -> None:
    n_vectors, n_columns = np.shape(model.support_vectors_)
    _same(n_columns, model.n_features_in_, "columns of support vectors")
    _same(len(model.support_), n_vectors, "support vectors")
    _same(np.shape(model._dual_coef_)[1], n_vectors, "coefficients of support vectors")
    if not hasattr(model, "classes_"):
        _same((len(model._dual_coef_), len(model._intercept_)), (1, 1), "outputs")
    else:
        n_classes = len(model.classes_)
        pairs = n_classes * (n_classes - 1) // 2
        check_range(model._n_support, 0, n_vectors + 1, "numbers of support vectors")
        _same(len(model._n_support), n_classes, "classes of support vectors")
        _same(int(np.sum(model._n_support)), n_vectors, "support vectors of all classes")
        _same(len(model._dual_coef_), n_classes - 1, "coefficients of support vectors")
        _same(len(model._intercept_), pairs, "intercepts")
        for share in (model._probA, model._probB):
            if len(share) not in (0, pairs):
                raise FileRefused("a support vector machine has a wrong number of probabilities.")


def _check_neighbours(tree: Any) -> None:
    """Check a ball or k-d tree, where node i has the children 2i + 1 and 2i + 2."""
    data, index, nodes, bounds, *rest = tree.__getstate__()
    n_levels, n_nodes, weights = rest[1], rest[2], rest[-1]
    check_range([n_levels], 1, 60, "levels of a neighbour tree")
    _same(index.shape, data.shape[:1], "rows of a neighbour tree")
    _same((len(nodes), n_nodes), (2**n_levels - 1,) * 2, "nodes of a neighbour tree")
    check_range(index, 0, len(data), "rows of a neighbour tree")
    check_range(nodes["idx_start"], 0, len(data) + 1, "rows of a node")
    check_range(nodes["idx_end"], 0, len(data) + 1, "rows of a node")
    if (nodes["idx_start"] > nodes["idx_end"]).any() or not nodes["is_leaf"][n_nodes // 2 :].all():
        raise FileRefused("the nodes of a neighbour tree are not in order.")
    n_bounds = 2 if type(tree).__name__ == "KDTree" else 1
    _same(bounds.shape, (n_bounds, n_nodes, data.shape[1]), "bounds of a neighbour tree")
    if weights is not None:
        _same(np.shape(weights), data.shape[:1], "weights of a neighbour tree")
