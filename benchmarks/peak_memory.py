"""Peak memory of a command with all its processes, on Linux.

Counted are the proportional set sizes (PSS) of the process and its descendants: private pages in
full, shared ones once. Pages of /dev/shm are counted as files there, mapped or not.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.1  # seconds between two looks
SHARED = Path("/dev/shm")
PREFIX = "nearbayes-"  # of what runs share there


@dataclass(frozen=True)
class Peak:
    """What a command took, and what it printed.

    `parts` is the share of each process at the peak, the first process first, then what is shared.
    """

    seconds: float
    megabytes: float
    output: str
    parts: tuple[int, ...] = ()


def peak_of(command: Sequence[str]) -> Peak:
    """Run a command; its output is kept, its errors are shown."""
    before, started, most = _shared_bytes(), time.perf_counter(), [0.0]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            parts = [_private_bytes(each) for each in _family(process.pid)]
            most = max(most, [*parts, _shared_bytes() - before], key=sum)
            time.sleep(EVERY)
        output = process.stdout.read() if process.stdout is not None else ""
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}.")
    parts = tuple(round(each / 1e6) for each in most)
    return Peak(time.perf_counter() - started, sum(most) / 1e6, output, parts)


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        each = waiting.pop()
        found.append(each)
        waiting.extend(parents.get(each, ()))
    return found


def _private_bytes(pid: int) -> float:
    """PSS without the pages of /dev/shm."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    sizes = {line.split(":")[0]: 1024.0 * int(line.split()[1]) for line in lines[1:]}
    return sizes["Pss"] - sizes.get("Pss_Shmem", 0.0)


def _shared_bytes() -> float:
    """Size of the files that runs share in memory."""
    total = 0.0
    for folder in SHARED.glob(f"{PREFIX}*"):
        try:
            total += sum(file.stat().st_blocks * 512 for file in folder.iterdir())
        except OSError:  # it was deleted meanwhile
            continue
    return total
