"""Variables: columns of the data as nodes of a graph, and their values as numbers.

Rows are arrays of shape (n_rows, n_nodes) in the order of the graph's nodes. Categories are stored
as codes 0, 1, ....
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray

from nearbayes.causal.graph import CausalGraph

__all__ = ["Kind", "Variable", "frame_of", "read_rows", "variables_of"]

Array = NDArray[np.float64]
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are evenly spread for any number of them
Kind = Literal["number", "integer", "category"]
NUMBERS: tuple[type, ...] = (Real, Decimal)


@dataclass(frozen=True)
class Variable:
    """One column.

    Attributes
    ----------
    name : str
    kind : "number", "integer" or "category"
    categories : tuple
        Values of the codes; empty for numbers.
    mean, sd : float
        Of the real rows, to standardise numbers.
    low, high : float
        Smallest and largest value of the real rows.
    dtype : object
        Type of the column, which results also have.

    Examples
    --------
    >>> colour = Variable("colour", "category", ("blue", "red"))
    >>> colour.codes(["red", "blue"], "rows").tolist(), colour.width
    ([1.0, 0.0], 2)
    """

    name: str
    kind: Kind = "number"
    categories: tuple[Any, ...] = ()
    mean: float = 0.0
    sd: float = 1.0
    low: float = -np.inf
    high: float = np.inf
    dtype: Any = float

    @property
    def width(self) -> int:
        """Number of network inputs for this column as a parent."""
        return max(1, len(self.categories))

    def codes(self, values: ArrayLike, what: str) -> Array:
        """Values as numbers; reject unknown categories and values that are not numbers."""
        if self.kind != "category":
            try:
                found = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError):
                raise TypeError(
                    f"{what} must have numbers for {self.name!r}, got {np.asarray(values)!r:.60}."
                ) from None
            if not np.isfinite(found).all():
                raise ValueError(
                    f"{what} has NaN or infinity in {self.name!r}: drop those rows or fill them in."
                )
            return found
        known = {value: code for code, value in enumerate(self.categories)}
        flat = np.asarray(values, dtype=object).ravel()
        unknown = [value for value in flat if value not in known]
        if unknown:
            raise ValueError(
                f"{what} has {unknown[0]!r} for {self.name!r}, whose values are "
                f"{', '.join(map(repr, self.categories))}."
            )
        return np.array([known[value] for value in flat], dtype=np.float64).reshape(
            np.shape(values)
        )

    def standard(self, codes: Array) -> Array:
        """Numbers in standard units."""
        return (codes - self.mean) / self.sd

    def unstandard(self, values: Array) -> Array:
        """Numbers in the user's units; integers are rounded."""
        found = self.mean + self.sd * np.asarray(values, dtype=np.float64)
        return self.whole(found) if self.kind == "integer" else found

    def whole(self, values: Array) -> Array:
        """The nearest integers in the range of the data."""
        return np.asarray(np.clip(np.rint(values), self.low, self.high))

    def spread(self, codes: Array) -> Array:
        """Numbers for learning: integers spread evenly over the numbers that round to them.

        Rounded samples of a model learned from them are then integers with the right mean. The
        spread depends on the position of a row, so it adds no randomness.
        """
        if self.kind != "integer":
            return codes
        share = np.modf(np.arange(codes.shape[-1]) * GOLDEN)[0]
        return np.asarray(codes + share - 0.5)

    def inputs(self, codes: Array) -> Array:
        """Network inputs for this column as a parent, shape (..., width)."""
        if self.kind == "category":
            return np.eye(self.width)[codes.astype(np.intp)]
        return self.standard(codes)[..., None]

    def restored(self, codes: Array) -> NDArray[Any]:
        """Values in the user's form."""
        if self.kind == "category":
            return np.asarray(self.categories)[codes.astype(np.intp)]
        return _as_integers(np.rint(codes), self.dtype) if self.kind == "integer" else codes

    def changeable(self, codes: Array) -> NDArray[Any]:
        """Values for a user's function: a copy, with integers in a wide type."""
        values = self.restored(codes)
        small = self.kind == "integer" and values.dtype.kind in "iu"
        return np.array(values, dtype=np.int64 if small else None)


def _as_integers(whole: Array, dtype: Any) -> NDArray[Any]:
    """Whole numbers in the type of their column, or in a wider type if needed."""
    for kind in (dtype, np.int64):
        limits = np.iinfo(kind)
        if not whole.size or (limits.min <= whole.min() and whole.max() < float(limits.max) + 1):
            return whole.astype(kind)
    return whole


def variables_of(frame: Any, graph: CausalGraph) -> dict[str, Variable]:
    """Determine the kind of column of every node, and its units.

    Parameters
    ----------
    frame : data frame of pandas, polars or another library, or mapping of arrays
    graph : CausalGraph
    """
    if "draw" in graph.parents:
        raise ValueError("graph has the node 'draw', the name of the column of draws: rename it.")
    columns = _columns(frame, graph, "data")
    n = len(next(iter(columns.values())))
    if n < 2:
        raise ValueError(f"data must have at least 2 rows, got {n}.")
    return {name: _variable(name, columns[name]) for name in graph.nodes}


