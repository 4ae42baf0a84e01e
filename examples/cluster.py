"""The same posterior here and on a cluster of two workers: ``make cluster-dask``, ``cluster-ray``.

Starts a scheduler and two workers on this machine, draws the posterior of gradient boosting on
them, and checks that the draws are those of this process, bit for bit.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core, one thread per process

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import nearbayes as nb

WORKERS = 2


@contextmanager
def dask_cluster(workers: int = WORKERS) -> Iterator[Any]:
    """A Dask client for a scheduler and worker processes on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def ray_cluster(workers: int = WORKERS) -> Iterator[Any]:
    """Ray with the given number of workers on this machine."""
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        yield "ray"
    finally:
        ray.shutdown()


CLUSTERS = {"dask": dask_cluster, "ray": ray_cluster}


def draws(X: Any, y: Any, **where: Any) -> tuple[Any, float]:
    """Predictions of all draws, and the time of the fit in seconds."""
    started = time.perf_counter()
    model = nb.PosteriorClassifier(
        HistGradientBoostingClassifier(), n_draws=20, random_state=0, calibration=None, **where
    ).fit(X, y)
    return model.posterior_.predict(X), time.perf_counter() - started


def main(name: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    here, alone = draws(X, y, executor="serial")
    print(f"20 draws in this process: {alone:.1f} s")
    with CLUSTERS[name]() as executor:
        draws(X[:100], y[:100], executor=executor)  # workers load their libraries
        there, together = draws(X, y, executor=executor)
    print(f"20 draws on {name} with {WORKERS} workers: {together:.1f} s")
    if not np.array_equal(here, there):
        sys.exit("draws differ")
    print("the draws are the same, bit for bit")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CLUSTERS:
        sys.exit(f"usage: cluster.py {' | '.join(CLUSTERS)}")
    main(sys.argv[1])
