"""scikit-learn models in the format of skops, restricted to the types in `allowed.py`.

skops writes a zip file with a schema in JSON and arrays in NumPy's format. We store it without
compression and number its members in order, so that equal models give equal bytes. On load, every
node of the schema is checked before skops reads it.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from nearbayes.files.allowed import ALLOWED
from nearbayes.files.arrays import NotSaveable, array_of
from nearbayes.files.container import WRITTEN
from nearbayes.files.refusal import FileRefused
from nearbayes.files.sklearn_parts import check_parts
from nearbayes.files.sklearn_states import check_state
from nearbayes.files.strict_json import parsed_json

__all__ = ["dump", "load"]

SCHEMA = "schema.json"
PROTOCOL = 2  # version of the skops schema, as of skops 0.16
ARRAY_NAME = re.compile(r"[0-9]+\.npy")
ANY_KIND = "biufUV"  # V: the nodes of a tree are a structured array
# Immutable: it does not matter whether these are one object or two.
UNCHANGING = ("DTypeNode", "FunctionNode", "JsonNode", "TupleNode", "TypeNode")
Files = dict[str, bytes]
Names = dict[str, str]


def dump(model: Any, trusted: Collection[str] = ()) -> bytes:
    """A scikit-learn model as bytes; raises `NotSaveable` for a type that is not allowed."""
    skops = _skops()
    try:
        packed = skops.dumps(model)
    except (TypeError, AttributeError, RecursionError, ValueError) as error:
        raise NotSaveable(
            f"{type(model).__name__} cannot be saved by skops: {str(error)[:200]}."
        ) from error
    schema, files = _unpack(packed)
    for loader, name in _nodes(schema):
        if not _is_allowed(loader, name, trusted):
            raise NotSaveable(
                f"{type(model).__name__} holds {name}, which is not a type that nearbayes can "
                "save: remove it from the model, or, if you know that it is harmless, pass "
                f"trusted=[{name!r}] on save and on load."
            )
    return _pack(schema, files)


def load(data: bytes, trusted: Collection[str] = ()) -> Any:
    """Inverse of `dump`; checks everything first."""
    schema, files = _unpack(data)
    if schema.get("protocol") != PROTOCOL:
        raise FileRefused("a model has another version of the skops format: upgrade skops.")
    for loader, name in _nodes(schema):
        if not _is_allowed(loader, name, trusted):
            raise FileRefused(
                f"a model holds {str(name)[:100]}, which is not a type that nearbayes can load: "
                "add it to trusted=[...] if you trust the file and the type."
            )
    _check_states(schema, files)
    names = sorted({name for _, name in _nodes(schema)})  # all allowed, as just checked
    with warnings.catch_warnings():
        # scikit-learn warns of other versions once per tree; `versions` warns once per file
        warnings.filterwarnings("ignore", message="Trying to unpickle estimator")
        # the checked content, not the bytes of the file
        model = _skops().loads(_zipped(schema, files), trusted=names)
    check_parts(model, trusted)
    return model


def _check_states(schema: dict[str, Any], files: Files) -> None:
    """Refuse invalid arrays and states before any object is created from them."""
    for name, data in files.items():
        if not ARRAY_NAME.fullmatch(name):
            raise FileRefused(f"a model has the unknown member {name[:80]!r}.")
        array_of(data, ANY_KIND)
    known: dict[Any, dict[str, Any]] = {}
    for node in _dicts(schema):
        number = node.get("__id__", {})
        # a dict is the entry of a user's dict; otherwise skops accepts any possible key
        if not isinstance(number, dict) and type(number) is not int:
            raise FileRefused("an object of a model has an id that is not a whole number.")
        # skops creates one object, from the first node, for all nodes with the same id
        if _has_number(node) and known.setdefault(number, node) != node:
            raise FileRefused("two objects of a model have the same id.")
        check_state(node, lambda part: _plain(part, files))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError(
            "files with scikit-learn models need skops: pip install 'nearbayes[files]'."
        ) from missing
    return skops.io


def _is_allowed(loader: str, name: str, trusted: Collection[str]) -> bool:
    return name in ALLOWED.get(loader, ()) or (loader in ALLOWED and name in trusted)


def _unpack(data: bytes) -> tuple[dict[str, Any], Files]:
    """Schema and arrays; compression is refused, so nothing can be larger than the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        infos = packed.infolist()
        names = [info.filename for info in infos]
        stored = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not stored or sum(info.file_size for info in infos) > len(data):
            raise FileRefused("a model uses a compression that nearbayes does not write.")
        if len(set(names)) < len(names):
            raise FileRefused("two members of a model have the same name.")
        files = {name: packed.read(name) for name in names}
    schema = parsed_json(files.pop(SCHEMA), "the schema of a model")
    if not isinstance(schema, dict):
        raise FileRefused("a model has no schema.")
    return schema, files


