"""Interventions: changes of nodes, checked once and converted to functions of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.variables import Variable

__all__ = ["Changes", "Held", "changes_of"]

Array = NDArray[np.float64]
Changes = Mapping[str, Callable[[Array], Array]]


@dataclass(frozen=True)
class Held:
    """A node is set to a number or code, independent of its original values."""

    code: float

    def __call__(self, values: Array) -> Array:
        """The same value for all rows."""
        return np.full(values.shape, self.code)


def changes_of(
    do: Mapping[str, Any] | None, graph: CausalGraph, variables: Mapping[str, Variable]
) -> Changes:
    """Functions that change the values that each node would have had.

    Parameters
    ----------
    do : mapping of str to value or callable, optional
        A value sets the node. A function of the values that the node would have had changes them
        (a soft intervention).
    graph : CausalGraph
    variables : mapping of str to Variable

    Examples
    --------
    >>> graph = CausalGraph.of([("a", "b")])
    >>> changes = changes_of({"a": 2, "b": lambda b: b + 1}, graph, {n: Variable(n) for n in "ab"})
    >>> [changes[node](np.zeros(2)).tolist() for node in "ab"]
    [[2.0, 2.0], [1.0, 1.0]]
    """
    if do is None:
        return {}
    if not isinstance(do, Mapping):
        raise TypeError(
            f"do must map nodes to values or functions, as in {{'x': 0.3}}, got {do!r:.60}."
        )
    found: dict[str, Callable[[Array], Array]] = {}
    for node, value in do.items():
        graph.check_node(node, "a node of do")
        variable = variables[node]
        found[node] = (
            partial(_changed, variable, value) if callable(value) else _set(variable, value)
        )
    return found


def _set(variable: Variable, value: Any) -> Held:
    """One value, checked."""
    if np.ndim(value) != 0:
        raise TypeError(
            f"do must have one value for {variable.name!r}, got {value!r:.60}: to change values "
            "row by row, use a function of them."
        )
    if variable.kind != "category" and isinstance(value, str | bytes):
        raise TypeError(f"do must have a number for {variable.name!r}, got {value!r}.")
    if variable.kind != "category" and isinstance(value, Real) and not np.isfinite(float(value)):
        raise ValueError(f"do must have a finite number for {variable.name!r}, got {value!r}.")
    if variable.kind == "integer" and isinstance(value, Real) and float(value) % 1:
        raise ValueError(
            f"do must have a whole number for {variable.name!r}, as the data do, got {value!r}: to "
            "allow fractions, fit to a column of floats."
        )
    return Held(float(variable.codes([value], "do")[0]))


def _changed(variable: Variable, function: Callable[[Any], Any], values: Array) -> Array:
    """Values changed by the user's function, shape (n_draws, n_rows)."""
    found = np.asarray(function(variable.changeable(values)))
    if found.ndim == 0:
        found = np.full(values.shape, found[()])
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise ValueError(
            f"the function of do for {variable.name!r} must return finite numbers, got NaN or "
            "infinity for some values."
        )
    if found.shape != values.shape:
        raise ValueError(
            f"the function of do for {variable.name!r} must return one value for each it is given, "
            f"shape {values.shape}, got {found.shape}."
        )
    return variable.codes(found, "do")
