"""Container: a zip file with a manifest that lists the size and checksum of every member.

Nothing in a file is trusted: names and sizes are checked before any member is unpacked, sizes and
checksums again after it, and no member is ever written to disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import struct
import weakref
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from nearbayes.files.atomic import replacing
from nearbayes.files.refusal import FileRefused, refusing
from nearbayes.files.strict_json import parsed_json

__all__ = ["MANIFEST", "Archive", "Members", "attachment_name", "write"]

MANIFEST = "manifest.json"
MEGABYTE = 1_000_000
MOST_MEMBERS = 200_000
# Python makes up to 25 bytes of one byte of JSON.
MANIFEST_SHARE = 1 / 40
# Deflate reaches 1000:1 on zeros. Members that compress better than this ratio are stored
# uncompressed, so a file that exceeds it is a decompression bomb. Small members have no limit.
LARGEST_RATIO, SMALL = 200, MEGABYTE
KNOWN_NAMES = re.compile(
    r"manifest\.json|arrays/[0-9a-f]{32}\.npy|models/[0-9a-f]{32}\.(skops|xgboost|lightgbm)"
    r"|attachments/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
)
# Layout of a zip file: headers of members, and the end of the file.
HEADER, END, LARGE_END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s4H2IH"), 76
WRITTEN = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same model always gives the same file


class Members:
    """Members of a file, named by a hash of their content so that equal ones are stored once.

    Examples
    --------
    >>> members = Members()
    >>> members.add("arrays", b"same", "npy") == members.add("arrays", b"same", "npy")
    True
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def add(self, folder: str, data: bytes, suffix: str) -> str:
        """Add data and return its name."""
        name = f"{folder}/{_hash(data)[:32]}.{suffix}"
        self.files[name] = data
        return name


def attachment_name(name: str) -> str:
    """Name of the member that stores an attachment."""
    member = f"attachments/{name}"
    if not KNOWN_NAMES.fullmatch(member):
        raise ValueError(
            "attachments must have names of at most 100 letters, digits, '_', '.' and '-', got "
            f"{name!r}."
        )
    return member


def write(
    path: Path,
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes],
    most_bytes: float | None = None,
) -> int:
    """Write the file, completely or not at all.

    Returns
    -------
    int
        Size of the file. If it is above `most_bytes`, nothing was written.
    """
    listed = {
        name: {"sha256": _hash(data), "size": len(data)} for name, data in sorted(files.items())
    }
    text = json.dumps({**manifest, "members": listed}, allow_nan=False, separators=(",", ":"))
    with replacing(path) as draft:
        with draft.open("wb") as stream:
            _pack(stream, {MANIFEST: text.encode(), **files})
            size = stream.tell()
        if most_bytes is not None and size > most_bytes:
            draft.unlink()
    return size


