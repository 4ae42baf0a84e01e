"""Mutation: random changes of saved files, by one who knows the format and its checksums.

Changes are made where they are meant: in a value or a key of the JSON, in an element, the shape or
the header of an array, in an object of a scikit-learn model, in a word of the text, in a member
that another kind of model lends, in a field of the zip file, and only sometimes in a byte.
"""

import io
import json
import re
import struct

import numpy as np
from forging import npy, skops_bytes, skops_parts

from nearbayes.files.allowed import ALLOWED

WHOLES = (-1, 0, 1, 2, 3, 7, -2, 255, 10**4, 10**6, 10**8, 2**31 - 1, -(2**31), 2**63 - 1, 10**30)
OTHERS = (None, True, False, "", "x", "nan", "\0", [], {}, [1], 0.5, -1.5, 1e308, 1e-300)
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1e9, -1e9)
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "<U3")
HEADERS = ("<f8", "<i4", "|O", "|V8", "<U2500", "|b1", ">f8", "<M8[ns]", "|S0", "<c16")
CONSTANTS = (b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400, b"[" * 5_000, b'"\\ud800"')


def mutated(files, rng, others=()):
    """Members of a file with one to three random changes; `others` lend members of theirs."""
    files = dict(files)
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(sorted(files)))
        suffix = name.rpartition(".")[2]
        lent = [each[key] for each in others for key in each if key.endswith(f".{suffix}")]
        if lent and suffix != "json" and rng.random() < 0.1:
            files[name] = lent[rng.integers(len(lent))]
        else:
            files[name] = _changed(suffix, files[name], rng)
    try:
        whole = isinstance(json.loads(files["manifest.json"]), dict)
    except (ValueError, RecursionError):
        whole = False
    return files if whole else {**files, "manifest.json": b"{}"}


def _changed(suffix, data, rng):
    changes = {"json": json_changed, "xgboost": boosted_changed, "npy": array_changed}
    changes |= {"skops": skops_changed, "lightgbm": text_changed}
    change = changes.get(suffix, bytes_changed)
    if suffix != "json" and rng.random() < 0.1:
        change = bytes_changed
    try:
        return change(data, rng)
    except Exception:
        # what an earlier change left is not of this format
        return bytes_changed(data, rng)


def bytes_changed(data, rng):
    found = bytearray(data)
    if not found:
        return b"x"
    for _ in range(rng.integers(1, 5)):
        found[rng.integers(len(found))] = rng.integers(256)
    if rng.random() < 0.2:
        start, end = sorted(rng.integers(0, len(found), 2))
        found[start:end] = b"" if rng.random() < 0.5 else found[start:end] * 2
    return bytes(found)


def container_changed(data, rng):
    """Change fields of the zip file's own: sizes, offsets, flags, names, what is around them."""
    found = bytearray(data)
    kind = rng.random()
    marks = [each.start() for each in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    if kind < 0.7:
        place = marks[rng.integers(len(marks))] + 4 + 2 * int(rng.integers(0, 20))
        value = WHOLES[rng.integers(len(WHOLES))] % 2**32
        form = "<H" if rng.random() < 0.5 else "<I"
        value %= 2**16 if form == "<H" else 2**32
        if place + 4 <= len(found):
            struct.pack_into(form, found, place, value)
        return bytes(found)
    start, end = sorted(marks[i] for i in rng.integers(0, len(marks), 2))
    if kind < 0.8:
        return data[:start] + data[end:]
    if kind < 0.9:
        return data[:end] + data[start:]
    return data + data if rng.random() < 0.5 else b"PK" + data


def json_changed(data, rng):
    parsed = json.loads(data)
    change_one(parsed, rng)
    return json.dumps(parsed).encode()


def boosted_changed(data, rng):
    return (json_text_changed if rng.random() < 0.2 else json_changed)(data, rng)


def json_text_changed(data, rng):
    """Change what parsing would hide: keys twice or escaped, numbers that none are, encodings."""
    kind = rng.random()
    if kind < 0.6:
        keys = list(re.finditer(rb'"(\w)(\w*)":', data))
        found = keys[rng.integers(len(keys))]
        first, rest = found.groups()
        escaped = b'"\\u%04x%s":' % (first[0], rest)
        value = CONSTANTS[rng.integers(len(CONSTANTS))] if kind < 0.3 else b"0"
        again = escaped if rng.random() < 0.5 else found.group()
        return data[: found.start()] + again + value + b"," + data[found.start() :]
    if kind < 0.9:
        numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data))
        found = numbers[rng.integers(len(numbers))]
        value = CONSTANTS[rng.integers(len(CONSTANTS))]
        return data[: found.start()] + value + data[found.end() :]
    text = data.decode()
    return text.encode(str(rng.choice(["utf-16", "utf-8-sig", "utf-32", "utf-7"])))


def change_one(parsed, rng):
    """Change one entry of a JSON value in place; deep entries are as likely as shallow ones."""
    places = list(_places(parsed))
    if not places:
        return
    part, key = places[rng.integers(len(places))]
    kind = rng.random()
    if kind < 0.1:
        del part[key]
    elif kind < 0.2:
        other, at = places[rng.integers(len(places))]
        part[key] = json.loads(json.dumps(other[at])) if key in _keys(part) else None
    elif kind < 0.3 and isinstance(part, list):
        part.insert(key, part[key])
    elif isinstance(part[key], str) and part[key].lstrip("-").isdigit():
        part[key] = str(WHOLES[rng.integers(len(WHOLES))])
    elif isinstance(part[key], int | float) and rng.random() < 0.7:
        part[key] = WHOLES[rng.integers(len(WHOLES))]
    else:
        choices = (*WHOLES, *OTHERS)
        part[key] = choices[rng.integers(len(choices))]


