"""What executors cost: ``python -m benchmarks.executors processes | dask | ray | checkpoints``.

Real fits of about a second on one and on two workers; the time of a task that does nothing; the
bytes that go over the loopback interface per task and per worker (run nothing else that uses it).
The limit of the machine is what two programs reach that know nothing of each other. Checkpoints:
time and bytes of a draw.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core, one thread per process

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from examples.cluster import CLUSTERS
from sklearn.ensemble import HistGradientBoostingRegressor

import nearbayes as nb
from nearbayes.execution.executor import Executor, gather
from nearbayes.execution.executors import executor_of

SHARED = np.random.default_rng(0).normal(size=(100_000, 20))  # 16 MB
FITS = 20
IDLE_TASKS = 200
ROUNDS = 3  # of which the shortest counts, as other programs disturb some
ALONE = "import benchmarks.executors as b; b.seconds_of_fits(2); print(b.seconds_of_fits(6))"


def a_fit(X: Any, seed: int) -> int:
    """Fit boosted trees to a fifth of the rows: about a second."""
    rows = X[seed % 5 :: 5]
    HistGradientBoostingRegressor(max_iter=600, early_stopping=False).fit(rows, rows[:, 0])
    return seed


def nothing(shared: Any, item: int) -> int:
    return item


def seconds_of_fits(n: int) -> float:
    """Time of fits in this process, per fit."""
    started = time.perf_counter()
    for seed in range(n):
        a_fit(SHARED, seed)
    return (time.perf_counter() - started) / n


def seconds(executor: Executor, task: Any, n: int) -> float:
    started = time.perf_counter()
    assert len(gather(executor, task, SHARED, range(n), progress=False).done) == n
    return time.perf_counter() - started


def loopback_bytes() -> int:
    """Bytes that have been sent over loopback since the machine started."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


def bytes_sent(executor: Executor, n: int) -> int:
    before = loopback_bytes()
    seconds(executor, nothing, n)
    return loopback_bytes() - before


@contextmanager
def executor_with(name: str, workers: int) -> Iterator[Executor]:
    if name == "processes":
        yield executor_of(name, n_jobs=workers)
        return
    with CLUSTERS[name](workers) as cluster:
        yield executor_of(cluster)


def limit_of_machine() -> float:
    """How many times one program two programs are that fit at the same time."""
    command, options = [sys.executable, "-c", ALONE], {"stdout": subprocess.PIPE, "text": True}

    def together(n: int) -> float:
        running = [subprocess.Popen(command, **options) for _ in range(n)]  # type: ignore[call-overload]
        return max(float(each.communicate()[0]) for each in running)

    rounds = range(ROUNDS)
    return 2 * min(together(1) for _ in rounds) / min(together(2) for _ in rounds)


def measure(name: str) -> None:
    times = {}
    for workers in (1, 2):
        with executor_with(name, workers) as executor:
            seconds(executor, a_fit, 2 * workers)  # workers start and load their libraries
            times[workers] = min(seconds(executor, a_fit, FITS) for _ in range(ROUNDS))
            sent = {n: bytes_sent(executor, n) for n in (20, 20 + IDLE_TASKS)}
            idle = min(seconds(executor, nothing, IDLE_TASKS) for _ in range(ROUNDS))
        each = (sent[20 + IDLE_TASKS] - sent[20]) / IDLE_TASKS
        print(
            f"{name}, {workers} workers: {FITS} fits {times[workers]:.2f} s; empty task "
            f"{1000 * idle / IDLE_TASKS:.1f} ms; sent {each / 1000:.2f} KB per task and "
            f"{(sent[20] - 20 * each) / 1e6:.1f} MB per run",
            flush=True,
        )
    print(f"{name}: 2 workers are {times[1] / times[2]:.2f} times 1", flush=True)


def checkpoints() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    options = {"n_draws": 50, "n_refits": 2, "random_state": 0, "calibration": None}
    from sklearn.linear_model import Ridge

    for estimator in (Ridge(), HistGradientBoostingRegressor(max_iter=20)):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            times = []
            for place in (None, folder + "/run", folder + "/run"):
                model = nb.PosteriorRegressor(estimator, checkpoint=place, **options)
                started = time.perf_counter()
                model.fit(X, X[:, 0])
                times.append(time.perf_counter() - started)
            size = sum(each.stat().st_size for each in Path(folder).rglob("chunk-*"))
        print(
            f"{type(estimator).__name__}: without a checkpoint {times[0]:.2f} s, with "
            f"{times[1]:.2f} s, again {times[2]:.2f} s, {size / 50 / 1000:.1f} KB per draw"
        )


if __name__ == "__main__":
    if sys.argv[1] == "checkpoints":
        checkpoints()
    elif sys.argv[1] == "limit":
        print(f"two programs are {limit_of_machine():.2f} times one", flush=True)
    else:
        measure(sys.argv[1])