def _pack(schema: dict[str, Any], files: Files) -> bytes:
    """Number objects and arrays in the order of the schema, not by memory address."""
    named: Names = {}
    often = Counter(node["__id__"] for node in _dicts(schema) if _has_number(node))
    schema = _renumbered(schema, often, {}, named)
    return _zipped(schema, {new: _without_padding(files[old]) for old, new in named.items()})


def _zipped(schema: dict[str, Any], files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        text = json.dumps(schema, separators=(",", ":")).encode()
        for name, data in [(SCHEMA, text), *files.items()]:
            packed.writestr(zipfile.ZipInfo(name, WRITTEN), data)
    return stream.getvalue()


def _without_padding(data: bytes) -> bytes:
    """A structured array with zeros as padding, instead of random memory content."""
    array = array_of(data, ANY_KIND)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        clean[name] = array[name]
    stream = io.BytesIO()
    np.lib.format.write_array(stream, clean, allow_pickle=False)
    return stream.getvalue()


def _renumbered(value: Any, often: Counter[Any], known: dict[int, Any], named: Names) -> Any:
    """A schema with ids only for objects that occur more than once.

    All nodes of such an object become equal, because skops creates one object for them.
    """
    if isinstance(value, list):
        return [_renumbered(each, often, known, named) for each in value]
    if not isinstance(value, dict):
        return value
    number = value.get("__id__")
    if isinstance(number, int) and number in known:
        return known[number]
    node = {key: _renumbered(each, often, known, named) for key, each in value.items()}
    if not isinstance(number, int):  # not a node, but the content of one
        return node
    if node["__loader__"] == "NdArrayNode" and "file" in node:
        node["file"] = named.setdefault(node["file"], f"{len(named)}.npy")
    if often[number] == 1 or node["__loader__"] in UNCHANGING:
        del node["__id__"]
        return node
    known[number] = node
    node["__id__"] = len(known)
    return node


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object of a schema, in order."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list):
            waiting.extend(reversed(each))


def _has_number(node: dict[str, Any]) -> bool:
    return isinstance(node.get("__id__"), int)  # otherwise it is a key of a user's dict


def _nodes(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Loader and type of every object of a schema."""
    for node in _dicts(schema):
        if node.keys() & {"__loader__", "__class__", "__module__"}:
            loader, module, kind = (
                node.get(key) for key in ("__loader__", "__module__", "__class__")
            )
            yield str(loader), f"{module}.{kind}"


def _plain(node: dict[str, Any], files: Files) -> Any:
    """Value of a node that holds plain values."""
    makers: dict[str, Callable[[], Any]] = {
        "JsonNode": lambda: json.loads(node["content"]),
        "NdArrayNode": lambda: array_of(files[node["file"]], ANY_KIND),
        "TupleNode": lambda: tuple(_plain(each, files) for each in node["content"]),
        "DictNode": lambda: {key: _plain(each, files) for key, each in node["content"].items()},
    }
    return makers[node["__loader__"]]()
