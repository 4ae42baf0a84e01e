"""Input rows: what the steps of a block read, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data, Rows, RowsOfDraws
from nearbayes.core.protocols import Rng
from nearbayes.tables.table import Table, numeric_values

__all__ = ["PIECE", "arrays_of", "inputs_of_piece", "shuffled", "values_of"]

Array = NDArray[np.float64]
PIECE = 1_024  # rows of a block in one program


def arrays_of(data: Data) -> tuple[Array, Array]:
    """Inputs (n_rows, n_columns) and outcomes as floats; no columns if there are no inputs."""
    table = None if data.table is None else data.x
    return values_of(table, len(data.y)), np.asarray(data.y, dtype=np.float64)


def values_of(table: Table | None, n_rows: int) -> Array:
    """A table as floats, shape (n_rows, n_columns); no columns if there is none."""
    if table is None:
        return np.zeros((n_rows, 0))
    try:
        return numeric_values(table, "GradientMartingale")
    except TypeError as error:
        said = str(error).split(":")[0]  # without its advice, which is not for this family
        raise TypeError(
            f"X must be a dense table of numbers, as {said}: encode text as numbers, and make "
            "sparse X dense."
        ) from None


def shuffled(x: Sequence[Rows], rng: Rng) -> NDArray[np.integer[Any]] | None:
    """The input row of each draw at each step; rows of a block are in random order.

    Rows of a single draw come sorted from an urn, and the first steps are the largest.
    """
    if isinstance(x, RowsOfDraws):
        return x.positions
    if x[0].table is None:
        return None
    return rng.permuted(np.stack([rows.positions for rows in x]), axis=1)


def inputs_of_piece(
    x: Sequence[Rows], places: NDArray[np.integer[Any]] | None, piece: slice
) -> tuple[Array, NDArray[np.int32]]:
    """A table of input rows, and the row of each draw at each step of a piece."""
    index = np.zeros((PIECE, len(x)), dtype=np.int32)
    if places is None:
        return np.zeros((1, 0)), index
    chosen = places[:, piece]
    taken = chosen.shape[1]
    if isinstance(x, RowsOfDraws) or all(rows.table is x[0].table for rows in x):
        index[:taken] = chosen.T
        return values_of(x[0].table, 0), index
    tables = [values_of(rows.table, 0)[each] for rows, each in zip(x, chosen, strict=True)]
    stacked = np.zeros((len(x) * PIECE, tables[0].shape[1]))
    index[:taken] = np.arange(len(x)) * PIECE + np.arange(taken)[:, None]
    stacked[index[:taken].T.ravel()] = np.concatenate(tables)
    return stacked, index
