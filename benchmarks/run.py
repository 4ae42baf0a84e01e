"""Speed and memory, as ratios measured side by side in one run: ``make bench``."""

from __future__ import annotations

import os

# one thread per process, as in the library; set before NumPy is imported
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import pickle
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from measuring import seconds, show
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from nearbayes.execution import executor
from nearbayes.execution.spool import spooled

N_DRAWS, N_REFITS, DIMENSION = 10_000, 1_000, 10


def batched_speed() -> None:
    """SequentialMLE(Gaussian) against sampling its normals, and against plain Python loops."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(100, DIMENSION))
    algorithm = nb.SequentialMLE(nb.families.Gaussian(np.ones(DIMENSION)))
    schedule = nb.Schedule.optimal(N_REFITS)

    def ours() -> None:
        nb.martingale_posterior(algorithm, z, n_draws=N_DRAWS, schedule=schedule, random_state=0)

    def normals() -> None:
        for _ in range(N_REFITS):
            rng.standard_normal((N_DRAWS, DIMENSION))

    covariance, root = algorithm.family.matrix, algorithm.family.root
    loop_draws = 20  # the loops are timed on some of the draws and scaled up

    def plain_loop() -> None:
        for _ in range(loop_draws):
            theta, total = z.mean(axis=0), 100
            for size in schedule.blocks(100):
                block_mean = rng.multivariate_normal(theta, covariance / size)
                total += size
                theta = theta + size / total * (block_mean - theta)

    def tuned_loop() -> None:
        for _ in range(loop_draws):
            theta, total = z.mean(axis=0), 100
            for size in schedule.blocks(100):
                total += size
                theta = theta + root @ rng.standard_normal(DIMENSION) * (size**0.5 / total)

    fast, floor = seconds(ours), seconds(normals)
    plain, tuned = (seconds(loop) * N_DRAWS / loop_draws for loop in (plain_loop, tuned_loop))
    show("batched Gaussian, d=10, 10,000 draws, 1,000 refits / its normals", fast / floor, "<= 3")
    show("plain Python loop over draws and refits / batched", plain / fast, ">= 100")
    show("the same loop, tuned by hand (one Cholesky root) / batched", tuned / fast, ">= 100")


def batched_memory() -> None:
    """Peak memory of a long horizon relative to a short one."""
    z = np.random.default_rng(0).normal(size=(100, DIMENSION))
    algorithm = nb.SequentialMLE(nb.families.Gaussian(np.ones(DIMENSION)))

    def peak(horizon: float) -> int:
        schedule = nb.Schedule.arithmetic(horizon=horizon, block=1.0)
        tracemalloc.start()
        nb.martingale_posterior(algorithm, z, n_draws=2_000, schedule=schedule, random_state=0)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2.0)  # allocates what is allocated only once
    show("batched peak memory, horizon 1,000n / horizon 10n", peak(1000.0) / peak(10.0), "<= 1.05")


def engine_overhead() -> None:
    """Time per refit beyond the algorithm's own, for a trivial algorithm."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    spent = 0.0

    def fit(x: Any, y: Any) -> float:
        nonlocal spent
        started = time.perf_counter()
        model = float(np.mean(y))
        spent += time.perf_counter() - started
        return model

    def sample(model: float, x: Any, rng: np.random.Generator) -> Any:
        nonlocal spent
        started = time.perf_counter()
        outcome = rng.normal(model, 1.0, len(x))
        spent += time.perf_counter() - started
        return outcome

    overheads = []
    for _ in range(5):
        spent = 0.0
        started = time.perf_counter()
        nb.martingale_posterior(
            nb.algorithm(fit, sample), (X, y), n_draws=50, random_state=0, progress=False
        )
        overheads.append((time.perf_counter() - started - spent) / (50 * 8) * 1000)
    show("engine overhead per refit, ms (n=200, d=5, 8 optimal refits)", min(overheads), "<= 0.2")


class _BusyFit:
    """Fits for 0.25 s of CPU time, so that only process start-up and transfer differ."""

    def __call__(self, x: Any, y: Any) -> float:
        matrix = np.random.default_rng(0).normal(size=(60, 60))
        until = time.process_time() + 0.25
        while time.process_time() < until:
            matrix = np.tanh(matrix @ matrix)
        return float(np.mean(y))


def two_processes() -> None:
    """One process against two on fits of a quarter of a second."""
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(500, 10)), rng.normal(size=500))
    algorithm = nb.algorithm(_BusyFit(), lambda model, x, rng: rng.normal(model, 1.0, len(x)))

    def run(n_jobs: int) -> float:
        started = time.perf_counter()
        nb.martingale_posterior(
            algorithm,
            data,
            n_draws=16,
            schedule=nb.Schedule.optimal(3),
            n_jobs=n_jobs,
            random_state=0,
            progress=False,
        )
        return time.perf_counter() - started

    run(2)  # starts the worker processes
    ratios = [run(1) / run(2) for _ in range(3)]
    show("one process / two processes, fits of 0.25 s", statistics.median(ratios), ">= 1.7")


def bytes_sent() -> None:
    """What goes to worker processes: data once, in a file that all of them map; tasks are small."""
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(20_000, 50)), rng.normal(size=20_000))
    algorithm = nb.RegressorAlgorithm.of(LinearRegression())
    carried: list[int] = []

    def counted(shared: Any) -> Any:
        return _Counted(spooled(shared), carried)

    executor.spooled, before = counted, executor.spooled
    run = {"schedule": nb.Schedule.optimal(1), "random_state": 0, "progress": False}
    nb.martingale_posterior(algorithm, data, n_draws=12, n_jobs=2, **run)
    executor.spooled = before
    show("data and algorithm for 12 draws, n = 20,000 x 50: MB written once", carried[0] / 1e6, "9")
    show("a task of the same run: bytes", carried[1], "< 10,000")


class _Counted:
    """A spool that notes the sizes of its file and of the handle that tasks carry."""

    def __init__(self, spool: Any, carried: list[int]) -> None:
        self.spool, self.carried = spool, carried

    def __enter__(self) -> Any:
        handle = self.spool.__enter__()
        self.carried += [Path(handle.path).stat().st_size, len(pickle.dumps(handle))]
        return handle

    def __exit__(self, *error: Any) -> Any:
        return self.spool.__exit__(*error)


if __name__ == "__main__":
    bytes_sent()
    batched_speed()
    batched_memory()
    engine_overhead()
    two_processes()
