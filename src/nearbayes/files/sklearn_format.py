"""scikit-learn models by skops, with a list of types that is ours (`allowed.py`).

skops writes a zip file of its own: a schema in JSON, and arrays in NumPy's format. We store it
without compression, with members numbered in order, so that equal models are equal bytes; and look
at every node of the schema before skops does.
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
from nearbayes.files.container import WRITTEN, FileRefused
from nearbayes.files.indices import check_parts, check_tree

__all__ = ["dump", "load"]

SCHEMA = "schema.json"
PROTOCOL = 2  # skops' own number for what its schema means, as of 0.16
ARRAY_NAME = re.compile(r"[0-9]+\.npy")
ANY_KIND = "biufUV"  # V: the nodes of a tree are rows of named columns
# Whether these are one object or two makes no difference.
UNCHANGING = ("DTypeNode", "FunctionNode", "JsonNode", "TupleNode", "TypeNode")
Files = dict[str, bytes]
Names = dict[str, str]


def dump(model: Any, trusted: Collection[str] = ()) -> bytes:
    """A scikit-learn model as bytes; `NotSaveable` names a type that is not allowed."""
    skops = _skops()
    try:
        packed = skops.dumps(model)
    except (TypeError, AttributeError, RecursionError, ValueError) as error:
        raise NotSaveable(
            f"{type(model).__name__} cannot be saved: skops says {str(error)[:200]}."
        ) from error
    schema, files = _unpack(packed)
    for loader, name in _nodes(schema):
        if not _is_allowed(loader, name, trusted):
            raise NotSaveable(
                f"{type(model).__name__} holds {name}, which is not among the types that "
                "nearbayes saves: leave it out of the model, or allow it with "
                f"trusted=[{name!r}], on save and on load, if you know that it is harmless."
            )
    return _pack(schema, files)


def load(data: bytes, trusted: Collection[str] = ()) -> Any:
    """Undo `dump`, after a look at everything in it."""
    schema, files = _unpack(data)
    if schema.get("protocol") != PROTOCOL:
        raise FileRefused("a model was written by a skops of another protocol: upgrade skops.")
    for loader, name in _nodes(schema):
        if not _is_allowed(loader, name, trusted):
            raise FileRefused(
                f"a model holds {str(name)[:100]}, which is not among the types that nearbayes "
                "loads: trusted=[...] allows it, if you know the file and the type."
            )
    _check_arrays(schema, files)
    names = sorted({name for _, name in _nodes(schema)})  # all on the list, as was just seen
    with warnings.catch_warnings():
        # of scikit-learn's version, once per tree: `versions` says it once per file
        warnings.filterwarnings("ignore", message="Trying to unpickle estimator")
        model = _skops().loads(data, trusted=names)
    check_parts(model)
    return model


def _check_arrays(schema: dict[str, Any], files: Files) -> None:
    """Refuse arrays that are none, and trees that are none, before anything is made of them."""
    for name, data in files.items():
        if not ARRAY_NAME.fullmatch(name):
            raise FileRefused(f"a model has the odd member {name[:80]!r}.")
        array_of(data, ANY_KIND)
    known: dict[Any, dict[str, Any]] = {}
    for node in _dicts(schema):
        # skops makes one object of all nodes with the same number: the first of them
        if _has_number(node) and known.setdefault(node["__id__"], node) != node:
            raise FileRefused("two objects of a model have the same number.")
        if node.get("__loader__") == "TreeNode":
            n_features, n_classes, n_outputs = _plain(node["__reduce__"]["args"], files)
            check_tree(n_features, n_classes, n_outputs, _plain(node["content"], files))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as missing:
        raise ImportError(
            "files with scikit-learn models need skops: pip install 'nearbayes[io]'."
        ) from missing
    return skops.io


def _is_allowed(loader: str, name: str, trusted: Collection[str]) -> bool:
    return name in ALLOWED.get(loader, ()) or (loader in ALLOWED and name in trusted)


def _unpack(data: bytes) -> tuple[dict[str, Any], Files]:
    """Schema and arrays; nothing may be compressed, so nothing is larger than it looks."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        infos = packed.infolist()
        names = [info.filename for info in infos]
        stored = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not stored or sum(info.file_size for info in infos) > len(data):
            raise FileRefused("a model is compressed in a way that nearbayes does not use.")
        if len(set(names)) < len(names):
            raise FileRefused("two members of a model have the same name.")
        files = {name: packed.read(name) for name in names}
    schema = json.loads(files.pop(SCHEMA))
    if not isinstance(schema, dict):
        raise FileRefused("a model has no schema.")
    return schema, files


def _pack(schema: dict[str, Any], files: Files) -> bytes:
    """Objects and arrays numbered in the order of the schema, not by where they were in memory."""
    named: Names = {}
    often = Counter(node["__id__"] for node in _dicts(schema) if _has_number(node))
    schema = _renumbered(schema, often, {}, named)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        text = json.dumps(schema, separators=(",", ":")).encode()
        arrays = ((new, _without_padding(files[old])) for old, new in named.items())
        for name, data in [(SCHEMA, text), *arrays]:
            packed.writestr(zipfile.ZipInfo(name, WRITTEN), data)
    return stream.getvalue()


def _without_padding(data: bytes) -> bytes:
    """An array whose rows of named columns have zeros between them, not what was in memory."""
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
    """A schema with numbers for objects that are held twice, and for no others.

    All nodes of such an object are alike, too: skops makes one object of them.
    """
    if isinstance(value, list):
        return [_renumbered(each, often, known, named) for each in value]
    if not isinstance(value, dict):
        return value
    number = value.get("__id__")
    if isinstance(number, int) and number in known:
        return known[number]
    node = {key: _renumbered(each, often, known, named) for key, each in value.items()}
    if not isinstance(number, int):  # no node, but what is in one
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
    return isinstance(node.get("__id__"), int)  # else it is a key of the user's own dict


def _nodes(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How every object of a schema is made, and of what type."""
    for node in _dicts(schema):
        if node.keys() & {"__loader__", "__class__", "__module__"}:
            loader, module, kind = (
                node.get(key) for key in ("__loader__", "__module__", "__class__")
            )
            yield str(loader), f"{module}.{kind}"


def _plain(node: dict[str, Any], files: Files) -> Any:
    """What a node of plain values stands for."""
    makers: dict[str, Callable[[], Any]] = {
        "JsonNode": lambda: json.loads(node["content"]),
        "NdArrayNode": lambda: array_of(files[node["file"]], ANY_KIND),
        "TupleNode": lambda: tuple(_plain(each, files) for each in node["content"]),
        "DictNode": lambda: {key: _plain(each, files) for key, each in node["content"].items()},
    }
    return makers[node["__loader__"]]()
