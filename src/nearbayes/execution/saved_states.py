"""Saved states: intermediate states of long items, stored by their worker.

If a worker dies, only the work since the last state is lost, not the whole item. Workers that
cannot reach the checkpoint (a folder of another machine) store nothing. Errors with a state only
cost time: the item is then computed from its beginning.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearbayes.execution.sealed import sealed, unsealed
from nearbayes.execution.stores import Store, store_of

__all__ = ["RUN", "STATE", "SavedState", "SavedStates", "digest_of_run", "is_of_run"]

RUN = "run.json"  # identifies the run of a checkpoint
STATE = "state-"  # prefix of the names of states
SAVED_EVERY = 60.0  # seconds
LEAST_PAUSE = 20  # wait this many times the duration of the last write


def digest_of_run(parts: Any) -> bytes:
    """Digest of everything that determines the results of a run, as in the file RUN."""
    text = json.dumps(parts, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest().encode()


def is_of_run(store: Store, run: bytes) -> bool:
    """Whether a store is the checkpoint of a run, and not another folder of the same name."""
    data = store.read(RUN)
    return data is not None and digest_of_run(json.loads(data)) == run


@dataclass(frozen=True)
class SavedStates:
    """Where workers store states; small, as it is sent with every run.

    Attributes
    ----------
    place : str
        As passed for the checkpoint.
    run : bytes
        Digest of everything that determines the results.
    every : float
        Seconds between two states of an item.
    there : frozenset of str
        Names of states of an earlier run; workers search only for these.
    """

    place: str
    run: bytes
    every: float
    there: frozenset[str] = frozenset()

    def of(self, name: str, shared: Sequence[Any]) -> SavedState:
        """The state of the item with this name; `shared` as in `sealed`."""
        return SavedState(self, name, shared)


class SavedState:
    """The state of one item."""

    def __init__(self, states: SavedStates, name: str, shared: Sequence[Any]) -> None:
        self._states, self._name, self._shared = states, STATE + name, shared
        self._due = time.monotonic() + states.every
        self._place: Store | None = None

    def load(self) -> Any:
        """The last saved value; None if there is none, or it cannot be read."""
        if self._name not in self._states.there:
            return None
        try:
            data = self._store().read(self._name)
            return None if data is None else unsealed(data, self._states.run, self._shared)
        except Exception:  # a pickle, a disk and a network may raise anything
            return None

    def save(self, value: Any) -> None:
        """Save a value if the last one is old enough; never fails."""
        started = time.monotonic()
        if started < self._due:
            return
        try:
            if is_of_run(self._store(), self._states.run):
                data = sealed(value, self._states.run, self._shared)
                self._store().write(self._name, data)
        except Exception:  # as above: the item is computed anyway
            pass
        now = time.monotonic()
        self._due = now + max(self._states.every, LEAST_PAUSE * (now - started))

    def _store(self) -> Store:
        if self._place is None:
            self._place = store_of(self._states.place)
        return self._place
