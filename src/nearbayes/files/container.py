"""Container: one zip file with a manifest that names, measures and hashes every member.

Nothing in it is trusted when it is read: names, sizes and checksums are looked at before any
member is, sizes again while members are unpacked, and no member is ever written to disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

__all__ = ["MANIFEST", "Archive", "FileRefused", "Members", "attachment_name", "write"]

MANIFEST = "manifest.json"
MEGABYTE = 1_000_000
MOST_MEMBERS = 1_000_000
# Deflate reaches 1000:1 on zeros; what compresses better than this is stored as it is, and a file
# that claims to hold more is a decompression bomb. Small members may be as dense as they like.
LARGEST_RATIO, SMALL = 200, MEGABYTE
KNOWN_NAMES = re.compile(
    r"manifest\.json|arrays/[0-9a-f]{32}\.npy|models/[0-9a-f]{32}\.(skops|xgboost|lightgbm)"
    r"|attachments/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
)
WRITTEN = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file, whenever it is saved


class FileRefused(ValueError):  # noqa: N818 - it says what the matter is
    """A file that is damaged, made to do harm, or too new; nothing in it was run."""


class Members:
    """What goes into a file: members named by their content, so that equal ones are kept once.

    Examples
    --------
    >>> members = Members()
    >>> members.add("arrays", b"same", "npy") == members.add("arrays", b"same", "npy")
    True
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def add(self, folder: str, data: bytes, suffix: str) -> str:
        """Keep data; give the name to find it by."""
        name = f"{folder}/{_hash(data)[:32]}.{suffix}"
        self.files[name] = data
        return name


def attachment_name(name: str) -> str:
    """The member that an attachment is kept as."""
    member = f"attachments/{name}"
    if not KNOWN_NAMES.fullmatch(member):
        raise ValueError(
            "attachments must be named by letters, digits, '_', '.' and '-', at most 100 of them, "
            f"got {name!r}: rename it."
        )
    return member


def write(
    path: Path,
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes],
    most_bytes: float | None = None,
) -> int:
    """Write the file, or leave what was there: under another name first, then moved in place.

    Returns
    -------
    int
        Size of the file. Where that is above `most_bytes`, nothing was written.
    """
    listed = {
        name: {"sha256": _hash(data), "size": len(data)} for name, data in sorted(files.items())
    }
    text = json.dumps({**manifest, "members": listed}, allow_nan=False, separators=(",", ":"))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            _pack(stream, {MANIFEST: text.encode(), **files})
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        if most_bytes is None or size <= most_bytes:
            os.replace(temporary, path)
        return size
    finally:
        temporary.unlink(missing_ok=True)


