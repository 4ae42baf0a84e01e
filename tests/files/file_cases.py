"""Files of an attacker who knows the format."""

import hashlib
import json
import zipfile


def unpacked(path):
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def repacked(path, files):
    """The files of an attacker who knows about checksums."""
    manifest = json.loads(files["manifest.json"])
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in files.items()
        if name != "manifest.json"
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            packed.writestr(name, data)
    return path


def with_manifest(path, original, change):
    """The file with another manifest."""
    files = unpacked(original)
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    return repacked(path, {**files, "manifest.json": json.dumps(manifest).encode()})


def change_of(*keys, to):
    def change(manifest):
        part = manifest
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = to

    return change
