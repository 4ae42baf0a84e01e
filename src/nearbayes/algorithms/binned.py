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

from nearbayes.core.tables import Table

__all__ = ["Binned"]


class Binned:
    """The binned form of the table seen last; apart for every thread, and left out of pickles.

    Labels are written into the binned form before each fit, so threads must not share one.

    Examples
    --------
    >>> import numpy as np
    >>> table, binned = np.zeros((3, 1)), Binned()
    >>> first = binned.of(table, build=lambda rows: object())
    >>> binned.of(table, build=lambda rows: object()) is first
    True
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def of(self, table: Table, build: Callable[[Table], Any]) -> Any:
        """Give the binned form of `table`: that of the last call if it was for this very table."""
        kept = getattr(self._local, "kept", None)
        if kept is None or kept[0]() is not table:
            kept = (weakref.ref(table), build(table))
            self._local.kept = kept
        return kept[1]

    def __reduce__(self) -> tuple[type[Binned], tuple[()]]:
        return (Binned, ())
