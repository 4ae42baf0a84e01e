"""Gaussian processes: speed as ratios, measured side by side; compile time separately.

Run: ``.venv/bin/python -m benchmarks.gp`` (some minutes; ``--data-dir`` as in experiments).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measuring import seconds, show
from experiments.gp_hyperparameters.experiment import SCHEDULE, GPHyperparameters, draw
from experiments.gp_toy.__main__ import NOISE, snelson
from experiments.gp_toy.__main__ import SCHEDULE as TOY_SCHEDULE
from experiments.runner.records import Unit
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from threadpoolctl import threadpool_limits

import nearbayes as nb

Array = NDArray[np.float64]
N_TOY, N_PLAIN, N_DRAWS, N_SKLEARN = 100, 4, 16, 4
CORES = {1: "one core", -1: "all cores"}  # by n_jobs
once = partial(seconds, repeats=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().data_dir
    warnings.simplefilter("ignore", ConvergenceWarning)  # by scikit-learn, about irrelevant columns
    sequential_map(folder)
    for name in ("power-75", "boston-75"):
        empirical_bayes(name, folder)


def sequential_map(folder: Path) -> None:
    """Sequential MAP against solving the normal equations of each draw at every refit."""
    x, y = snelson(folder)
    data, process = (x[:, None], y), nb.gp.RandomFeatureGP(noise=NOISE)

    def library(n_jobs: int) -> Any:
        return nb.martingale_posterior(
            process, data, n_draws=N_TOY, schedule=TOY_SCHEDULE, random_state=0, n_jobs=n_jobs
        )

    for n_jobs in (1, -1):
        first, times, plain = once(partial(library, n_jobs)), [], []
        for seed in range(N_PLAIN):
            with threadpool_limits(1 if n_jobs == 1 else None):
                plain.append(N_TOY * once(partial(normal_equations, x, y, seed)))
            times.append(once(partial(library, n_jobs)))
        refits = len(TOY_SCHEDULE.blocks(len(x)))
        what = f"sequential MAP, {N_TOY} draws, {refits} refits, {CORES[n_jobs]}: normal equations"
        what += f" / library; compiling {first - min(times):.1f} s"
        show(what, float(np.mean(plain) / np.mean(times)), "at least 10")


def normal_equations(x: Array, y: Array, seed: int) -> Array:
    """One draw in the straightforward way: all rows, one solve per refit."""
    rng, n_features = np.random.default_rng(seed), 400
    freedom = 3  # Matern 3/2
    t = rng.standard_normal(n_features // 2) * np.sqrt(freedom / rng.chisquare(freedom, 200))

    def features(rows: Array) -> Array:
        waves = np.concatenate([np.cos(np.outer(rows, t)), np.sin(np.outer(rows, t))], axis=1)
        return np.asarray(np.sqrt(2 / n_features) * waves)

    def solved(rows: Array, goal: Array, start: Array) -> Array:
        phi = features(rows)
        left = phi.T @ phi + NOISE**2 * np.eye(n_features)
        return start + np.linalg.solve(left, phi.T @ (goal - phi @ start))

    theta = solved(x, y, rng.standard_normal(n_features))
    rows = x
    for size in TOY_SCHEDULE.blocks(len(x)):
        new = rng.choice(rows, size)
        goal = np.concatenate(
            [features(rows) @ theta, features(new) @ theta + NOISE * rng.standard_normal(size)]
        )
        rows = np.concatenate([rows, new])
        theta = solved(rows, goal, theta)
    return theta


def empirical_bayes(name: str, folder: Path) -> None:
    """One run of the experiment against a loop over scikit-learn's Gaussian process.

    Runs on one core, and on all: then scikit-learn's linear algebra uses all threads, and the
    library one job per core.
    """
    X, y, _, _ = GPHyperparameters(data_dir=folder).split(Unit(name, 0))
    ways = [(method, n_jobs) for method in ("martingale, urn", "martingale") for n_jobs in (1, -1)]
    runs = {way: partial(draw, way[0], (X, y), N_DRAWS, n_jobs=way[1]) for way in ways}
    first = {way: once(partial(run, 0)) for way, run in runs.items()}
    again: dict[Any, list[float]] = {way: [] for way in ways}
    plain: dict[int, list[float]] = {1: [], -1: []}
    for seed in range(N_SKLEARN):  # alternating, because the load of the machine varies
        for n_jobs, times in plain.items():
            with threadpool_limits(1 if n_jobs == 1 else None):
                times.append(N_DRAWS * once(partial(sklearn_path, X, y, seed)))
        for way, run in runs.items():
            again[way].append(once(partial(run, seed)))
    for way in ways:
        method, n_jobs = way
        what = f"{name}, {method}, {N_DRAWS} draws, N = 4n, blocks of n/4, {CORES[n_jobs]}: "
        what += f"scikit-learn / library; compiling {first[way] - min(again[way]):.1f} s"
        show(what, float(np.mean(plain[n_jobs]) / np.mean(again[way])), "at least 10")
    gained = np.mean(plain[1]) / np.mean(plain[-1])
    print(f"{name}, scikit-learn: one core / all cores {gained:.2f}", flush=True)


def sklearn_path(X: Array, y: Array, seed: int) -> Any:
    """One draw with scikit-learn: same kernel, warm starts, same tolerance of L-BFGS-B."""
    rng = np.random.default_rng(seed)
    rows, goal = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    n = len(y)
    start = np.exp(0.5 * rng.standard_normal(X.shape[1] + 1))
    kernel: Any = Matern(start[:-1], (1e-5, 1e5), nu=1.5) + WhiteKernel(start[-1], (1e-4, 1e3))
    model = GaussianProcessRegressor(kernel, optimizer=searched(1e-4 * n)).fit(rows, goal)
    width = n ** (-1 / (X.shape[1] + 4))
    for size in SCHEDULE.blocks(n):
        new = rows[rng.integers(n, size=size)] + width * rng.standard_normal((size, X.shape[1]))
        mean, sd = model.predict(new, return_std=True)
        rows = np.concatenate([rows, new])
        goal = np.concatenate([goal, mean + sd * rng.standard_normal(size)])
        search = searched(1e-3 * len(goal))
        model = GaussianProcessRegressor(model.kernel_, optimizer=search).fit(rows, goal)
    return model


def searched(tolerance: float) -> Callable[..., Any]:
    """L-BFGS-B with the library's tolerance for the gradient, summed over all rows."""

    def search(objective: Any, start: Array, bounds: Any) -> tuple[Array, float]:
        found = minimize(
            objective,
            start,
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options={"gtol": tolerance, "maxfun": 500},
        )
        return found.x, found.fun

    return search


if __name__ == "__main__":
    main()
