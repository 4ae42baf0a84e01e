"""Atomic: a file is written completely or not at all, by one writer at a time.

A full disk, a signal or an error during writing does not change the old file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from nearbayes.execution.locks import CAN_LOCK, locked

__all__ = ["replacing"]

PATIENCE = 5.0  # seconds to wait for another writer of the same file


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` at the end.

    If the block raises an error, or removes its file, `path` is not changed. Anything that is not a
    file, such as a pipe, is written to directly. Links are followed. A second writer of the same
    file, in this or another process, waits for some seconds and then gets an `OSError`.

    Parameters
    ----------
    path : path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "a.txt"
    ...     with replacing(place) as draft:
    ...         _ = draft.write_text("whole")
    ...     place.read_text(), len(list(place.parent.iterdir()))
    ('whole', 1)
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        yield place
        return
    with _draft_of(place) as draft:
        try:
            yield draft
            if draft.exists():
                _settle(draft, place)
        finally:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _draft_of(place: Path) -> Iterator[Path]:
    """A path for one writer, with the suffix of the file, which determines the format."""
    if not CAN_LOCK:
        yield place.with_name(f".{secrets.token_hex(4)}.{place.name}")
        return
    # one name for all writers, so that leftovers of a killed process are overwritten
    draft, until = place.with_name(f".writing.{place.name}"), time.monotonic() + PATIENCE
    while True:
        with draft.open("ab") as file:
            if locked(file) and _is_at(file, draft):
                yield draft
                return
        if time.monotonic() > until:
            raise BlockingIOError(errno.EAGAIN, "another process is writing this file", str(place))
        time.sleep(0.05)


def _is_at(file: IO[Any], path: Path) -> bool:
    """Whether an open file is still the one at its path: another writer may have moved it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _settle(draft: Path, place: Path) -> None:
    with draft.open("rb+") as stream:
        os.fsync(stream.fileno())
    if place.exists():
        shutil.copymode(place, draft)
    os.replace(draft, place)
