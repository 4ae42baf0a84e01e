"""Folders: temporary folders for models on disk, removed with the object that owns them.

Only the process that created a folder removes it. A model that is sent to another process or
pickled includes the contents of its folder, so copies do not depend on each other.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
import weakref
from pathlib import Path
from typing import Any

__all__ = ["ModelFolder", "RunFolder"]

PREFIX = "nearbayes-"


class RunFolder:
    """Folder for all models of a run, in all processes.

    The process that created it removes it, including what killed workers left behind. A copy in
    another process only stores the path.

    Examples
    --------
    >>> run = RunFolder()
    >>> path = run.path
    >>> path.is_dir()
    True
    >>> del run
    >>> path.exists()
    False
    """

    def __init__(self, known: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX)) if known is None else known
        if known is None:
            _remove_with(self, self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunFolder, (self.path,)


class ModelFolder:
    """Folder of one fitted model, removed with this object, at exit, or by `remove`.

    Parameters
    ----------
    run : RunFolder, optional
        Parent folder, if it is on this machine.

    Examples
    --------
    >>> import pickle
    >>> folder = ModelFolder()
    >>> _ = (folder.path / "model.txt").write_text("weights")
    >>> copy = pickle.loads(pickle.dumps(folder))
    >>> folder.remove()
    >>> (copy.path / "model.txt").read_text(), folder.path.exists()
    ('weights', False)
    """

    def __init__(self, run: RunFolder | None = None) -> None:
        self.run = run  # the run's folder must not be removed before this one
        inside = run.path if run is not None and run.path.is_dir() else None
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=inside))
        self._removal = _remove_with(self, self.path)

    def remove(self) -> None:
        """Remove the folder now."""
        self._removal()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def __reduce__(self) -> tuple[Any, ...]:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self.path, arcname=".")
        return _unpacked, (packed.getvalue(),)


def _unpacked(packed: bytes) -> ModelFolder:
    folder = ModelFolder()
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder.path, filter="data")
    except BaseException:
        folder.remove()
        raise
    return folder


def _remove_with(owner: object, path: Path) -> weakref.finalize[..., object]:
    """Remove a folder when its owner is deleted, or at exit."""
    return weakref.finalize(owner, _remove, path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork, because the parent still uses it
        shutil.rmtree(path, ignore_errors=True)
