"""Kept beside: finished draws of a fit in a folder beside its output, until that is complete.

The folder is locked, so that two fits never write the same output at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearbayes.cli.errors import UsageError
from nearbayes.execution.digest import digest
from nearbayes.execution.stores import FolderStore, InUseError, StoreError, store_of, within

__all__ = ["KeptBeside", "kept_beside"]

PLAN = "plan.json"
WORK = ("chunk-", "first")  # how names of files begin that hold finished work


class KeptBeside:
    """Where one fit keeps its finished draws.

    Parameters
    ----------
    folder : Path
        Beside the output; it is locked for as long as the fit lasts.
    place : Path, str or None
        Where this fit keeps its draws, within that folder or where the user says; None where no
        folder can be made.
    """

    def __init__(self, folder: Path, place: Path | str | None) -> None:
        self.folder, self.place = folder, place

    def has_work(self) -> bool:
        """Whether draws, or first fits, of this fit are there."""
        names = () if self.place is None else store_of(within(self.place, "draws")).names()
        return any(name.startswith(WORK) for name in names)

    @property
    def words(self) -> str:
        """What becomes of the draws if the output cannot be written."""
        found = self.has_work()
        return f"; the same command goes on from the draws in {self.place}" if found else ""

    def plan(self) -> dict[str, Any] | None:
        """The plan of an earlier fit with the same data and options, if draws of it are there."""
        if not self.has_work():
            return None
        try:
            return dict(json.loads(store_of(self.place).read(PLAN) or b""))
        except ValueError:  # never written whole: the draws are checked against the new plan
            return None

    def note_plan(self, plan: dict[str, Any]) -> None:
        """Keep the plan, which depends on the time that a fit took."""
        if self.place is None:
            return
        store = store_of(self.place)
        if isinstance(store, FolderStore):
            store.make()
        store.write(PLAN, json.dumps(plan).encode())

    def clear(self) -> None:
        """Delete what was kept."""
        if self.place is not None:
            store_of(self.place).clear()
            FolderStore(self.folder).clear()


@contextmanager
def kept_beside(
    output: Path, settings: dict[str, Any], say: Callable[[str], None], given: str | None = None
) -> Iterator[KeptBeside]:
    """Hold the folder for as long as the fit lasts; leave none behind that holds nothing.

    Draws are kept in it, or in the `given` folder or prefix of an object store.
    """
    folder, part = output.with_name(f"{output.name}.checkpoint"), digest(settings)[:12]
    store = FolderStore(folder)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        say(f"finished draws are not kept beside {output}: {error.strerror}")
        yield KeptBeside(folder, within(given, part))
        return
    kept = KeptBeside(folder, within(folder if given is None else given, part))
    try:
        with store.held():
            yield from _told(kept, say)
    except InUseError as error:
        raise UsageError(
            f"--output {output} is being made by another nearbayes fit: wait until that ends, or "
            "choose another file."
        ) from error
    except StoreError as error:
        raise UsageError(str(error)) from error


def _told(kept: KeptBeside, say: Callable[[str], None]) -> Iterator[KeptBeside]:
    """Say where finished draws are if the user stops the fit."""
    try:
        yield kept
    except KeyboardInterrupt:
        if kept.has_work():
            say(f"finished draws are in {kept.place}: run the same command again to continue")
        raise
    finally:
        if not any(each.name.startswith(WORK) for each in kept.folder.rglob("*")):
            FolderStore(kept.folder).clear()