def _pack(stream: IO[bytes], files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w") as packed:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, WRITTEN)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            packed.writestr(member, data, zipfile.ZIP_STORED if _dense(data) else 8, 6)
        stream.seek(0, os.SEEK_END)


def _dense(data: bytes) -> bool:
    """Whether compressed data would look like a decompression bomb."""
    return len(data) > SMALL and len(data) > LARGEST_RATIO * len(zlib.compress(data, 6))


class Archive:
    """A file opened for reading; a context manager.

    Parameters
    ----------
    path : path or binary stream
        A stream is closed at the end.
    most_megabytes : float
        Larger files, when unpacked, are refused.
    whole : bool
        Whether all of it will be in memory; otherwise only the manifest has to be small.

    Attributes
    ----------
    manifest : dict
        Content of the manifest; only its `members` are checked.
    packed : dict
        Compressed size of every member, by name.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        most_megabytes: float,
        whole: bool = True,
    ) -> None:
        if isinstance(path, str | os.PathLike):
            self.path = Path(path)
            self._stream: IO[bytes] = self.path.open("rb")
        else:
            self.path, self._stream = Path("the model inside"), path
        weakref.finalize(self, self._stream.close)
        try:
            with refusing(self.path):
                self._zip = zipfile.ZipFile(self._stream)
                self._infos = _checked_members(self._zip.infolist(), most_megabytes, whole)
                _check_layout(self._stream, self._zip)
                self.manifest = _parsed(self._unpacked(MANIFEST))
                self._listed = _checked_list(self.manifest, self._infos)
        except BaseException:
            self._stream.close()
            raise
        self.packed = {name: info.compress_size for name, info in self._infos.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    @property
    def names(self) -> list[str]:
        """Names of all members except the manifest."""
        return list(self._listed)

    def read(self, name: str) -> bytes:
        """Read a member and verify its checksum."""
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
            raise FileRefused(f"the size of {name} is not {info.file_size} bytes, as declared.")
        return data


def _checked_members(
    infos: list[zipfile.ZipInfo], most_megabytes: float, whole: bool
) -> dict[str, zipfile.ZipInfo]:
    """Members by name, after checking names and sizes; nothing has been unpacked yet."""
    if len(infos) > MOST_MEMBERS:
        raise FileRefused(f"it has {len(infos)} members, more than {MOST_MEMBERS}.")
    by_name = {info.filename: info for info in infos}
    if len(by_name) < len(infos):
        raise FileRefused("two members have the same name.")
    for info in infos:
        _check_member(info)
    total = sum(info.file_size for info in infos)
    if whole and total > most_megabytes * MEGABYTE:
        raise FileRefused(
            f"it unpacks to {total / MEGABYTE:.0f} MB, more than max_megabytes={most_megabytes:g}: "
            "increase it if you trust the file."
        )
    if MANIFEST not in by_name:
        raise FileRefused("it has no manifest.json, so it was not written by nearbayes.")
    if by_name[MANIFEST].file_size > max(SMALL, MANIFEST_SHARE * most_megabytes * MEGABYTE):
        raise FileRefused(
            f"its manifest takes {by_name[MANIFEST].file_size / MEGABYTE:.0f} MB, more than 1/40 "
            f"of max_megabytes={most_megabytes:g}: increase it if you trust the file."
        )
    return by_name


def _check_layout(stream: IO[bytes], packed: zipfile.ZipFile) -> None:
    """Refuse data outside the members, and overlaps: readers might interpret them differently."""
    place = 0
    for info in sorted(packed.infolist(), key=lambda each: each.header_offset):
        stream.seek(place)
        header = stream.read(HEADER.size)
        if info.header_offset != place or len(header) < HEADER.size or info.flag_bits:
            raise FileRefused(f"there is something beside its members, at {info.filename}.")
        *_, name_length, extra_length = HEADER.unpack(header)
        place += HEADER.size + name_length + extra_length + info.compress_size
    stream.seek(-END.size, os.SEEK_END)
    mark, _, _, _, _, size, _, n_comment = END.unpack(stream.read())
    rest = stream.tell() - place - END.size - size
    # the end of the directory of a large file has two more parts
    if mark != b"PK\5\6" or n_comment or packed.start_dir != place or rest not in (0, LARGE_END):
        raise FileRefused("there is something beside its members, at its end.")


def _check_member(info: zipfile.ZipInfo) -> None:
    # orig_filename, because zipfile cuts names at a zero byte and replaces separators
    if info.orig_filename != info.filename or not KNOWN_NAMES.fullmatch(info.filename):
        raise FileRefused(f"{info.orig_filename[:80]!r} is not a member that nearbayes writes.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise FileRefused(f"{info.filename} is a link or a device, not a file.")
    if info.flag_bits & 0x1:
        raise FileRefused(f"{info.filename} is encrypted.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileRefused(f"{info.filename} uses a compression that nearbayes does not write.")
    if info.file_size > SMALL and info.file_size > 2 * LARGEST_RATIO * info.compress_size:
        raise FileRefused(f"{info.filename} is a decompression bomb.")


def _parsed(text: bytes) -> dict[str, Any]:
    manifest = parsed_json(text, "its manifest")
    if not isinstance(manifest, dict):
        raise FileRefused("its manifest is not a JSON object.")
    return manifest


def _checked_list(manifest: dict[str, Any], infos: Mapping[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Checksums by member, after checking that the manifest lists exactly the members."""
    members = manifest.get("members")
    if not isinstance(members, dict) or set(members) != set(infos) - {MANIFEST}:
        raise FileRefused("its members differ from those in its manifest.")
    for name, said in members.items():
        if not isinstance(said, dict) or said.get("size") != infos[name].file_size:
            raise FileRefused(f"the size of {name} differs from that in the manifest.")
    return {name: str(said.get("sha256")) for name, said in members.items()}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
