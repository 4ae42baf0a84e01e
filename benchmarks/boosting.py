"""Boosted trees: time of refits and of whole runs, and memory, as ratios: ``make bench``."""

from __future__ import annotations

import os

# one thread per process, as in the library; set before NumPy is imported
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from lightgbm import LGBMClassifier
from measuring import seconds, seconds_in_turn, show
from sklearn.base import clone
from sklearn.datasets import make_classification
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from nearbayes.core.data import Block, Data
from nearbayes.core.inputs import Urn

D = 20


def table(n: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n, D, n_informative=10, n_classes=n_classes, flip_y=0.2, random_state=0
    )
    return X, y


def grown(algorithm: Any, data: Data, model: Any, horizon: int) -> tuple[Data, Block]:
    """Real rows plus `horizon` times as many imputed ones."""
    rng = np.random.default_rng(1)
    size = int(horizon * data.n)
    x = Urn().sample(data, size, rng)
    block = Block(x, algorithm.sample(model, x, rng), data.size + size)
    return data.extend(block, algorithm.traits.counts), block


def refit_cost(name: str, algorithm: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Time a refit at horizons n and 8n, a plain fit, and a plain fit of concatenated rows."""
    rng = np.random.default_rng(0)
    algorithm, data = algorithm.prepare(Data.of(X, y), rng)
    model = algorithm.fit(data, rng)
    estimator = algorithm.fitting.configured(0)
    tasks: dict[str, Any] = {"plain": lambda: estimator.fit(X, y)}
    for horizon in (1, 8):
        rows, block = grown(algorithm, data, model, horizon)
        tasks[f"{horizon}n"] = partial(algorithm.refit, rows, block, model, rng)
    positions = np.concatenate([np.arange(len(y)), block.x.positions])
    labels = np.concatenate([data.y, block.y])
    tasks["concatenated"] = lambda: estimator.fit(X[positions], labels)
    cost = seconds_in_turn(tasks)
    plain = cost["plain"]
    show(f"{name}: refit at horizon 8n / at horizon 1n", cost["8n"] / cost["1n"], "<= 1.15")
    show(f"{name}: refit at horizon 8n / plain fit", cost["8n"] / plain, "<= 1.3")
    beside = cost["concatenated"] / plain
    show(f"{name}: concatenate and fit at horizon 8n / plain fit", beside, "(for comparison)")


def straightforward_draw(
    estimator: Any, X: np.ndarray, y: np.ndarray, blocks: tuple[int, ...], seed: int
) -> Any:
    """The loop that a user would write: impute, concatenate, fit again."""
    rng = np.random.default_rng(seed)
    model = clone(estimator).fit(X, y)
    for size in blocks:
        new = X[rng.integers(len(X), size=size)]
        labels = (rng.random(size) < model.predict_proba(new)[:, 1]).astype(int)
        X, y = np.concatenate([X, new]), np.concatenate([y, labels])
        model = clone(estimator).fit(X, y)
    return model


def whole_run(name: str, estimator: Any, schedule: nb.Schedule, target: str = ">= 2") -> None:
    """Time 50 draws of 8 refits in 2 processes, by the library and by a straightforward loop."""
    X, y = table(2_000)
    blocks = schedule.blocks(len(y))

    def ours() -> None:
        nb.PosteriorClassifier(
            estimator,
            schedule=schedule,
            calibration=None,
            n_jobs=2,
            random_state=0,
            progress=False,
        ).fit(X, y)

    def loop() -> None:
        Parallel(n_jobs=2)(
            delayed(straightforward_draw)(estimator, X, y, blocks, seed) for seed in range(50)
        )

    Parallel(n_jobs=2)(delayed(abs)(1) for _ in range(4))  # starts the processes, for both
    ratio = seconds(loop, 1) / seconds(ours, 1)
    show(f"{name}, n=2,000, 50 draws, {schedule}: straightforward loop / library", ratio, target)


def peak_megabytes(what: str) -> float:
    """Peak memory of a new process that runs one task."""
    done = subprocess.run(
        [sys.executable, __file__, what], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def in_a_process_of_its_own(what: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, D))  # needs less memory than make_classification
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    if what == "plain":
        XGBClassifier(n_jobs=1).fit(X, y)
    elif what != "nothing":
        nb.PosteriorClassifier(
            XGBClassifier(), n_draws=2, n_jobs=int(what), random_state=0, progress=False
        ).fit(X, y)
        if what == "2":
            print(max(Parallel(n_jobs=2)(delayed(own_peak)() for _ in range(8))))
            return
    print(own_peak())


def own_peak() -> float:
    """Peak memory of this process in MB; `getrusage` would include that of the parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def memory() -> None:
    """Peak memory of draws in one process, and in each of two, relative to a plain fit."""
    nothing, plain, alone, worker = map(peak_megabytes, ("nothing", "plain", "1", "2"))
    show("n=200,000: peak memory, draws in one process / plain fit", alone / plain, "<= 1.5")
    show("n=200,000: peak memory, each of two processes / plain fit", worker / plain, "<= 1.5")
    print(f"  (MB: data {nothing:.0f}, plain fit {plain:.0f}, draws {alone:.0f}, {worker:.0f})")


def main() -> None:
    X, y = table(20_000)
    refit_cost("XGBoost, two classes", nb.ClassifierAlgorithm.of(XGBClassifier()), X, y)
    several = table(20_000, 4)
    refit_cost("XGBoost, four classes", nb.ClassifierAlgorithm.of(XGBClassifier()), *several)
    target = X[:, 0] + np.random.default_rng(0).normal(size=len(X))
    refit_cost("XGBoost, regression", nb.RegressorAlgorithm.of(XGBRegressor()), X, target)
    refit_cost(
        "LightGBM, two classes", nb.ClassifierAlgorithm.of(LGBMClassifier(verbosity=-1)), X, y
    )
    one_thread, eighths = XGBClassifier(n_jobs=1), nb.Schedule.arithmetic(horizon=1.0, block=0.125)
    whole_run("XGBoost", one_thread, nb.Schedule.optimal(8))
    whole_run("XGBoost", one_thread, eighths)
    whole_run("LightGBM", LGBMClassifier(n_jobs=1, verbosity=-1), nb.Schedule.optimal(8))
    every_bin = XGBClassifier(n_jobs=1, max_bin=256)  # set by the user, so used at every refit
    whole_run("XGBoost, max_bin=256", every_bin, nb.Schedule.optimal(8), "(for comparison)")
    whole_run("XGBoost, max_bin=256", every_bin, eighths, "(for comparison)")
    memory()


if __name__ == "__main__":
    in_a_process_of_its_own(sys.argv[1]) if len(sys.argv) > 1 else main()
