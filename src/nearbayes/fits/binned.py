"""Binned: a table in the binned form of a boosting library, made once and kept for all refits.

With urn inputs every refit of a draw has the same input rows; only labels and weights change
(`targets.py`). So the costly part of a boosted tree's data, the bins, is made once per draw, or
once for all draws that share a process.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from nearbayes.core.data import Data
from nearbayes.core.tables import Table, n_rows

__all__ = ["Binned", "refit_bins"]

FEWEST_BINS, ROWS_PER_BIN = 64, 32


def refit_bins(data: Data, usual: int) -> int | None:
    """Bins per column of a refit, where the user has not said: no more than rows can fill.

    With few rows most of the time of a fit goes into nearly empty bins, and draws predict as well
    without them (`docs/design.md`). The first fit, to real rows, is the user's very own: None, as
    where the usual number is right.

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
    """The binned form of the table seen last; apart for every thread, and left out of pickles.

    Labels are written into the binned form before each fit, so threads must not share one.

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
        """Give the binned form of `table`: that of the last call if it was for the very same."""
        kept = getattr(self._local, "kept", None)
        if kept is None or kept[0]() is not table or kept[1] != bins:
            kept = (weakref.ref(table), bins, build(table, bins))
            self._local.kept = kept
        return kept[2]

    def __reduce__(self) -> tuple[type[Binned], tuple[()]]:
        return (Binned, ())