def read_rows(
    frame: Any, graph: CausalGraph, variables: Mapping[str, Variable], what: str = "data"
) -> Array:
    """Rows as numbers, shape (n_rows, n_nodes)."""
    columns = _columns(frame, graph, what)
    if not len(columns[graph.nodes[0]]):
        raise ValueError(f"{what} must have at least 1 row, got 0.")
    return np.column_stack([variables[name].codes(columns[name], what) for name in graph.nodes])


def frame_of(rows: Array, graph: CausalGraph, variables: Mapping[str, Variable]) -> Any:
    """Rows, shape (n_rows, n_nodes), as a pandas data frame like the data."""
    import pandas as pd

    return pd.DataFrame(
        {name: variables[name].restored(rows[:, k]) for k, name in enumerate(graph.nodes)}
    )


def _columns(frame: Any, graph: CausalGraph, what: str) -> dict[str, NDArray[Any]]:
    """Columns of the nodes as arrays."""
    if isinstance(frame, Mapping):
        given = {str(name): _numbers_if_all(np.asarray(values)) for name, values in frame.items()}
    else:
        try:
            table = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise TypeError(
                f"{what} must be a data frame or a mapping of columns, got "
                f"{type(frame).__name__}: columns need the names of the nodes."
            ) from None
        except DuplicateError as error:
            said = " ".join(str(error).split())
            raise ValueError(
                f"{what} has columns of the same name: rename them ({said})."
            ) from None
        names = list(table.columns)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"{what} must have columns named by text, got {names[0]!r}: rename them."
            )
        given = {name: _values(table[name]) for name in names}
    missing = [name for name in graph.nodes if name not in given]
    if missing:
        raise ValueError(
            f"{what} has no column {missing[0]!r}, which is a node of the graph; its columns are "
            f"{', '.join(map(repr, given))}."
        )
    found = {name: given[name] for name in graph.nodes}
    for name, values in found.items():
        if values.ndim != 1:
            raise ValueError(
                f"{what} must have one value per row in {name!r}, got shape {values.shape}."
            )
    lengths = {len(values) for values in found.values()}
    if len(lengths) > 1:
        raise ValueError(f"{what} has columns of different lengths: {sorted(lengths)}.")
    return found


def _values(series: Any) -> NDArray[Any]:
    """Values of a column; categories, text and booleans become objects."""
    if isinstance(series.dtype, nw.Categorical | nw.Enum | nw.String | nw.Boolean):
        return np.array(series.to_list(), dtype=object)
    if isinstance(series.dtype, nw.Object | nw.Decimal):
        return _numbers_if_all(np.array(series.to_list(), dtype=object))
    return np.asarray(series.to_numpy())


def _numbers_if_all(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as numbers if they all are numbers, such as the decimals of a database."""
    if values.dtype != object:
        return values
    flat: list[Any] = values.ravel().tolist()
    is_number = [isinstance(e, NUMBERS) and not isinstance(e, bool) for e in flat]
    return values.astype(np.float64) if is_number and all(is_number) else values


def _variable(name: str, values: NDArray[Any]) -> Variable:
    """A column of the data as a node."""
    if values.dtype.kind in "iuf":
        return _number(name, values)
    if values.dtype.kind not in "bOUS":
        raise TypeError(
            f"data has the type {values.dtype} in {name!r}: convert it to numbers or text."
        )
    if any(_is_missing(each) for each in values):
        raise ValueError(
            f"data has missing values in {name!r}: drop those rows, or give missing values a name."
        )
    seen = {each.item() if hasattr(each, "item") else each for each in values}
    if len({type(each) for each in seen}) > 1:
        raise TypeError(
            f"data has values of different types in {name!r}: convert all of them to text."
        )
    categories = tuple(sorted(seen))
    if len(categories) == 1:
        raise ValueError(_constant(name))
    return Variable(name, "category", categories, dtype=values.dtype)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _number(name: str, values: NDArray[Any]) -> Variable:
    if not np.isfinite(values).all():
        raise ValueError(f"data has NaN or infinity in {name!r}: drop those rows or fill them in.")
    with np.errstate(over="ignore"):
        mean, sd = float(np.mean(values)), float(np.std(values))
    if sd <= 1e-12 * abs(mean):
        raise ValueError(_constant(name))
    if not np.isfinite(sd):
        raise ValueError(f"data has values of extreme size in {name!r}: use other units.")
    kind: Kind = "integer" if values.dtype.kind in "iu" else "number"
    return Variable(
        name, kind, (), mean, sd, float(values.min()), float(values.max()), values.dtype
    )


def _constant(name: str) -> str:
    return (
        f"data has only one value in {name!r}: a constant is neither cause nor effect, so leave it "
        "out of the graph."
    )
