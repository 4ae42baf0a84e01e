"""Freed memory: return it to the system, because the C library would keep it for later.

After large arrays are freed, glibc keeps most of their memory. With several processes that adds
up: a worker with a million rows then holds a third more than it uses.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

__all__ = ["give_back", "keep_no_large_blocks"]

LARGE = 4 << 20  # bytes: smaller blocks are requested too often
MMAP_THRESHOLD = -3  # the number of this option of `mallopt`


def give_back() -> None:
    """Return free memory to the system; does nothing if the C library is not glibc.

    Examples
    --------
    >>> give_back()
    """
    if (library := _glibc()) is not None:
        library.malloc_trim(0)


def keep_no_large_blocks() -> None:
    """From now on, return large blocks to the system as soon as they are free."""
    if (library := _glibc()) is not None:
        library.mallopt(MMAP_THRESHOLD, LARGE)


@cache
def _glibc() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
