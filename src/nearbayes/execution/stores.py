"""Stores: where files of a checkpoint are, a folder or a bucket of an object store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nearbayes.execution.folder_store import FolderStore
from nearbayes.execution.object_store import ObjectStore
from nearbayes.execution.store_protocol import InUseError, Store, StoreError

__all__ = [
    "FolderStore",
    "InUseError",
    "ObjectStore",
    "Store",
    "StoreError",
    "check_place",
    "store_of",
    "within",
]


def store_of(place: Any) -> Store:
    """The store at a path, or at an address such as s3://bucket/prefix."""
    check_place(place)
    if isinstance(place, str) and "://" in place:
        return ObjectStore(place)
    return FolderStore(Path(place))


def check_place(place: Any) -> None:
    """Reject anything that is not a folder or an address.

    Examples
    --------
    >>> check_place("s3:/bucket/run")
    Traceback (most recent call last):
    ValueError: checkpoint must be a folder or an address such as 's3://bucket/prefix', got ...
    """
    wanted = "checkpoint must be a folder or an address such as 's3://bucket/prefix'"
    if not isinstance(place, str | os.PathLike):
        raise TypeError(f"{wanted}, got {place!r}.")
    text = os.fspath(place)
    scheme, _, rest = text.partition("://")
    lacks_bucket = rest == "" or rest.startswith("/")
    if text == "" or (text.startswith("s3:") and (scheme != "s3" or lacks_bucket)):
        raise ValueError(f"{wanted}, got {place!r}.")


def within(place: Any, name: str) -> Any:
    """A place within a place.

    Examples
    --------
    >>> within("s3://bucket/run", "draws"), str(within("run", "draws")), within(None, "draws")
    ('s3://bucket/run/draws', 'run/draws', None)
    """
    if place is None:
        return None
    check_place(place)
    if isinstance(place, str) and "://" in place:
        return f"{place.rstrip('/')}/{name}"
    return Path(place) / name
