"""Checkpoint: finished tasks in a store, so that the same call continues where a process died.

A checkpoint records its run: digests of the data, the algorithm and everything else that determines
the draws. The same call finds finished tasks; a different one is refused. Files contain a checksum,
and damaged ones are computed again.

Files of finished tasks are pickles, as models can be anything: trust a checkpoint only as much as
the code that wrote it. Do not resume from a folder that others can write to. To share a model, use
`save`, whose files contain no code.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from nearbayes.execution import saved_states
from nearbayes.execution.executor import Done, Item, in_one_line
from nearbayes.execution.keeping import PAUSE, Keeper
from nearbayes.execution.saved_states import RUN, STATE, SavedStates, digest_of_run
from nearbayes.execution.sealed import sealed, unsealed
from nearbayes.execution.stores import FolderStore, Store, store_of
from nearbayes.telling import warn

__all__ = ["Checkpoint", "CheckpointError", "CheckpointWarning", "made_once", "opened", "recorded"]

Made = TypeVar("Made")
SHORT = 60  # maximum length of a value in a message


class CheckpointError(ValueError):
    """The checkpoint is of another run."""


class CheckpointWarning(UserWarning):
    """A file of a checkpoint was damaged, or could not be written."""


class Checkpoint:
    """Finished tasks of one run.

    Parameters
    ----------
    store : Store
    run : bytes
        Digest of everything that determines the results.
    name_of : callable
        Name of the file of an item.
    place : str or path, optional
        Location of the store, for workers that save the state of long items.
    """

    def __init__(
        self, store: Store, run: bytes, name_of: Callable[[Any], str], place: Any = None
    ) -> None:
        self._store, self._run, self._name_of = store, run, name_of
        self._unsaved: dict[str, bytes] = {}
        self._again_at, self._warned = 0.0, False
        self._there = store.names()  # once, as no other process writes here
        self._damaged: set[str] = set()
        self._old_states = frozenset(each for each in self._there if each.startswith(STATE))
        self._place = os.path.abspath(place) if isinstance(store, FolderStore) and place else place

    @property
    def states(self) -> SavedStates | None:
        """Where workers save states of unfinished items."""
        if self._place is None:
            return None
        every = saved_states.SAVED_EVERY
        return SavedStates(str(self._place), self._run, every, self._old_states)

    @property
    def keeper(self) -> Keeper | None:
        """Writes finished items in workers; after `load`, which finds damaged files.

        Only for a folder: an unreachable object store would delay every worker.
        """
        if self._place is None or not isinstance(self._store, FolderStore):
            return None
        return Keeper(str(self._place), self._run, self._name_of, frozenset(self._damaged))

    def load(self, items: Sequence[Item]) -> dict[Any, Done]:
        """Finished items; a file that is damaged counts as missing, with a warning."""
        found = {}
        for item in items:
            name = self._name_of(item)
            done = self._read(name) if name in self._there else None
            if isinstance(done, Done):
                found[item] = done
        return found

    def once(self, name: str, make: Callable[[], Made], shared: Sequence[Any] = ()) -> Made:
        """Return a value computed once, by this run or an earlier one; `shared` as in `sealed`."""
        if name in self._there:
            found = self._read(name, shared)
            if isinstance(found, tuple):
                return found[0]  # type: ignore[no-any-return]
        made = make()
        self._write(name, (made,), shared)
        return made

    def _read(self, name: str, shared: Sequence[Any] = ()) -> Any:
        try:
            return unsealed(self._store.read(name) or b"", self._run, shared)
        except Exception as error:  # a pickle may raise anything
            self._damaged.add(name)
            warn(
                f"file {name!r} of the checkpoint cannot be read and is computed again: "
                f"{in_one_line(error)}",
                CheckpointWarning,
            )
            return None

    def save(self, item: Item, done: Done) -> None:
        """Write a finished item. If that fails, continue with a warning, and try again later.

        An item written by its worker is not written again if it is also found here.
        """
        name = self._name_of(item)
        is_there = isinstance(self._store, FolderStore) and self._store.has(name)
        if not (done.kept and is_there):
            self._write(name, done)
        state = STATE + name
        if done.seconds >= saved_states.SAVED_EVERY or state in self._old_states:
            with suppress(OSError):  # it only takes space
                self._store.delete(state)

    def _write(self, name: str, value: Any, shared: Sequence[Any] = ()) -> None:
        try:
            self._unsaved[name] = sealed(value, self._run, shared)
        except Exception as error:  # it does not pickle
            self._warn_of(error)
            return
        if time.monotonic() >= self._again_at:
            self.write_all()

    def write_all(self) -> None:
        """Write items that could not be written before; if that fails, try again later."""
        started = time.monotonic()
        try:
            for name, data in list(self._unsaved.items()):
                self._store.write(name, data)
                self._there.add(name)
                del self._unsaved[name]
        except Exception as error:  # of the disk, or of any object store
            now = time.monotonic()
            self._again_at = now + PAUSE * (now - started)
            self._warn_of(error)

    def _warn_of(self, error: Exception) -> None:
        if not self._warned:
            warn(
                f"the checkpoint cannot be written, and the run continues without: "
                f"{in_one_line(error)}",
                CheckpointWarning,
            )
        self._warned = True


@contextmanager
def opened(
    place: Any, parts: Mapping[str, Any], name_of: Callable[[Any], str]
) -> Iterator[Checkpoint | None]:
    """Open a checkpoint for one run; None if no place is given.

    Parameters
    ----------
    place : str or path, optional
        A folder, or an address such as s3://bucket/prefix.
    parts : mapping of str to str, number or mapping
        Everything that determines the results: short values, or digests of long ones.
    name_of : callable
        Name of the file of an item.
    """
    if place is None:
        yield None
        return
    store = store_of(place)
    with store.held():
        asked = json.loads(json.dumps(_flat(parts)))
        _agree(store, place, asked)
        kept = Checkpoint(store, digest_of_run(asked), name_of, place)
        try:
            yield kept
        finally:
            kept.write_all()


def made_once(
    kept: Checkpoint | None, name: str, make: Callable[[], Made], shared: Sequence[Any] = ()
) -> Made:
    """As `Checkpoint.once`, but the checkpoint may be None."""
    return make() if kept is None else kept.once(name, make, shared)


def recorded(place: Any, part: str) -> Any:
    """Settings of a checkpoint, if there is one."""
    found = None if place is None else _run_of(store_of(place))
    return None if found is None else found.get(part)


def _agree(store: Store, place: Any, asked: dict[str, Any]) -> None:
    """Record the run of the checkpoint, or refuse one of a different run."""
    found = _run_of(store)
    if found is None:
        if RUN not in store.names() and not _only_places(store):
            raise CheckpointError(
                f"checkpoint {place} contains other files: use a new or empty folder."
            )
        store.write(RUN, json.dumps(asked, indent=1).encode())
        return
    differ = [name for name in sorted(found.keys() | asked) if found.get(name) != asked.get(name)]
    if differ:
        said = "; ".join(_difference(name, found.get(name), asked.get(name)) for name in differ)
        raise CheckpointError(
            f"checkpoint {place} is of another run: {said}. Run with the same data and settings "
            "to continue, use another folder, or delete this one."
        )


def _only_places(store: Store) -> bool:
    """Whether all names belong to checkpoints below this one, which object stores also list."""
    return all("/" in name for name in store.names() - {"lock"})


def _run_of(store: Store) -> dict[str, Any] | None:
    """The run of a checkpoint; None if it was not written completely."""
    data = store.read(RUN)
    try:
        found = None if data is None else json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _difference(name: str, was: Any, now: Any) -> str:
    """Differences, with their values if readable."""
    short = all(value is None or len(str(value)) <= SHORT for value in (was, now))
    hidden = any(isinstance(value, str) and len(value) == 32 for value in (was, now))
    return f"{name} was {was}, is {now}" if short and not hidden else f"another {name}"


def _flat(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested mappings (versions of packages) to separate entries."""
    found: dict[str, Any] = {}
    for name, value in parts.items():
        if isinstance(value, Mapping):
            found |= {f"{name} of {key}": each for key, each in value.items()}
        else:
            found[name] = value
    return found
