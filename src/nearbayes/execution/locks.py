"""File locks, which the system releases when their process ends for any reason."""

from __future__ import annotations

from typing import IO, Any

__all__ = ["CAN_LOCK", "locked"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
CAN_LOCK = fcntl is not None


def locked(file: IO[Any]) -> bool:
    """Lock an open file for this process, if it is not locked; False if there are no locks.

    Examples
    --------
    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     locked(file) or not CAN_LOCK
    True
    """
    if not CAN_LOCK:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
