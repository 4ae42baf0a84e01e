"""Deadline: when work should end; finished work is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["end_by", "moment_to_end"]

_moment: ContextVar[float | None] = ContextVar("moment_to_end", default=None)


def moment_to_end() -> float | None:
    """When work should end, in the time of `time.monotonic`; None for no limit."""
    return _moment.get()


@contextmanager
def end_by(seconds: float | None) -> Iterator[None]:
    """Context in which no new task starts after the given seconds, once two are finished.

    Parameters
    ----------
    seconds : float or None
        From now; None for no limit, even inside another limit.

    Examples
    --------
    >>> with end_by(60):
    ...     moment_to_end() is None
    False
    """
    limited = seconds is not None and seconds < float("inf")
    token = _moment.set(time.monotonic() + seconds if limited else None)  # type: ignore[operator]
    try:
        yield
    finally:
        _moment.reset(token)
