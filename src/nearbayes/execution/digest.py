"""Digest: a short name for any value, the same in every process that has an equal value.

Pickles cannot be used: those of equal values differ by shared parts, by the order of sets, and, for
classes of a script, by a random number. Values are decomposed as pickle does, and functions down to
their code, so that an edited function has a different digest.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["digest"]

INSTALLED = ("site-packages", "dist-packages", "lib/python", "nearbayes")
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
SIZE = 16


def digest(value: Any) -> str:
    """A digest of a value: 32 hexadecimal digits.

    Examples
    --------
    >>> digest({"a", "b", "c"}) == digest({"c", "b", "a"}), digest([1]) == digest([1.0])
    (True, False)
    >>> digest(lambda x: x + 1) == digest(lambda x: x + 2)
    False
    """
    return _Digester().of(value).hex()


class _Digester:
    """Decomposes values; remembers known objects, as many objects contain the same table."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._alive: list[Any] = []  # so that no other value gets the id of a known one
        self._open: dict[int, int] = {}  # values that are being decomposed, by depth

    def of(self, value: Any) -> bytes:
        if isinstance(value, PLAIN):
            return _hashed(type(value).__name__, repr(value).encode())
        name = id(value)
        if name in self._open:
            return _hashed("again", str(len(self._open) - self._open[name]).encode())
        if name not in self._known:
            self._open[name] = len(self._open)
            self._known[name] = self._taken_apart(value)
            self._alive.append(value)
            del self._open[name]
        return self._known[name]

    def _taken_apart(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray) and type(value) in (np.ndarray, np.memmap):
            return self._array(value)
        if _is_tensor(value):
            return self._tensor(value)
        if type(value) in (list, tuple):
            return _hashed(type(value).__name__, *map(self.of, value))
        if isinstance(value, set | frozenset):
            return _hashed(type(value).__name__, *sorted(map(self.of, value)))
        if type(value) is dict:
            return _hashed("dict", *self._pairs(value.items()))
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return _hashed("module", value.__name__.encode())
        return self._object(value)

    def _pairs(self, pairs: Iterable[tuple[Any, Any]]) -> list[bytes]:
        return [self.of(part) for pair in pairs for part in pair]

    def _array(self, array: np.ndarray[Any, Any]) -> bytes:
        kind = f"{array.dtype.str if array.dtype.names is None else array.dtype} {array.shape}"
        if array.dtype.hasobject:
            return _hashed("array", kind.encode(), *map(self.of, array.ravel().tolist()))
        return _hashed("array", kind.encode(), np.ascontiguousarray(array).view(np.uint8).data)

    def _tensor(self, tensor: Any) -> bytes:
        """A tensor of PyTorch, whose pickle contains an address."""
        import torch

        values = tensor.detach().cpu().contiguous()
        kind = f"{values.dtype} {tuple(values.shape)} {tensor.requires_grad}"
        return _hashed("tensor", kind.encode(), values.reshape(-1).view(torch.uint8).numpy().data)

    def _code(self, code: types.CodeType) -> bytes:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return _hashed("code", code.co_code, self.of(list(code.co_consts)), self.of(names))

    def _function(self, function: types.FunctionType) -> bytes:
        name = f"{function.__module__} {function.__qualname__}".encode()
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, cells)
        return _hashed("function", name, self.of(function.__code__), self.of(held))

    def _class(self, kind: type) -> bytes:
        """A class by its name; a user's class also by the code of its methods."""
        name = f"{kind.__module__} {kind.__qualname__}".encode()
        if _is_installed(kind.__module__):
            return _hashed("class", name)
        bases = [self.of(base) for base in kind.__bases__]
        methods = {
            key: getattr(each, "__func__", getattr(each, "fget", each))
            for key, each in vars(kind).items()
        }
        plain = (types.FunctionType, *PLAIN)
        kept = {key: each for key, each in methods.items() if isinstance(each, plain)}
        for noise in ("__module__", "__doc__", "__firstlineno__", "__static_attributes__"):
            kept.pop(noise, None)
        return _hashed("class", name, *bases, *self._pairs(sorted(kept.items())))

    def _object(self, value: Any) -> bytes:
        decisive = getattr(type(value), "decisive_parts", None)
        if decisive is not None:  # an object that defines its own identity
            return _hashed("decisive", self.of(type(value)), self.of(decisive(value)))
        reduced = _reduced(value)
        if isinstance(reduced, str):
            module = getattr(value, "__module__", "")
            return _hashed("name", f"{module} {reduced}".encode())
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return _hashed(
            "object",
            self.of(make),
            *map(self.of, arguments),
            self.of(state),
            *map(self.of, items or ()),
            *self._pairs(pairs or ()),
        )


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _hashed(kind: str, *parts: Any) -> bytes:
    found = hashlib.blake2b(kind.encode(), digest_size=SIZE)
    for part in parts:
        found.update(str(len(part)).encode() + b" ")
        found.update(part)
    return found.digest()


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a function that refers to itself before it is defined
        return None


def _reduced(value: Any) -> Any:
    """What pickle would store of an object; for compiled functions, the Python function."""
    if isinstance(value, types.BuiltinFunctionType):
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return f"{value.__module__} {value.__qualname__}"
        return getattr, (owner, value.__name__)
    if isinstance(value, types.MethodType):
        return getattr, (value.__self__, value.__func__.__name__), value.__func__
    if hasattr(value, "__wrapped__") and callable(value):
        return functools.wraps, (value.__wrapped__,)
    try:
        known = copyreg.dispatch_table.get(type(value))
        return known(value) if known is not None else value.__reduce_ex__(4)
    except Exception as error:
        raise TypeError(
            f"checkpoint needs data and an algorithm that pickle, but {type(value).__name__} does "
            f"not ({error}): use checkpoint=None."
        ) from error


def _is_installed(module: str) -> bool:
    """Whether a module is part of Python or a package, whose version identifies its code."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__":
        return False
    return file is None or any(each in file.replace("\\", "/") for each in INSTALLED)
