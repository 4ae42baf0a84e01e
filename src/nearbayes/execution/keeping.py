"""Keeping: a worker writes what it has finished before it begins anything else.

What is on its way to the asking process when that is killed is then not lost, nor what a cluster
loses with a worker that had a finished result. Where a worker cannot reach the place of the
checkpoint (a folder of another machine), the asking process writes.
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

PAUSE = 2  # times as long as a write took to fail, until the next is tried
_again_at: dict[str, float] = {}  # moments, by place


@dataclass(frozen=True)
class Keeper:
    """Writes finished items from the worker that did them; small, as it travels with every run.

    Attributes
    ----------
    place : str
        Where the checkpoint is, as workers find it.
    run : bytes
        Digest of all that decides the results.
    name_of : callable
        Name of the file of an item.
    damaged : frozenset of str
        Names of files that are there, but are to be written anew.
    script : frozenset of str
        Names of classes and functions of the script that asks.
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
            # a worker whose asking process was killed may have been at the same item
            if name in self.damaged or self._read(name) is None:
                store.write(name, sealed(done, self.run, script=self.script))
        except Exception:  # of a pickle or a disk: the asking process tries, and warns
            now = time.monotonic()
            _again_at.clear()  # places of runs that are over
            _again_at[self.place] = now + PAUSE * (now - started)
            return False
        return True

    def _read(self, name: str) -> Done | None:
        """A whole file of this run."""
        try:
            data = store_of(self.place).read(name)
            done = None if data is None else unsealed(data, self.run)
        except Exception:  # damaged, of another run, or a place that is away
            return None
        return done if isinstance(done, Done) else None
