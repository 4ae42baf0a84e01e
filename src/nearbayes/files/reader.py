"""Reader: the members of one file, within a budget of memory.

A small file can reference the same member a million times, or declare a width that makes short
labels long. So everything created from a file is charged to one budget before it is created.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from nearbayes.files.container import MEGABYTE
from nearbayes.files.refusal import FileRefused

__all__ = ["VARIABLE", "Reader", "megabytes_allowed"]

VARIABLE = "NEARBAYES_MAX_MEGABYTES"
MOST_MEGABYTES = 1_000.0
LEAST_CHARGE = 4_000  # bytes: a member costs time and Python objects, even if it is small


def megabytes_allowed(given: float | None = None) -> float:
    """The limit for a file: the argument, else the environment variable, else 1,000 MB.

    Examples
    --------
    >>> megabytes_allowed(20)
    20.0
    """
    text = os.environ.get(VARIABLE) if given is None else None
    if text is None:
        return MOST_MEGABYTES if given is None else float(given)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number > 0:
        raise ValueError(f"{VARIABLE} must be a number of megabytes above 0, got {text!r}.")
    return number


class Reader:
    r"""Reads members of a file, and counts the memory of the created objects.

    Parameters
    ----------
    read : callable
        Bytes of a member by name.
    max_megabytes : float, optional
        Limit for everything together; see `megabytes_allowed`.
    on_disk : bool
        Whether models of draws stay in the file until they are needed.

    Attributes
    ----------
    arrays : dict
        Shared arrays, by name.
    models : dict
        Models made so far, by their record: equal records become one object.

    Examples
    --------
    >>> reader = Reader({"a": bytes(3)}.__getitem__, max_megabytes=1)
    >>> reader("a")
    b'\x00\x00\x00'
    >>> reader.charge(2_000_000, "labels")
    Traceback (most recent call last):
    nearbayes.files.refusal.FileRefused: labels would take more than max_megabytes=1: increase it
    if you trust the file.
    """

    def __init__(
        self,
        read: Callable[[str], bytes],
        max_megabytes: float | None = None,
        on_disk: bool = False,
    ) -> None:
        self._read, self.on_disk = read, on_disk
        self.max_megabytes = megabytes_allowed(max_megabytes)
        self._left = self.max_megabytes * MEGABYTE
        self.arrays: dict[str, NDArray[Any]] = {}
        self.models: dict[str, Any] = {}

    def __call__(self, name: str, factor: float = 1.0) -> bytes:
        """Read a member; a parser needs `factor` bytes for each of its bytes while it runs."""
        self.charge(LEAST_CHARGE, "its members")
        data = self._read(name)
        self.check(factor * len(data), "a model")
        self.charge(len(data), "its members")
        return data

    def for_one_draw(self) -> Reader:
        """A reader with its own budget and no cache."""
        return Reader(self._read, self.max_megabytes)

    def charge(self, n_bytes: float, what: str) -> None:
        """Refuse more than the rest of the budget; otherwise subtract it."""
        self._left -= n_bytes
        if self._left < 0:
            raise self._refusal(what)

    def check(self, n_bytes: float, what: str) -> None:
        """Refuse temporary memory above the whole budget."""
        if not n_bytes <= self.max_megabytes * MEGABYTE:
            raise self._refusal(what)

    def _refusal(self, what: str) -> FileRefused:
        return FileRefused(
            f"{what} would take more than max_megabytes={self.max_megabytes:g}: increase it if you "
            "trust the file."
        )
