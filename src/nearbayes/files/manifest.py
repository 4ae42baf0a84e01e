"""Manifest: reads untrusted JSON, checking type and range of every entry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nearbayes.files.refusal import FileRefused

__all__ = ["FORMAT", "Record", "check_format"]

FORMAT = 3
LARGEST = 2**53
_NOTHING = object()


class Record:
    """A JSON object whose entries are checked for type and range when they are read.

    Examples
    --------
    >>> Record({"draws": 3}, "manifest").whole("draws", 1, 10)
    3
    >>> Record({"draws": -3}, "manifest").whole("draws", 1, 10)
    Traceback (most recent call last):
    nearbayes.files.refusal.FileRefused: manifest.draws must be an integer from 1 to 10, got -3.
    """

    def __init__(self, entries: Any, name: str) -> None:
        if not isinstance(entries, Mapping):
            raise FileRefused(f"{name} must be a JSON object, got {_shown(entries)}.")
        self.entries, self.name = entries, name

    def __contains__(self, key: str) -> bool:
        return self.entries.get(key) is not None

    def get(self, key: str) -> Any:
        """The unchecked entry, or None."""
        return self.entries.get(key)

    def whole(self, key: str, low: int = 0, high: int = LARGEST) -> int:
        """An integer in a range."""
        value = self.entries.get(key, _NOTHING)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(key, f"an integer from {low} to {high}")
        return value

    def number(self, key: str, low: float = 0.0, high: float = float(LARGEST)) -> float:
        """A finite number in a range."""
        value = self.entries.get(key, _NOTHING)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or not math.isfinite(value):
            raise self._wrong(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def text(self, key: str, among: Sequence[str] | None = None) -> str:
        """A string, or one of several."""
        value = self.entries.get(key, _NOTHING)
        if not isinstance(value, str) or (among is not None and value not in among):
            raise self._wrong(key, "text" if among is None else f"one of {', '.join(among)}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.entries.get(key, _NOTHING)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def record(self, key: str) -> Record:
        """A JSON object."""
        return Record(self.entries.get(key), f"{self.name}.{key}")

    def many(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self.entries.get(key, _NOTHING)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def records(self, key: str) -> list[Record]:
        """A list of JSON objects."""
        return [Record(each, f"{self.name}.{key}[{i}]") for i, each in enumerate(self.many(key))]

    def texts(self, key: str) -> dict[str, str]:
        """A JSON object of strings."""
        part = self.record(key)
        return {name: part.text(name) for name in part.entries}

    def numbers(self, key: str, low: float = 0.0) -> dict[str, float]:
        """A JSON object of numbers."""
        part = self.record(key)
        return {name: part.number(name, low) for name in part.entries}

    def _wrong(self, key: str, wanted: str) -> FileRefused:
        value = self.entries.get(key, _NOTHING)
        got = "nothing" if value is _NOTHING else _shown(value)
        return FileRefused(f"{self.name}.{key} must be {wanted}, got {got}.")


def check_format(manifest: Record) -> None:
    """Refuse files of another format, and say what to do."""
    number = manifest.whole("format", 1)
    if number < FORMAT:
        raise FileRefused(
            f"format {number} is of an early version of nearbayes, before its first release: fit "
            "again and save the model again."
        )
    if number > FORMAT:
        maker = str(manifest.get("nearbayes"))[:40]
        raise FileRefused(
            f"it has format {number} of nearbayes {maker}, but this version reads formats up to "
            f"{FORMAT}: upgrade with pip install -U nearbayes."
        )


def _shown(value: Any) -> str:
    try:
        return repr(value)[:60]
    except ValueError:  # an integer of more digits than Python prints
        return "a huge number"
