"""Records: results, one line of JSON per (data set, split, method).

Lines are only appended, each in one locked write. So several processes may write at once, and a run
may be killed at any time: at worst the last line is incomplete and is measured again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

Record = dict[str, Any]


class Unit(NamedTuple):
    """One replication, on which all methods are measured."""

    data_set: str
    split: int


@dataclass(frozen=True)
class Records:
    """The records of one experiment.

    Attributes
    ----------
    path : Path
        A file of JSON lines; need not exist yet.
    """

    path: Path

    def __iter__(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:  # incomplete because a run was killed
                continue

    def of(self, unit: Unit) -> dict[str, Record]:
        """Records of a replication, by method."""
        return {record["method"]: record for record in self if unit_of(record) == unit}

    def append(self, record: Record) -> None:
        """Append a record; it is on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, allow_nan=True) + "\n"
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _ends_in_the_middle_of_a_line(file):
                line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def frame(self) -> pd.DataFrame:
        """All records as a table; of repeated measurements, the last is used."""
        frame = pd.DataFrame(list(self))
        if frame.empty:
            raise FileNotFoundError(f"no records in {self.path}: run the experiment first.")
        return frame.drop_duplicates(["data_set", "split", "method"], keep="last")


def unit_of(record: Record) -> Unit:
    """The replication of a record."""
    return Unit(record["data_set"], record["split"])


def _ends_in_the_middle_of_a_line(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) != b"\n")
