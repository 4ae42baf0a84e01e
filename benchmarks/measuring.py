"""Helpers of the benchmarks: measure times, and print a ratio with its goal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def seconds(task: Callable[[], Any], repeats: int = 3) -> float:
    """Shortest time of a few runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return min(times)


def seconds_in_turn(tasks: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """Shortest times of a few rounds; each round runs all tasks, so a slow machine affects all."""
    times = [{name: seconds(task, 1) for name, task in tasks.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in tasks}


def show(name: str, value: float, limit: str) -> None:
    """Print one measurement."""
    print(f"{name:<95} {value:>9.3g}   goal {limit}", flush=True)
