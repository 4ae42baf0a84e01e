"""Shapes: rows are padded to few sizes, because a program is compiled for every shape."""

from __future__ import annotations

__all__ = ["padded_size"]


def padded_size(n_rows: int, smallest: int = 32) -> int:
    """The next of a few sizes: a power of two times `smallest`, or one and a half times that.

    At most half as many rows again are computed.

    Examples
    --------
    >>> [padded_size(n) for n in (1, 33, 49, 100, 2000)]
    [32, 48, 64, 128, 2048]
    """
    size = smallest
    while size < n_rows:
        if n_rows <= size * 3 // 2:
            return size * 3 // 2
        size *= 2
    return size
