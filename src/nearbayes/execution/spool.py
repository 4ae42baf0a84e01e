"""Spool: what all tasks of a run share, written once and mapped into every worker process.

Arrays are kept outside the pickle (PEP 574) in one file that workers map into memory, so that all
of them read the same pages and none copies a table. The map is private: an estimator that writes
into its inputs gets a copy of the page, and changes nobody else's.
"""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle

__all__ = ["Handle", "spooled"]

ALIGNMENT = 64  # bytes, as vector instructions like it
MEMORY_FOLDER = Path("/dev/shm")
_kept: dict[str, Any] = {}  # what this process has loaded last, by the path of its file


@dataclass(frozen=True)
class Handle:
    """What all tasks share, itself; `value` is what a task asks for."""

    value: Any


@dataclass(frozen=True)
class _File:
    """The same, in a file that this process may not have read yet."""

    path: str
    pickle_size: int
    buffers: tuple[tuple[int, int], ...]

    @property
    def value(self) -> Any:
        if self.path not in _kept:
            _kept.clear()  # a worker serves one run at a time
            _kept[self.path] = self._loaded()
        return _kept[self.path]

    def _loaded(self) -> Any:
        with open(self.path, "rb") as file:
            pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        buffers = [pages[start : start + size] for start, size in self.buffers]
        return pickle.loads(pages[: self.pickle_size], buffers=buffers)


@contextmanager
def spooled(shared: Any) -> Iterator[_File]:
    """Write what tasks share to a file for as long as they run; workers load it once."""
    raw: list[pickle.PickleBuffer] = []
    pickled = cloudpickle.dumps(shared, protocol=5, buffer_callback=raw.append)
    arrays = [each.raw() for each in raw]
    in_memory = MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK)
    needed = len(pickled) + sum(each.nbytes + ALIGNMENT for each in arrays)
    in_memory = in_memory and shutil.disk_usage(MEMORY_FOLDER).free > 2 * needed
    folder = tempfile.mkdtemp(prefix="nearbayes-", dir=MEMORY_FOLDER if in_memory else None)
    try:
        path, places = os.path.join(folder, "shared"), []
        with open(path, "wb") as file:
            file.write(pickled)
            for array in arrays:
                file.write(bytes(-file.tell() % ALIGNMENT))
                places.append((file.tell(), array.nbytes))
                file.write(array)
        yield _File(path, len(pickled), tuple(places))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
