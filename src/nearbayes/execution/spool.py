"""Spool: shared data of all tasks of a run, written once and mapped into every worker process.

Arrays are kept outside the pickle (PEP 574) in one file that workers map into memory, so that all
of them read the same pages and none copies a table. The map is private: an estimator that writes
into its inputs gets a copy of the page, and does not change those of others. Workers of a cluster
get the same bytes, and unpack them once.

An array that is already mapped from a file, as by ``numpy.load(path, mmap_mode="r")``, is not
copied at all: workers map the same file.

A process that is killed leaves its file behind; the next run that finds it deletes it.
"""

from __future__ import annotations

import gc
import io
import mmap
import os
import pickle
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from nearbayes.execution.freed_memory import give_back
from nearbayes.execution.locks import locked

__all__ = ["Packed", "forget", "packed", "spooled"]

ALIGNMENT = 64  # bytes, for vector instructions
MEMORY_FOLDER = Path("/dev/shm")
PREFIX = "nearbayes-"
YOUNG = 60.0  # seconds in which a new folder may not be locked yet
_kept: dict[str, Any] = {}  # the last object that this process loaded, by its name
_lock = Lock()


def _loaded_once(name: str, load: Callable[[], Any]) -> Any:
    """Load an object once per process, by its name; a worker serves one run at a time."""
    with _lock:  # threads of a worker wait for the first one
        if name not in _kept:
            _kept.clear()
            _kept[name] = load()
        return _kept[name]


def forget() -> None:
    """In a worker: release the shared data of the last run, which may be gigabytes."""
    with _lock:
        _kept.clear()
    gc.collect()
    give_back()


@dataclass(frozen=True)
class Packed:
    """Shared data of all tasks as bytes, for workers of other machines; `value` unpacks it once.

    Arrays are unpacked into memory of the process, where estimators may write.
    """

    name: str
    pickled: bytes
    buffers: tuple[NDArray[np.uint8], ...]

    @property
    def value(self) -> Any:
        """Shared data of the tasks."""
        return _loaded_once(self.name, self._loaded)

    def _loaded(self) -> Any:
        return pickle.loads(self.pickled, buffers=[bytearray(each) for each in self.buffers])


def packed(shared: Any) -> Packed:
    """Shared data of all tasks, as bytes.

    Examples
    --------
    >>> packed({"x": np.arange(3)}).value
    {'x': array([0, 1, 2])}
    """
    pickled, arrays = _pickled(shared)
    buffers = tuple(np.frombuffer(each, np.uint8) for each in arrays)
    return Packed(uuid.uuid4().hex, pickled, buffers)


def _pickled(shared: Any) -> tuple[bytes, list[memoryview]]:
    """Bytes of an object, and its arrays as separate buffers (PEP 574)."""
    raw: list[pickle.PickleBuffer] = []
    pickled = cloudpickle.dumps(shared, protocol=5, buffer_callback=raw.append)
    return pickled, [each.raw() for each in raw]


class _OfThisMachine(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles arrays that are mapped from a file as their place in that file."""

    def reducer_override(self, value: Any) -> Any:
        """See `pickle.Pickler.reducer_override`."""
        place = _place_in_file(value) if isinstance(value, np.memmap) else None
        return super().reducer_override(value) if place is None else (np.memmap, place)


def _place_in_file(array: np.memmap[Any, Any]) -> tuple[Any, ...] | None:
    """Arguments of `numpy.memmap` for the same numbers; None if they are not in a file."""
    root: Any = array
    while isinstance(root.base, np.memmap):
        root = root.base
    contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    if not isinstance(root.base, mmap.mmap) or not contiguous or array.mode == "c":
        return None
    offset = root.offset + array.ctypes.data - root.ctypes.data
    order = "C" if array.flags.c_contiguous else "F"
    # "c": an estimator that writes into its inputs gets a copy of the page
    return str(array.filename), array.dtype, "c", offset, array.shape, order


@dataclass(frozen=True)
class _File:
    """Shared data in a file of this machine."""

    path: str
    pickle_size: int
    buffers: tuple[tuple[int, int], ...]

    @property
    def value(self) -> Any:
        return _loaded_once(self.path, self._loaded)

    def _loaded(self) -> Any:
        with open(self.path, "rb") as file:
            pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        buffers = [pages[start : start + size] for start, size in self.buffers]
        return pickle.loads(pages[: self.pickle_size], buffers=buffers)


@contextmanager
def spooled(shared: Any) -> Iterator[_File]:
    """Write shared data to a file while tasks run; workers load it once."""
    stream, raw = io.BytesIO(), list[pickle.PickleBuffer]()
    _OfThisMachine(stream, protocol=5, buffer_callback=raw.append).dump(shared)
    pickled, arrays = stream.getvalue(), [each.raw() for each in raw]
    needed = len(pickled) + sum(each.nbytes + ALIGNMENT for each in arrays)
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=_place(needed))
    try:
        path, places = os.path.join(folder, "shared"), []
        with open(path, "wb") as file:
            locked(file)  # for as long as it is open
            file.write(pickled)
            for array in arrays:
                file.write(bytes(-file.tell() % ALIGNMENT))
                places.append((file.tell(), array.nbytes))
                file.write(array)
            file.flush()
            give_back()  # objects that are no longer needed, such as a binned table
            yield _File(path, len(pickled), tuple(places))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(needed: int) -> Path | None:
    """The folder in memory if there is one with enough space, else that of temporary files."""
    if not (MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK)):
        return None
    _delete_left_over(MEMORY_FOLDER)
    return MEMORY_FOLDER if shutil.disk_usage(MEMORY_FOLDER).free > 2 * needed else None


def _delete_left_over(place: Path) -> None:
    """Delete files of this user whose process was killed: they are not locked."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < YOUNG:
                continue
            with open(folder / "shared", "rb") as file:
                if not locked(file):
                    continue
        except OSError:  # deleted in the meantime, or of another user
            continue
        shutil.rmtree(folder, ignore_errors=True)
