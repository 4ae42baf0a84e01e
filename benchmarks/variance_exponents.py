"""By which power of n variances of posteriors fall, and what fits to parts of the rows say of it.

``nearbayes.diagnostics.forecast`` takes two numbers from here: mean and standard deviation of the
exponent of flexible learners (`FLEXIBLE`), and how far exponents of fits to quarters and halves are
from those of posteriors, beyond their own error (`NOT_A_POWER`). Widths of 90 % credible intervals
with 250 and 700 rows, 30 draws, not calibrated, two splits.
Run: ``python -m benchmarks.variance_exponents --data-dir ../shared/data`` (25 minutes).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from experiments.runner.datasets import DEFAULT_FOLDER, load
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

import nearbayes as nb
from nearbayes.core.data import as_data
from nearbayes.diagnostics.forecast import exponent_of_parts, variances_of_parts
from nearbayes.diagnostics.jackknife import jackknife_error
from nearbayes.diagnostics.refitting import Case
from nearbayes.metrics import width

LEARNERS: dict[str, Callable[[], Any]] = {
    "10 neighbours": lambda: KNeighborsRegressor(10),
    "1 neighbour": lambda: KNeighborsRegressor(1),
    "XGBoost, 60 trees": lambda: XGBRegressor(n_estimators=60, n_jobs=1),
    "XGBoost, 15 trees": lambda: XGBRegressor(n_estimators=15, max_depth=3, n_jobs=1),
    "LightGBM": lambda: LGBMRegressor(n_estimators=50, verbosity=-1, n_jobs=1),
    "forest": lambda: RandomForestRegressor(15, min_samples_leaf=5, random_state=0),
    "tree": lambda: DecisionTreeRegressor(min_samples_leaf=10, random_state=0),
}
DATA_SETS = ("simulated", "kin8nm", "power", "protein", "concrete")
N_NOW, N_THEN, N_POINTS, N_SPLITS = 250, 700, 200, 2


def main(folder: Path) -> None:
    """Print one line per learner, data set and split, then what the forecast takes from them."""
    warnings.simplefilter("ignore")
    rows = []
    print("split", "data set", "learner", "posterior", "fits", "error", sep="\t")
    for split in range(N_SPLITS):
        for data_set in DATA_SETS:
            for name, learner in LEARNERS.items():
                found = exponents(learner(), *drawn(data_set, split, folder), split)
                rows.append(found)
                print(split, data_set, name, *(f"{e:.2f}" for e in found), sep="\t", flush=True)
    posterior, fits, errors = np.array(rows).T
    beyond = np.var(fits - posterior) - np.mean(errors**2)
    print(f"FLEXIBLE = ({posterior.mean():.2f}, {posterior.std(ddof=1):.2f})")
    print(f"NOT_A_POWER = {np.sqrt(max(0.0, beyond)):.2f}")


def drawn(name: str, split: int, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order."""
    rng = np.random.default_rng([83, split])
    if name == "simulated":
        X = rng.normal(size=(N_THEN + N_POINTS, 3))
        return X, X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=len(X))
    inputs, outcome = load(name, folder)
    places = rng.permutation(len(outcome))[: N_THEN + N_POINTS]
    return inputs.to_numpy(np.float64)[places], outcome.to_numpy(np.float64)[places]


def exponents(learner: Any, X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Exponent of the posterior, that of fits to parts of the rows, and the error of that."""
    widths, known = [], []
    for n in (N_NOW, N_THEN):
        model = nb.PosteriorRegressor(
            learner, n_draws=30, calibration=None, random_state=seed, progress=False
        ).fit(X[:n], y[:n])
        bounds = model.predict_interval(X[-N_POINTS:], 0.9, kind="credible")
        widths.append(float(width(bounds)))
        if n == N_NOW:
            variances = variances_of_parts(Case.of(model.posterior_, as_data((X[:n], y[:n])), seed))
            known = [exponent_of_parts(*variances), jackknife_error(exponent_of_parts, *variances)]
    return [-2 * np.log(widths[1] / widths[0]) / np.log(N_THEN / N_NOW), *known]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=DEFAULT_FOLDER)
    main(parser.parse_args().data_dir)
