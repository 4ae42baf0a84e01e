"""Sealed: pickles of a checkpoint, with a checksum that only files of the same run have.

A pickle contains only the names of shared objects (the data), not the objects.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections.abc import Container, Sequence
from operator import attrgetter
from types import FunctionType
from typing import Any

import cloudpickle

__all__ = ["names_of_script", "sealed", "unsealed"]

MAGIC = b"nearbayes task 1\n"


def sealed(
    value: Any, run: bytes, shared: Sequence[Any] = (), script: frozenset[str] = frozenset()
) -> bytes:
    """Bytes of a value; `shared` are objects that will also exist when it is read.

    The same holds for classes and functions of the script with the names in `script`; see
    `names_of_script`.
    """
    payload = _pickled(value, shared, script)
    return _header(payload, run) + payload


def unsealed(data: bytes, run: bytes, shared: Sequence[Any] = ()) -> Any:
    """The value of some bytes; ValueError if they are damaged or of another run.

    Examples
    --------
    >>> rows = [1, 2]
    >>> again = unsealed(sealed({"of": rows}, b"run", [rows]), b"run", [rows])
    >>> again["of"] is rows
    True
    """
    payload = data[len(_header(b"", run)) :]
    if data[: len(data) - len(payload)] != _header(payload, run):
        raise ValueError("it is damaged, cut short, or of another run.")
    return _Unpickler(payload, shared).load()


def _header(payload: bytes, run: bytes) -> bytes:
    checksum = hashlib.blake2b(payload, digest_size=32, key=run).hexdigest()
    return MAGIC + checksum.encode() + b"\n"


def names_of_script() -> frozenset[str]:
    """Names of classes and functions of the script, for workers, which have copies of them."""
    there = list(vars(sys.modules["__main__"]).items())
    return frozenset(name for name, each in there if _is_of_script(each, {name}))


def _is_of_script(value: Any, names: Container[str]) -> bool:
    """Whether the script will find it by its name; false if that name was redefined."""
    if not issubclass(type(value), type | FunctionType) or value.__module__ != "__main__":
        return False
    name = value.__qualname__
    if "<" in name or name.partition(".")[0] not in names:
        return False
    try:
        return _of_script(name) is value
    except AttributeError:  # in a worker, which has a copy without a name
        return True


def _of_script(name: str) -> Any:
    """A class or function of the script, by its name: the script that reads it is the same."""
    return attrgetter(name)(sys.modules["__main__"])


def _pickled(value: Any, shared: Sequence[Any], script: frozenset[str]) -> bytes:
    """Pickle with classes of a script by name, as the same script will load them, if possible."""
    file = io.BytesIO()
    try:
        _Pickler(file, shared, script).dump(value)
    except Exception:  # functions without a name, and other objects that need cloudpickle
        file = io.BytesIO()
        _CloudPickler(file, shared, script).dump(value)
    return file.getvalue()


class _Naming:
    """Names shared objects by their places, and keeps the precision of arrays of JAX."""

    _places: dict[int, int]
    _script: frozenset[str]

    def persistent_id(self, value: Any) -> int | None:
        return self._places.get(id(value))

    def reducer_override(self, value: Any) -> Any:
        if type(value).__module__.startswith("jaxlib") and hasattr(value, "weak_type"):
            return _in_full_precision, value.__reduce__()[:2]
        if _is_of_script(value, self._script):
            return _of_script, (value.__qualname__,)
        others = getattr(super(), "reducer_override", None)  # cloudpickle has them
        return NotImplemented if others is None else others(value)


def _in_full_precision(make: Any, arguments: Any) -> Any:
    """A JAX array with its precision, which would be float32 unless x64 is enabled."""
    import jax

    with jax.enable_x64(True):
        return make(*arguments)


class _Pickler(_Naming, pickle.Pickler):
    def __init__(self, file: io.BytesIO, shared: Sequence[Any], script: frozenset[str]) -> None:
        super().__init__(file, protocol=5)
        self._places, self._script = {id(each): k for k, each in enumerate(shared)}, script


class _CloudPickler(_Naming, cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, shared: Sequence[Any], script: frozenset[str]) -> None:
        super().__init__(file, protocol=5)
        self._places, self._script = {id(each): k for k, each in enumerate(shared)}, script


class _Unpickler(pickle.Unpickler):
    def __init__(self, payload: bytes, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(payload))
        self._shared = shared

    def persistent_load(self, place: Any) -> Any:
        return self._shared[place]
