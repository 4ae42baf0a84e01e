"""Node columns: columns of a data file as the nodes of a causal graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.variables import Variable
from nearbayes.cli.cells import as_numbers, holds_words, is_missing
from nearbayes.cli.column_kinds import MOST_LEVELS, MOSTLY, listed
from nearbayes.cli.date_styles import find_date_style
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import label

__all__ = ["new_rows", "nodes_of", "treated"]

MOST_SHOWN = 5  # categories in the table of columns


def nodes_of(
    frame: pd.DataFrame,
    graph: CausalGraph,
    categories: Collection[str] = (),
    drop_missing: bool = False,
) -> pd.DataFrame:
    """Columns of the nodes as numbers and categories, without missing values.

    Parameters
    ----------
    frame : DataFrame
        As `read_table` gives it.
    graph : CausalGraph
    categories : collection of str
        Columns of numbers that stand for categories. Two whole numbers, such as 0 and 1, always do.
    drop_missing : bool
        Whether to leave out rows with missing values, which are refused otherwise.
    """
    _check_columns(frame, graph.nodes)
    unknown = [name for name in categories if name not in graph.parents]
    if unknown:
        raise UsageError(
            f"--category must be a node of --graph, one of {listed(graph.nodes)}, got "
            f"{unknown[0]!r}."
        )
    cells = frame[list(graph.nodes)]
    missing = cells.apply(lambda values: is_missing(values, holds_words(values)))
    if missing.to_numpy().any() and not drop_missing:
        name = str(missing.any().idxmax())
        raise UsageError(
            f"column {name!r} has {int(missing[name].sum())} missing values in {len(frame)} rows: "
            "fill them in, or leave out such rows with --drop-missing."
        )
    kept = cells[~missing.any(axis=1)]
    read = {name: _node(name, kept[name], name in categories) for name in graph.nodes}
    return pd.DataFrame(read, index=kept.index)


def new_rows(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """Rows of a later file with the types that a model knows; all nodes are needed."""
    _check_columns(frame, list(variables))
    return pd.DataFrame({name: _again(frame[name], each) for name, each in variables.items()})


def treated(graph: CausalGraph, variables: Mapping[str, Variable]) -> dict[str, list[Any]]:
    """Columns of a table that shows how each node is read."""
    return {
        "node": list(graph.nodes),
        "read as": [_kind(variables[node]) for node in graph.nodes],
        "values": [_range(variables[node]) for node in graph.nodes],
        "causes": [", ".join(graph.parents[node]) for node in graph.nodes],
    }


def _kind(variable: Variable) -> str:
    return "whole number" if variable.kind == "integer" else variable.kind


def _range(variable: Variable) -> str:
    if variable.kind != "category":
        return f"{variable.low:.4g} to {variable.high:.4g}"
    shown = ", ".join(str(each)[:30] for each in variable.categories[:MOST_SHOWN])
    more = len(variable.categories) - MOST_SHOWN
    return f"{shown}, {more} more" if more > 0 else shown


def _check_columns(frame: pd.DataFrame, nodes: Collection[str]) -> None:
    lacking = [name for name in nodes if name not in frame.columns]
    if lacking:
        raise UsageError(
            f"the file has no column {lacking[0]!r}, which is a node of the graph; its columns are "
            f"{listed(frame.columns)}."
        )


def _node(name: str, values: pd.Series, is_category: bool) -> pd.Series:
    """A column without missing values as numbers, or as categories."""
    numbers = as_numbers(values)
    bad = numbers.isna()
    if is_category or _are_two_codes(numbers):
        return _categories(name, values)
    if not bad.any():
        return numbers  # counts too: a mean must not be rounded
    if bad.mean() <= 1 - MOSTLY:
        raise UsageError(
            f"column {name!r} holds numbers, but {str(values[bad].iloc[0])[:30]!r} in row "
            f"{values.index[bad][0] + 1}: correct the cell, or read all as categories with "
            f"--category {name}."
        )
    return _categories(name, values)


def _are_two_codes(numbers: pd.Series) -> bool:
    """Whether there are two numbers, both whole, which stand for yes and no."""
    found = numbers.unique()
    return len(found) == 2 and not np.isnan(found).any() and bool((found == np.rint(found)).all())


def _categories(name: str, values: pd.Series) -> pd.Series:
    if values.dtype.kind == "M" or find_date_style(values) is not None:
        raise UsageError(
            f"column {name!r} holds dates, which cannot be nodes: make numbers of them, such as "
            "days, or leave it out of --graph."
        )
    found = values.map(label).astype(object)
    most = min(MOST_LEVELS, len(found) // 2)
    if found.nunique() > max(2, most):
        raise UsageError(
            f"column {name!r} holds {found.nunique()} different texts in {len(found)} rows: group "
            f"them into at most {most} categories, or leave it out of --graph."
        )
    return found


def _again(values: pd.Series, variable: Variable) -> pd.Series:
    missing = is_missing(values, of_words=variable.kind == "category")
    if missing.any():
        raise UsageError(
            f"column {variable.name!r} has a missing value in row {int(missing.argmax()) + 1}: "
            "fill it in, or leave out the row."
        )
    if variable.kind == "category":
        known = {label(value): value for value in variable.categories}
        found = values.map(label).map(known)
        wrong, wanted = found.isna(), listed(list(known))
    else:
        found = as_numbers(values)
        wrong, wanted = found.isna(), "a number"
    if wrong.any():
        raise UsageError(
            f"column {variable.name!r} has {str(values[wrong].iloc[0])[:30]!r} in row "
            f"{int(wrong.argmax()) + 1}, but must have {wanted}."
        )
    return found
