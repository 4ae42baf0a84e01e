"""Lease: one process at a time, in an object store that has no locks.

The holder writes an object and renews it. Another process that finds it waits: a renewed lease is
in use; a lease that is not renewed, or whose process is known to be dead, is taken over. All
changes are conditional writes, so that only one of several simultaneous attempts succeeds. A holder
that sleeps longer than the lease may find it taken when it wakes; both processes then write the
same draws under the same names, which only costs time.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from nearbayes.execution.store_protocol import InUseError
from nearbayes.telling import warn

__all__ = ["Lease"]

RENEWED_EVERY = 10.0  # seconds
LASTS = 45.0  # seconds without renewal after which the holder counts as dead
LOOKS_EVERY = 1.0  # seconds


class Lease:
    """A lease on a name in an object store.

    Parameters
    ----------
    library : module
        obstore.
    objects : obstore store
    name : str
        Name of the object.
    address : str
        Address of the lease, for messages.
    """

    def __init__(self, library: Any, objects: Any, name: str, address: str) -> None:
        self._library, self._objects = library, objects
        self._name, self._address = name, address
        self._token, self._renewals = uuid.uuid4().hex, 0
        self._version: Any = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True, name="lease")

    def take(self) -> None:
        """Take the lease, wait for one that may be stale, or raise `InUseError`."""
        seen, since = None, time.monotonic()
        while not self._written("create"):
            found = self._found()
            if found is None:
                continue
            owner, version = found
            if seen is None:
                seen = version
                if not _is_dead(owner) and not _is_alive(owner):
                    self._say_that_it_waits(owner)
            expired = time.monotonic() - since > LASTS
            if version != seen or _is_alive(owner):
                raise InUseError(
                    f"checkpoint {self._address} is in use by process {owner.get('process')} on "
                    f"{owner.get('host')}: wait until that ends, or use another prefix."
                )
            if (expired or _is_dead(owner)) and self._written(version):
                break
            if not (expired or _is_dead(owner)):
                time.sleep(LOOKS_EVERY)
        self._thread.start()

    def give_up(self) -> None:
        """End the lease; the object stays if it cannot be reached or another process holds it."""
        self._over.set()
        self._thread.join()
        try:
            found = self._found()
            if found is not None and found[0].get("token") == self._token:
                self._library.delete(self._objects, self._name)
        except (self._library.exceptions.BaseError, OSError):
            return

    def _written(self, condition: Any) -> bool:
        """Write the object on a condition; whether that held."""
        self._renewals += 1
        content = {**_this_process(), "token": self._token, "renewals": self._renewals}
        errors = self._library.exceptions
        try:
            made = self._library.put(
                self._objects, self._name, json.dumps(content).encode(), mode=condition
            )
            self._version = {name: each for name, each in made.items() if each is not None}
        except (errors.AlreadyExistsError, errors.PreconditionError):
            # a write may have succeeded, and the repeated one then finds the first
            found = self._found()
            if found is None or found[0] != content:
                return False
            self._version = found[1]
        return True

    def _found(self) -> tuple[dict[str, Any], Any] | None:
        """The holder of the lease, and the version of the object."""
        try:
            result = self._library.get(self._objects, self._name)
        except FileNotFoundError:
            return None
        known = {name: result.meta.get(name) for name in ("e_tag", "version")}
        version = {name: each for name, each in known.items() if each is not None}
        try:
            owner = json.loads(bytes(result.bytes()))
        except ValueError:
            owner = None
        return owner if isinstance(owner, dict) else {}, version

    def _renew(self) -> None:
        while not self._over.wait(RENEWED_EVERY):
            try:
                if not self._written(self._version):
                    return  # taken over while this process slept
            except Exception:  # of the network: the next attempt may succeed
                continue

    def _say_that_it_waits(self, owner: dict[str, Any]) -> None:
        warn(
            f"checkpoint {self._address} was in use by process {owner.get('process')} on "
            f"{owner.get('host')}: waiting up to {LASTS:.0f} s to see whether that still runs.",
            UserWarning,
        )


def _this_process() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }


def _machine() -> str | None:
    """Identifies machines and containers, if known."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _started(process: int) -> str | None:
    """Start time of a running process of this machine, because process ids are reused."""
    try:
        state, *found = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else found[18]  # dead, but its parent has not noticed


def _is_here(owner: dict[str, Any]) -> bool:
    return owner.get("machine") is not None and owner["machine"] == _machine()


def _is_alive(owner: dict[str, Any]) -> bool:
    """Whether the holder is known to run: it is a process of this machine."""
    return _is_here(owner) and _started(int(owner["process"])) == owner.get("started")


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether the holder is known to have died."""
    return _is_here(owner) and _started(int(owner["process"])) != owner.get("started")
