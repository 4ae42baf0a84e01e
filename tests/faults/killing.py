"""Kills workers and parents of runs at random: ``make kill`` (needs Dask and Ray).

Every fit writes a line to a log, with a number that only this refit of this draw has. Processes get
SIGKILL while draws are made: workers of joblib, Dask and Ray, which the run must survive, and the
process that asked for the draws, after which the same call must go on. In the end there must be
all draws, with the bits of a run that nobody killed; a refit that was done twice must belong to a
chunk that was in progress when something was killed; and files of finished chunks stay as they are.

``killing.py --kills 60 --seed 0``; the number is shared out among six kinds of kills.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from examples.cluster import CLUSTERS

import nearbayes as nb

WORKERS, N_DRAWS, N_REFITS = 2, 16, 3
# Seconds in which a worker is spared: Dask starts none instead of one that dies while its nanny
# still waits for it.
YOUNG = 0.3
SECONDS_PER_FIT = 0.15
Z = np.random.default_rng(0).normal(size=50)


class Logged(nb.Algorithm):
    """The mean; every refit takes a while and writes to a log."""

    def __init__(self, log: str) -> None:
        self.log = log

    def fit(self, data: nb.Data, rng: np.random.Generator) -> float:
        return float(np.average(data.y, weights=data.counts))

    def refit(self, data: nb.Data, new: Any, model: float, rng: np.random.Generator) -> float:
        number = rng.integers(2**62)  # of this refit of this draw
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()} {number} {time.time()}\n")
        time.sleep(SECONDS_PER_FIT)
        return self.fit(data, rng)

    def sample(self, model: float, x: Any, rng: np.random.Generator) -> Any:
        return rng.normal(model, 1.0, len(x))


def drawn(folder: Path, executor: Any) -> list[float]:
    posterior = nb.martingale_posterior(
        Logged(str(folder / "log")),
        Z,
        n_draws=N_DRAWS,
        schedule=nb.Schedule.optimal(N_REFITS),
        random_state=1,
        n_jobs=WORKERS,
        executor=executor,
        checkpoint=folder / "run",
        progress=False,
    )
    return list(posterior.models)


def lines(folder: Path) -> list[tuple[int, str, float]]:
    """Process and number of every refit that was begun, and when."""
    path = folder / "log"
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(int(row[0]), row[1], float(row[2])) for row in rows if len(row) == 3]


def wait_for_lines(folder: Path, n: int, running: Any = lambda: True) -> None:
    while len(lines(folder)) < n and running():
        time.sleep(0.01)


class WorkerKiller(threading.Thread):
    """Kills the worker that began a refit last, so many times, at random moments."""

    def __init__(self, folder: Path, kills: int, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.folder, self.chance, self.left, self.killed = folder, chance, kills, 0
        self.over = threading.Event()

    def run(self) -> None:
        seen = 0
        while self.left and not self.over.is_set():
            seen += self.chance.randint(3, 12)
            wait_for_lines(self.folder, seen, lambda: not self.over.is_set())
            time.sleep(self.chance.random() * SECONDS_PER_FIT)
            found = lines(self.folder)
            last = found[-1][0] if found else os.getpid()
            if self.over.is_set() or last == os.getpid():
                continue
            if time.time() - min(began for each, _, began in found if each == last) < YOUNG:
                continue
            try:
                os.kill(last, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.left, self.killed = self.left - 1, self.killed + 1


def kill_workers(name: str, executor: Any, kills: int, chance: random.Random) -> Result:
    """Runs whose workers are killed twice each."""
    found, left = Result(f"worker of {name}", per_kill=N_REFITS), kills
    while left:
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            folder = Path(place)
            killer = WorkerKiller(folder, min(2, left), chance)
            killer.start()
            models = drawn(folder, executor)
            killer.over.set()
            killer.join()
            left -= killer.killed
            found.note(folder, models, killer.killed)
    return found


def kill_parents(name: str, executor: str, kills: int, chance: random.Random) -> Result:
    """Runs that are killed as a whole, until they have had enough time to end."""
    found, left = Result(f"parent on {name}", per_kill=WORKERS * N_REFITS), kills
    while left:
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            folder, killed = Path(place), 0
            while left and killed < 4:
                before = finished(folder)
                child = child_process(folder, executor)
                ahead = len(lines(folder)) + chance.randint(1, N_DRAWS * N_REFITS // 3)
                wait_for_lines(folder, ahead, lambda child=child: child.poll() is None)
                time.sleep(chance.random() * SECONDS_PER_FIT)
                if child.poll() is not None:
                    break
                child.kill()
                child.wait()
                left, killed = left - 1, killed + 1
                found.check(before.items() <= finished(folder).items(), "a finished chunk changed")
            before = finished(folder)
            time.sleep(2 * SECONDS_PER_FIT * N_REFITS)  # until orphans have ended
            child = child_process(folder, executor)
            child.wait()
            found.check(before.items() <= finished(folder).items(), "a finished chunk changed")
            if child.returncode != 0:
                sys.exit(f"the run did not end well:\n{(folder / 'errors').read_text()}")
            models = [float(each) for each in (folder / "models").read_text().split()]
            found.note(folder, models, killed)
    return found


def child_process(folder: Path, executor: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--child", str(folder), "--executor", executor]
    with open(folder / "errors", "w") as errors:
        return subprocess.Popen(command, stderr=errors, start_new_session=True)


def finished(folder: Path) -> dict[str, int]:
    """Files of finished chunks, and when they were written."""
    return {each.name: each.stat().st_mtime_ns for each in (folder / "run").glob("chunk-*")}


class Result:
    """What came of one kind of kills."""

    def __init__(self, name: str, per_kill: int) -> None:
        self.name, self.per_kill = name, per_kill
        self.runs = self.kills = self.lost = self.twice = self.most_twice = 0
        self.faults: list[str] = []
        self.started = time.monotonic()

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.faults.append(what)

    def note(self, folder: Path, models: list[float], kills: int) -> None:
        """Compare a run with one that nobody killed."""
        self.runs, self.kills = self.runs + 1, self.kills + kills
        self.lost += N_DRAWS - len(models)
        self.check(models == expected(), "other draws than without kills")
        counts = Counter(number for _, number, _ in lines(folder))
        again = sum(counts.values()) - len(counts)
        self.check(len(counts) == N_DRAWS * N_REFITS, f"{len(counts)} different refits")
        self.check(again <= self.per_kill * kills, f"{again} refits done again after {kills} kills")
        self.twice += again
        self.most_twice = max(self.most_twice, again)

    def row(self) -> str:
        seconds = time.monotonic() - self.started
        said = "; ".join(sorted(set(self.faults))) or "same bits, nothing finished lost"
        return (
            f"| {self.name} | {self.kills} | {self.runs} | {self.lost} | "
            f"{self.twice / max(self.kills, 1):.1f} of {self.per_kill} | {seconds:.0f} s | {said} |"
        )


def expected() -> list[float]:
    """The draws of a run that nobody kills."""
    if not _expected:
        global SECONDS_PER_FIT
        usual, SECONDS_PER_FIT = SECONDS_PER_FIT, 0.0
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            _expected.extend(drawn(Path(place), "serial"))
        SECONDS_PER_FIT = usual
    return _expected


_expected: list[float] = []


@contextmanager
def address_of(name: str) -> Iterator[tuple[Any, str]]:
    """A cluster for this process, and its address for others."""
    if name == "processes":
        yield name, name
        return
    with CLUSTERS[name](WORKERS) as cluster:
        if name == "dask":
            yield cluster, cluster.scheduler.address
            return
        import ray

        os.environ["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
        yield cluster, name
        del os.environ["RAY_ADDRESS"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--on", nargs="+", default=["processes", "dask", "ray"])
    parser.add_argument("--child", type=Path)
    parser.add_argument("--executor")
    asked = parser.parse_args()
    if asked.child is not None:
        models = drawn(asked.child, asked.executor)
        (asked.child / "models").write_text(" ".join(map(repr, models)))
        return
    chance, each = random.Random(asked.seed), -(-asked.kills // (2 * len(asked.on)))
    print("| killed | times | runs | draws lost | refits done again per kill | time | found |")
    print("|---|---|---|---|---|---|---|", flush=True)
    faults = []
    for name in asked.on:
        with address_of(name) as (executor, address):
            for kill, where in ((kill_workers, executor), (kill_parents, address)):
                found = kill(name, where, each, chance)
                print(found.row(), flush=True)
                faults += found.faults
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
