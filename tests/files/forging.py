"""Forging: changes to saved files by an attacker who knows the format and its checksums."""

import hashlib
import io
import json
import zipfile

import numpy as np

import nearbayes as nb

SETTINGS = {"n_draws": 2, "n_refits": 1, "random_state": 0, "calibration": None, "progress": False}


def unpacked(path):
    """Members of a file by name."""
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def repacked(path, files, compression=zipfile.ZIP_DEFLATED, change=lambda manifest: manifest):
    """A file of these members, with the checksums that they need; `change` the manifest's text."""
    manifest = json.loads(files["manifest.json"])
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in files.items()
        if name != "manifest.json"
    }
    with zipfile.ZipFile(path, "w", compression) as packed:
        text = change(json.dumps(manifest).encode())
        for name, data in {**files, "manifest.json": text}.items():
            packed.writestr(name, data)
    return path


def with_manifest(path, original, change, compression=zipfile.ZIP_DEFLATED):
    """The file with another manifest."""
    files = unpacked(original)
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    text = json.dumps(manifest).encode()
    return repacked(path, {**files, "manifest.json": text}, compression)


def with_models(path, original, suffix, change):
    """The file with other models."""
    files = unpacked(original)
    changed = {
        name: change(data) if name.endswith(suffix) else data for name, data in files.items()
    }
    assert changed != files
    return repacked(path, changed)


def skops_parts(data):
    """Schema and arrays of a scikit-learn model."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    return json.loads(files.pop("schema.json")), files


def skops_bytes(schema, files):
    """Inverse of `skops_parts`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("schema.json", json.dumps(schema))
        for name, content in files.items():
            packed.writestr(name, content)
    return stream.getvalue()


def npy(array):
    """An array as the bytes of an .npy file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def saved(path, estimator, X, y, **settings):
    """A small posterior of an estimator in a file."""
    classifies = y.dtype.kind in "UO" or y.dtype.kind == "i"
    kind = nb.PosteriorClassifier if classifies else nb.PosteriorRegressor
    return kind(estimator, **{**SETTINGS, **settings}).fit(X, y).save(path)
