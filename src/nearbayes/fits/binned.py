"""Binned: the binned form of a table in a boosting library, made once and kept for all refits.

With urn inputs every refit of a draw has the same input rows; only labels and weights change
(`targets.py`). So the expensive step, the binning, is done once per draw, or once for all draws
that share a process.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from nearbayes.core.data import Data
from nearbayes.tables.table import Table, n_rows

__all__ = ["Binned", "refit_bins"]

FEWEST_BINS, ROWS_PER_BIN = 64, 32


def refit_bins(data: Data, usual: int) -> int | None:
    """Number of bins per column for a refit, if the user did not set it.

    With few rows, most of the time of a fit is spent on nearly empty bins, and draws predict as
    well without them (`docs/design.md`). Returns None, the library's default, for the first fit,
    and if there are enough rows.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> real = Data.of(np.zeros((4_000, 1)), np.zeros(4_000))
    >>> refit_bins(real, usual=256) is None, refit_bins(replace(real, real=real), usual=256)
    (True, 125)
    """
    bins = max(FEWEST_BINS, n_rows(data.table) // ROWS_PER_BIN)
    return None if data.real is None or bins >= usual else bins


class Binned:
    """Cache of the last binned table, one per thread and not pickled.

    Labels are written into the binned form before each fit, so threads must not share one.
    Pickling clears the cache, because the work then continues elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> table, binned = np.zeros((3, 1)), Binned()
    >>> first = binned.of(table, 64, build=lambda rows, bins: object())
    >>> binned.of(table, 64, build=lambda rows, bins: object()) is first
    True
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def of(self, table: Table, bins: int | None, build: Callable[[Table, int | None], Any]) -> Any:
        """Return the binned form of `table`, cached if the last call was for the same object."""
        kept = getattr(self._local, "kept", None)
        if kept is None or kept[0]() is not table or kept[1] != bins:
            kept = (weakref.ref(table), bins, build(table, bins))
            self._local.kept = kept
        return kept[2]

    def __reduce__(self) -> tuple[type[Binned], tuple[()]]:
        self._local.kept = None
        return (Binned, ())
