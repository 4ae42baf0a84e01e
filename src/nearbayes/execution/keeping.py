"""Keeping: a worker writes a finished item before it starts another.

Results on their way to the calling process are then not lost if that is killed, and neither are
finished results of a cluster's worker that dies. If a worker cannot reach the checkpoint (a folder
of another machine), the calling process writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nearbayes.execution.executor import Done, Item
from nearbayes.execution.saved_states import is_of_run
from nearbayes.execution.sealed import names_of_script, sealed, unsealed
from nearbayes.execution.stores import store_of

__all__ = ["Keeper"]

PAUSE = 2  # after a failed write, wait this many times its duration
_again_at: dict[str, float] = {}  # moments, by place


@dataclass(frozen=True)
class Keeper:
    """Writes finished items from their worker; small, as it is sent with every run.

    Attributes
    ----------
    place : str
        Location of the checkpoint, for workers.
    run : bytes
        Digest of everything that determines the results.
    name_of : callable
        Name of the file of an item.
    damaged : frozenset of str
        Names of existing files that must be written again.
    script : frozenset of str
        Names of classes and functions of the calling script.
    """

    place: str
    run: bytes
    name_of: Callable[[Any], str]
    damaged: frozenset[str]
    script: frozenset[str] = field(default_factory=names_of_script)

    def found(self, item: Item) -> Done | None:
        """A finished item that another worker has written since the run began. Never fails."""
        name = self.name_of(item)
        if name in self.damaged or time.monotonic() < _again_at.get(self.place, 0.0):
            return None
        return self._read(name)

    def keep(self, item: Item, done: Done) -> bool:
        """Write a finished item; whether that worked. Never fails."""
        started = time.monotonic()
        if started < _again_at.get(self.place, 0.0):
            return False
        try:
            store, name = store_of(self.place), self.name_of(item)
            if not is_of_run(store, self.run):
                return False
            # a worker whose calling process was killed may process the same item
            if name in self.damaged or self._read(name) is None:
                store.write(name, sealed(done, self.run, script=self.script))
        except Exception:  # of a pickle or a disk: the calling process tries, and warns
            now = time.monotonic()
            _again_at.clear()  # places of runs that are over
            _again_at[self.place] = now + PAUSE * (now - started)
            return False
        return True

    def _read(self, name: str) -> Done | None:
        """A complete file of this run."""
        try:
            data = store_of(self.place).read(name)
            done = None if data is None else unsealed(data, self.run)
        except Exception:  # damaged, of another run, or unreachable
            return None
        return done if isinstance(done, Done) else None