def _keys(part):
    return range(len(part)) if isinstance(part, list) else part


def _places(value):
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            for key in _keys(each):
                yield each, key
                waiting.append(each[key])


def header_changed(data, rng):
    """Another header before the same content."""
    array = np.load(io.BytesIO(data))
    shape = [*array.shape] or [1]
    shape[rng.integers(len(shape))] = WHOLES[rng.integers(len(WHOLES))]
    sizes = (tuple(shape), (0, 10**30), (2**32, 2**32), (-1, -8), array.shape)
    fields = {
        "descr": str(rng.choice(HEADERS)) if rng.random() < 0.4 else array.dtype.str,
        "fortran_order": bool(rng.integers(2)),
        "shape": sizes[rng.integers(len(sizes))],
    }
    text = repr(fields).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    version = (1, 0) if rng.random() < 0.8 else (int(rng.integers(4)), 0)
    size = struct.pack("<H", len(text)) if version[0] < 2 else struct.pack("<I", len(text))
    return np.lib.format.magic(*version) + size + text + array.tobytes()


def array_changed(data, rng):
    if rng.random() < 0.1:
        return header_changed(data, rng)
    array = np.load(io.BytesIO(data))
    kind = rng.random()
    if kind < 0.7 and array.size:
        array = array.copy()
        flat = array.reshape(-1)
        if flat.dtype.names:
            flat = flat[flat.dtype.names[rng.integers(len(flat.dtype.names))]]
        for _ in range(rng.integers(1, 4)):
            _set_element(flat, rng)
    elif kind < 0.8:
        array = array[: rng.integers(0, len(array) + 1)] if array.ndim else array.reshape(1)
    elif kind < 0.9 and array.ndim:
        array = np.concatenate([array, array]) if rng.random() < 0.5 else array.reshape(-1)
    elif not array.dtype.names:
        with np.errstate(all="ignore"):
            array = array.astype(str(rng.choice(DTYPES)))
    return npy(array)


def _set_element(flat, rng):
    place, kind = rng.integers(len(flat)), flat.dtype.kind
    if kind in "iu":
        limits = np.iinfo(flat.dtype)
        flat[place] = np.clip(WHOLES[rng.integers(len(WHOLES) - 1)], limits.min, limits.max)
    elif kind == "f":
        with np.errstate(all="ignore"):
            flat[place] = FLOATS[rng.integers(len(FLOATS))]
    elif kind == "b":
        flat[place] = not flat[place]
    elif kind == "U":
        flat[place] = "x"


def skops_changed(data, rng):
    schema, files = skops_parts(data)
    kind = rng.random()
    if files and kind < 0.5:
        name = str(rng.choice(sorted(files)))
        files[name] = array_changed(files[name], rng)
    elif kind < 0.6:
        a, b = (str(each) for each in rng.choice(sorted(files), 2))
        files[a] = files[b]
    elif kind < 0.85:
        node_changed(schema, rng)
    else:
        change_one(schema, rng)
    return skops_bytes(schema, files)


def node_changed(schema, rng):
    """Change an object of a schema in place: its type, its id, its parts, or put another there."""
    nodes = [part[key] for part, key in _places(schema) if _is_node(part[key])]
    node, other = (nodes[i] for i in rng.integers(0, len(nodes), 2))
    kind = rng.random()
    if kind < 0.3:  # two objects with one id, or ids that are equal to some
        number = WHOLES[rng.integers(len(WHOLES))]
        node["__id__"] = number
        same = (number, float(number), str(number), True)
        other["__id__"] = same[rng.integers(len(same))]
    elif kind < 0.5 and node["__loader__"] in ALLOWED:
        names = sorted(ALLOWED[node["__loader__"]])
        module, _, name = names[rng.integers(len(names))].rpartition(".")
        node.update(__module__=module, __class__=name)
    elif kind < 0.7:
        copied = json.loads(json.dumps(other))
        node.clear()
        node.update(copied)
    elif kind < 0.9 and isinstance(node.get("content"), list):
        size = rng.integers(0, len(node["content"]) + 1)
        node["content"] = node["content"][:size] if rng.random() < 0.7 else node["content"] * 2
    else:
        value = (*WHOLES, *OTHERS, "null", "[1]", "[]", "{}", "1e999")[rng.integers(15, 34)]
        node.update(__class__="str", __module__="builtins", __loader__="JsonNode", content=value)


def _is_node(value):
    return isinstance(value, dict) and isinstance(value.get("__loader__"), str)


def text_changed(data, rng):
    """Change a word or a line of LightGBM's text; sizes of trees are put right."""
    lines = data.split(b"\n")
    place = rng.integers(len(lines))
    kind = rng.random()
    if kind < 0.7:
        words = re.split(rb"([ =:])", lines[place])
        words[rng.integers(len(words))] = str(WHOLES[rng.integers(len(WHOLES))]).encode()
        lines[place] = b"".join(words)
    elif kind < 0.8:
        del lines[place]
    elif kind < 0.9:
        lines.insert(place, lines[rng.integers(len(lines))])
    else:
        lines[place] += bytes(rng.choice([b"\r", b" ", b"\t", b"\0", b"\n"]))
    return resized(b"\n".join(lines))


def resized(text):
    """Sizes of LightGBM's trees put right."""
    starts = [found.start() for found in re.finditer(rb"Tree=\d+\n", text)]
    end = text.find(b"end of trees")
    if not starts or end < 0:
        return text
    ends = [*starts[1:], end]
    sizes = b" ".join(str(b - a).encode() for a, b in zip(starts, ends, strict=True))
    return re.sub(rb"tree_sizes=[^\n]*", b"tree_sizes=" + sizes, text)
