"""Arrays and plain values as bytes and JSON, without Python objects.

Headers are checked before reading, because `np.load` would allocate any shape that a file claims.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.files.container import Members
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused

__all__ = [
    "NotSaveable",
    "array_bytes",
    "array_of",
    "column_of",
    "labels_of",
    "labels_record",
    "plain_of",
    "plain_record",
    "shared_array",
    "stack_of",
    "stack_record",
]

SIMPLE_KINDS = "biufU"
LARGEST_LABEL = 10_000  # bytes
LARGEST_EMPTY = 1_000_000  # rows of an array without columns, which take no bytes
READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class NotSaveable(TypeError):  # noqa: N818 - the name says what is wrong
    """A part of a model that a safe file cannot hold."""


def array_bytes(array: NDArray[Any]) -> bytes:
    """An array in NumPy's format, without pickle.

    Examples
    --------
    >>> array_of(array_bytes(np.arange(3))).tolist()
    [0, 1, 2]
    """
    if array.dtype.kind not in SIMPLE_KINDS:
        raise NotSaveable(
            f"an array of dtype {array.dtype} cannot be saved: use numbers, booleans or strings."
        )
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def array_of(data: bytes, kinds: str = SIMPLE_KINDS) -> NDArray[Any]:
    """Read an array; refuse it if the number of bytes does not match its header."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in READERS:
        raise FileRefused(f"an array has the unsupported version {version} of NumPy's format.")
    shape, fortran, dtype = READERS[version](stream)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or dtype.kind not in kinds or any(n < 0 for n in shape):
        raise FileRefused(f"an array has an invalid dtype or shape: {dtype}, {shape}.")
    if size == 0 and max(shape, default=0) > LARGEST_EMPTY:
        raise FileRefused(f"an array without content has the shape {shape}.")
    if len(data) - stream.tell() != size:
        raise FileRefused(f"an array of shape {shape} must have {size} bytes.")
    flat = np.frombuffer(data, dtype, offset=stream.tell()) if size else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def shared_array(name: str, read: Reader) -> NDArray[Any]:
    """An array that is shared by all references, so that another reference costs nothing.

    It is read-only.
    """
    if name not in read.arrays:
        array = array_of(read(name))
        array.flags.writeable = False
        read.arrays[name] = array
    return read.arrays[name]


def labels_record(labels: NDArray[Any] | None) -> dict[str, Any] | None:
    """Class labels or column names as JSON, with their dtype."""
    if labels is None:
        return None
    values = labels.tolist()
    if labels.dtype.kind not in SIMPLE_KINDS + "O" or not all(_is_plain(each) for each in values):
        odd = next((type(each).__name__ for each in values if not _is_plain(each)), labels.dtype)
        raise NotSaveable(
            f"labels of type {odd} cannot be saved: use strings, numbers or booleans."
        )
    return {"dtype": labels.dtype.str, "values": values}


def labels_of(record: Any, read: Reader) -> NDArray[Any] | None:
    """Inverse of `labels_record`; the reader must have enough memory for their dtype."""
    if record is None:
        return None
    dtype = np.dtype(str(record["dtype"]))
    if dtype.kind not in SIMPLE_KINDS + "O" or dtype.itemsize > LARGEST_LABEL:
        raise FileRefused(f"labels have the invalid dtype {dtype}.")
    values = record["values"]
    if not isinstance(values, list) or not all(_is_plain(each) for each in values):
        raise FileRefused("labels must be strings, numbers or booleans.")
    read.charge(dtype.itemsize * len(values), "labels")
    return np.array(values, dtype=dtype)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int) or (
        isinstance(value, float) and math.isfinite(value)
    )


def plain_record(value: Any, members: Members, name: str) -> Any:
    """A parameter as JSON: numbers, strings, None, and lists, tuples, dicts and arrays of them.

    Parameters
    ----------
    value : object
    members : Members
        Arrays are added to it.
    name : str
        Name of the parameter, for the error message.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [plain_record(each, members, name) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [plain_record(each, members, name) for each in value]}
    if isinstance(value, dict):
        pairs = [
            [plain_record(part, members, name) for part in (key, item)]
            for key, item in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, np.ndarray):
        return {"array": members.add("arrays", array_bytes(value), "npy")}
    raise NotSaveable(
        f"{name} has the type {type(value).__module__}.{type(value).__qualname__}, which cannot "
        "be saved: use a number, string, list or dict instead, or leave it out."
    )


def plain_of(record: Any, read: Reader) -> Any:
    """Inverse of `plain_record`."""
    if isinstance(record, list):
        return [plain_of(each, read) for each in record]
    if not isinstance(record, dict):
        return record
    ((kind, content),) = record.items()
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "tuple":
        return tuple(plain_of(each, read) for each in content)
    if kind == "dict":
        return {plain_of(key, read): plain_of(item, read) for key, item in content}
    if kind == "array":
        return shared_array(content, read)
    raise FileRefused(f"a parameter has the unknown kind {str(kind)[:40]!r}.")


def stack_record(objects: Sequence[Any], names: Sequence[str], members: Members) -> dict[str, Any]:
    """Fields of many instances of a dataclass, draw axis first; equal values are stored once."""
    record: dict[str, Any] = {}
    for name in names:
        values = [getattr(each, name) for each in objects]
        if values[0] is None:
            record[name] = None
            continue
        arrays = [np.asarray(value) for value in values]
        same = all(_same_bits(arrays[0], each) for each in arrays)
        data = array_bytes(arrays[0] if same else np.stack(arrays))
        record[name] = {"array": members.add("arrays", data, "npy"), "same": same}
    return record


def stack_of(record: Any, kind: type, size: int, read: Reader, **shared: Any) -> list[Any]:
    """Inverse of `stack_record`: `size` instances of `kind`, all with the fields `shared`."""
    names = [each.name for each in fields(kind) if each.name not in shared]
    if not isinstance(record, dict) or sorted(record) != sorted(names):
        raise FileRefused(f"{kind.__name__} must have the fields {', '.join(sorted(names))}.")
    columns = {name: column_of(record[name], size, read) for name in names}
    return [
        kind(**{name: column[i] for name, column in columns.items()}, **shared) for i in range(size)
    ]


def column_of(record: Any, size: int, read: Reader) -> Sequence[Any]:
    """One value per draw of a field in a `stack_record`."""
    if record is None:
        return [None] * size
    array = array_of(read(record["array"]), "biuf")
    if record["same"] is True:
        return [_scalar_or_array(array)] * size
    if array.ndim == 0 or len(array) != size:
        raise FileRefused(f"an array of draws must have {size} draws, got shape {array.shape}.")
    return [_scalar_or_array(each) for each in array]


def _scalar_or_array(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or (a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
