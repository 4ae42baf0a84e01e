"""States of compiled objects: checked before any such object is made.

Compiled code of scikit-learn and NumPy trusts the state of its objects: a ball tree reads the
thirteenth part of a tuple without checking that it exists, and a random generator reads its key at
any position. `sklearn_parts` contains the checks that are possible after a model is created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nearbayes.files.indices import check_tree
from nearbayes.files.refusal import FileRefused

__all__ = ["check_state"]

Node = dict[str, Any]
Plain = Callable[[Any], Any]
KEY_SIZE = 624  # numbers in the state of a Mersenne Twister
# Parts that the state of a compiled object has.
PARTS = {
    "sklearn.neighbors._ball_tree.BallTree": 13,
    "sklearn.neighbors._kd_tree.KDTree": 13,
    **{
        f"sklearn.metrics._dist_metrics.{name}Distance64": 3
        for name in ("Chebyshev", "Euclidean", "Manhattan", "Minkowski")
    },
}


def check_state(node: Node, plain: Plain) -> None:
    """Check one node of a skops schema, if it stands for a compiled object.

    Parameters
    ----------
    node : dict
    plain : callable
        The value of a node that holds plain values.

    Examples
    --------
    >>> metric = {"__module__": "sklearn.metrics._dist_metrics", "__class__": "EuclideanDistance64"}
    >>> check_state({**metric, "__loader__": "ObjectNode", "content": None}, dict)
    Traceback (most recent call last):
    nearbayes.files.refusal.FileRefused: the state of EuclideanDistance64 must have 3 parts.
    """
    loader = node.get("__loader__")
    if loader == "TreeNode":
        n_features, n_classes, n_outputs = plain(node["__reduce__"]["args"])
        check_tree(n_features, n_classes, n_outputs, plain(node["content"]))
    elif loader == "RandomStateNode":
        _check_random_state(plain(node["content"]))
    elif loader == "RandomGeneratorNode":
        # others read a buffer at any position in their state
        if plain(node["content"]["bit_generator"])["bit_generator"] != "PCG64":
            raise FileRefused("a generator of random numbers is not of NumPy's usual kind.")
    elif loader == "LossNode":
        _check_loss(node, plain)
    elif loader == "ObjectNode":
        n_parts = PARTS.get(f"{node.get('__module__')}.{node.get('__class__')}")
        if n_parts is not None and not _is_tuple(node.get("content"), n_parts):
            raise FileRefused(f"the state of {node['__class__']} must have {n_parts} parts.")


def _is_tuple(node: Any, n_parts: int) -> bool:
    return (
        isinstance(node, dict)
        and node.get("__loader__") == "TupleNode"
        and len(node["content"]) == n_parts
    )


def _check_random_state(state: Any) -> None:
    key, position = state["state"]["key"], state["state"]["pos"]
    right = (
        state["bit_generator"] == "MT19937"
        and isinstance(key, np.ndarray)
        and key.shape == (KEY_SIZE,)
        and type(position) is int
        and 0 <= position <= KEY_SIZE
    )
    if not right:
        raise FileRefused("a generator of random numbers has a state that none has.")


def _check_loss(node: Node, plain: Plain) -> None:
    args, state = plain(node["__reduce__"]["args"]), plain(node["content"])
    numbers = type(args) is tuple and all(isinstance(each, int | float) for each in args)
    if not numbers or state != {}:
        raise FileRefused(f"a loss of type {str(node.get('__class__'))[:40]} has an odd state.")
