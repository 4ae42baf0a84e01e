"""The protocol of stores: named bytes that are there whole or not at all."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["InUseError", "Store", "StoreError"]


class InUseError(RuntimeError):
    """Another process uses the checkpoint."""


class StoreError(OSError):
    """The place of a checkpoint cannot be used: no permission, no room, no connection."""


class Store(Protocol):
    """Named bytes."""

    def held(self) -> Any:
        """Context in which nobody else may write, where that can be had; raises `InUseError`."""

    def names(self) -> set[str]:
        """Names of all that is there."""

    def read(self, name: str) -> bytes | None:
        """What is there under a name, if anything."""

    def write(self, name: str, data: bytes) -> None:
        """Put bytes there, whole or not at all."""

    def delete(self, name: str) -> None:
        """Delete what is there under a name, if anything."""

    def clear(self) -> None:
        """Delete everything."""
