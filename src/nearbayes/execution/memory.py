"""Memory: the part of a process's memory that is not shared with others."""

from __future__ import annotations

from pathlib import Path

__all__ = ["can_measure", "own_memory"]

LABEL = "RssAnon:"


def can_measure() -> bool:
    """Whether this system reports the memory of a process: Linux does."""
    return own_memory("self") > 0


def own_memory(process: int | str) -> int:
    """Bytes that a process and its children hold in memory, without pages of files.

    So data that workers map into memory do not count. 0 for a process that has ended.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text()
        children = Path(f"/proc/{process}/task").glob("*/children")
        found = [child for each in children for child in each.read_text().split()]
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines() if line.startswith(LABEL))
    return sum(int(words[1]) * 1024 for words in lines) + sum(map(own_memory, found))
