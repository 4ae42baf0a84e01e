"""Folder store: files of a checkpoint in a folder, which one process uses at a time.

A file is written under another name, synced to disk and renamed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearbayes.execution.locks import CAN_LOCK, locked
from nearbayes.execution.store_protocol import InUseError, StoreError

__all__ = ["FolderStore"]

LOCK = "lock"
UNFINISHED = ".nearbayes-"  # prefix of half-written files


class FolderStore:
    """Files of a folder, which one process uses at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, only for this user, and lock it; the lock ends with the process."""
        with self._in_words():
            self.make()
            file = open(self.folder / LOCK, "a+b")  # noqa: SIM115
        with file:
            if CAN_LOCK and not locked(file):  # on other systems files are still complete
                raise InUseError(
                    f"checkpoint {self.folder} is in use by another process: wait until that "
                    "ends, or use another folder."
                )
            # half-written files of a process that died
            for left in self.folder.glob(f"{UNFINISHED}*"):
                left.unlink(missing_ok=True)
            yield

    def make(self) -> None:
        """Make the folder, only for this user."""
        with self._in_words():
            if self.folder.exists() and not self.folder.is_dir():
                raise ValueError(f"checkpoint {self.folder} is a file: use the name of a folder.")
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                f"checkpoint {self.folder} cannot be written ({error.strerror}): use a folder "
                "that you can write to."
            ) from error

    def names(self) -> set[str]:
        """See `Store`."""
        found = self.folder.iterdir() if self.folder.is_dir() else ()
        return {each.name for each in found if not each.name.startswith(".") and each.is_file()}

    def read(self, name: str) -> bytes | None:
        """See `Store`."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        """Whether a file with this name exists."""
        return (self.folder / name).is_file()

    def write(self, name: str, data: bytes) -> None:
        """See `Store`: a temporary file, synced to disk, then renamed."""
        handle, path = tempfile.mkstemp(prefix=UNFINISHED, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, self.folder / name)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
        _sync_folder(self.folder)

    def delete(self, name: str) -> None:
        """See `Store`."""
        (self.folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """See `Store`."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Sync a new name to disk, if folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
