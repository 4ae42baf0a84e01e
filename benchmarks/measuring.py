"""What the benchmarks share: taking times, and showing a ratio beside what was wanted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def seconds(task: Callable[[], Any], repeats: int = 3) -> float:
    """Best of a few runs: the least disturbed one."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return min(times)


def seconds_in_turn(tasks: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """Best of a few rounds, all tasks in each: a machine that slows down slows them all."""
    times = [{name: seconds(task, 1) for name, task in tasks.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in tasks}


def show(name: str, value: float, limit: str) -> None:
    """One line per measurement."""
    print(f"{name:<95} {value:>9.3g}   wanted {limit}", flush=True)
