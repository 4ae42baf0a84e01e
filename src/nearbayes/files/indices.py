"""Indices: checks of indices that compiled code uses unchecked.

Trees are arrays of node numbers, and compiled predictors assume that `fit` made them. A file may
contain anything, so indices of a loaded model are checked to be in range, and trees to be trees.
`sklearn_parts`, `xgboost_json` and `lightgbm_text` define which indices there are; the fuzzer in
tests/files searches for missing ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.files.refusal import FileRefused

__all__ = ["check_children", "check_range", "check_tree"]

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
    if _depth(nodes["left_child"], nodes["right_child"]) > state["max_depth"]:
        raise FileRefused("a tree is deeper than it says.")


def _depth(left: Indices, right: Indices) -> int:
    """Depth of a checked tree; buffers of paths have this size."""
    depth, level = 0, np.zeros(1, dtype=np.int64)
    while True:
        level = level[left[level] != -1]
        if not len(level):
            return depth
        depth, level = depth + 1, np.concatenate([left[level], right[level]])