def _pack(stream: IO[bytes], files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w") as packed:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, WRITTEN)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            packed.writestr(member, data, zipfile.ZIP_STORED if _dense(data) else 8, 6)
        stream.seek(0, os.SEEK_END)


def _dense(data: bytes) -> bool:
    """Whether data would be taken for a decompression bomb."""
    return len(data) > SMALL and len(data) > LARGEST_RATIO * len(zlib.compress(data, 6))


class Archive:
    """A file opened for reading; a context manager.

    Parameters
    ----------
    path : path
    most_megabytes : float
        Refuse files that unpack to more.

    Attributes
    ----------
    manifest : dict
        As it is in the file: not checked beyond `members`.
    packed : dict
        Size in the file of every member, by name.
    """

    def __init__(self, path: str | os.PathLike[str], most_megabytes: float) -> None:
        self.path = Path(path)
        self._stream = self.path.open("rb")
        try:
            with refusing(self.path):
                self._zip = zipfile.ZipFile(self._stream)
                self._infos = _checked_members(self._zip.infolist(), most_megabytes)
                self.manifest = _parsed(self._unpacked(MANIFEST))
                self._listed = _checked_list(self.manifest, self._infos)
        except BaseException:
            self._stream.close()
            raise
        self.packed = {name: info.compress_size for name, info in self._infos.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    @property
    def names(self) -> list[str]:
        """Members beside the manifest."""
        return list(self._listed)

    def read(self, name: str) -> bytes:
        """A member, if it is what the manifest says."""
        with refusing(self.path):
            if name not in self._listed:
                raise FileRefused(f"it has no member {str(name)[:80]!r}.")
            data = self._unpacked(name)
            if _hash(data) != self._listed[name]:
                raise FileRefused(f"the checksum of {name} is wrong: the file was changed.")
        return data

    def _unpacked(self, name: str) -> bytes:
        info = self._infos[name]
        with self._zip.open(info) as member:
            data = member.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise FileRefused(f"{name} has not the size that it says.")
        return data


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a file is read, it is the file that is refused."""
    try:
        yield
    except FileRefused as refused:
        if str(refused).startswith(str(path)):
            raise
        raise FileRefused(f"{path} is refused: {refused}") from refused.__cause__
    except ImportError:
        raise  # a library that is not here is no fault of the file
    except Exception as error:
        raise FileRefused(
            f"{path} is damaged, or no file of nearbayes: {type(error).__name__}: "
            f"{str(error)[:200]}."
        ) from error


def _checked_members(
    infos: list[zipfile.ZipInfo], most_megabytes: float
) -> dict[str, zipfile.ZipInfo]:
    """Members by name, if names and sizes are harmless; nothing has been unpacked yet."""
    if len(infos) > MOST_MEMBERS:
        raise FileRefused(f"it has {len(infos)} members.")
    by_name = {info.filename: info for info in infos}
    if len(by_name) < len(infos):
        raise FileRefused("two members have the same name.")
    for info in infos:
        _check_member(info)
    total = sum(info.file_size for info in infos)
    if total > most_megabytes * MEGABYTE:
        raise FileRefused(
            f"it unpacks to {total / MEGABYTE:.0f} MB, more than max_megabytes={most_megabytes:g}: "
            "give a larger one if you trust the file."
        )
    if MANIFEST not in by_name:
        raise FileRefused("it has no manifest.json, so nearbayes did not write it.")
    return by_name


def _check_member(info: zipfile.ZipInfo) -> None:
    # the name as written: zipfile cuts names at a zero byte and turns separators around
    if info.orig_filename != info.filename or not KNOWN_NAMES.fullmatch(info.filename):
        raise FileRefused(f"{info.orig_filename[:80]!r} is no member that nearbayes writes.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise FileRefused(f"{info.filename} is a link or a device, not a file.")
    if info.flag_bits & 0x1:
        raise FileRefused(f"{info.filename} is encrypted.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileRefused(f"{info.filename} is compressed in a way that nearbayes does not use.")
    if info.file_size > SMALL and info.file_size > 2 * LARGEST_RATIO * info.compress_size:
        raise FileRefused(f"{info.filename} is a decompression bomb.")


def _parsed(text: bytes) -> dict[str, Any]:
    def refused(constant: str) -> Any:
        raise FileRefused(f"its manifest has the number {constant}.")

    try:
        manifest = json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileRefused):
            raise
        raise FileRefused(f"its manifest is no JSON ({str(error)[:100]}).") from error
    if not isinstance(manifest, dict):
        raise FileRefused("its manifest is no JSON object.")
    return manifest


def _checked_list(manifest: dict[str, Any], infos: Mapping[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Checksums by member, if the manifest lists exactly what is there."""
    members = manifest.get("members")
    if not isinstance(members, dict) or set(members) != set(infos) - {MANIFEST}:
        raise FileRefused("its members are not those that its manifest lists.")
    for name, said in members.items():
        if not isinstance(said, dict) or said.get("size") != infos[name].file_size:
            raise FileRefused(f"{name} has not the size that the manifest says.")
    return {name: str(said.get("sha256")) for name, said in members.items()}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
