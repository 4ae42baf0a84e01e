"""External: XGBoost's binned form of a table that is mapped from a file, itself in a file.

Neither the table nor its binned form, which is a few times smaller, has to fit into memory:
batches of rows are binned, and read back one after another in each round.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

__all__ = ["external_matrix"]

BATCH = 1 << 26  # bytes of a batch, before it is binned


def external_matrix(
    table: np.memmap[Any, Any], feature_types: Any, feature_weights: Any = None, **options: Any
) -> xgboost.ExtMemQuantileDMatrix:
    """Bin a table batch by batch, into files that are deleted with the matrix.

    Parameters
    ----------
    table : memory-mapped array of shape (n_rows, n_columns)
    feature_types, feature_weights
        As in XGBoost.
    **options
        Arguments of `xgboost.ExtMemQuantileDMatrix`.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = np.memmap(Path(folder) / "rows", np.float64, "w+", shape=(30, 2))
    ...     matrix = external_matrix(rows, None, nthread=1)
    >>> matrix.num_row(), matrix.num_col()
    (30, 2)
    """
    folder = tempfile.mkdtemp(prefix="nearbayes-binned-")
    try:
        batches = _Batches(table, feature_types, str(Path(folder) / "binned"))
        matrix = xgboost.ExtMemQuantileDMatrix(batches, **options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(matrix, shutil.rmtree, folder, ignore_errors=True)
    if feature_weights is not None:
        matrix.set_info(feature_weights=feature_weights)
    return matrix


class _Batches(xgboost.DataIter):
    """Batches of rows of a table."""

    def __init__(self, table: NDArray[Any], feature_types: Any, cache: str) -> None:
        self._table, self._feature_types, self._at = table, feature_types, 0
        row = max(1, table.dtype.itemsize * int(np.prod(table.shape[1:])))
        self._size = max(1, BATCH // row)
        super().__init__(cache_prefix=cache)

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Pass on the next rows, if there are any."""
        rows = np.asarray(self._table[self._at : self._at + self._size])
        if not len(rows):
            return False
        input_data(data=rows, feature_types=self._feature_types)
        self._at += len(rows)
        return True

    def reset(self) -> None:
        """Start again."""
        self._at = 0
