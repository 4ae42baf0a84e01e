"""The protocol of stores: named bytes that are written atomically."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["InUseError", "Store", "StoreError"]


class InUseError(RuntimeError):
    """Another process uses the checkpoint."""


class StoreError(OSError):
    """The location of a checkpoint cannot be used: no permission, no space, no connection."""


class Store(Protocol):
    """Named bytes."""

    def held(self) -> Any:
        """Context in which no other process may write, if possible; raises `InUseError`."""

    def names(self) -> set[str]:
        """Names of all stored bytes."""

    def read(self, name: str) -> bytes | None:
        """Read the bytes with a name, if any."""

    def write(self, name: str, data: bytes) -> None:
        """Write bytes atomically."""

    def delete(self, name: str) -> None:
        """Delete the bytes with a name, if any."""

    def clear(self) -> None:
        """Delete everything."""
