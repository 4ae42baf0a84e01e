"""Compare kinds of noise: ``python -m experiments.regression_trees.noise_shape``.

Coverage of 90 % intervals around one fit, with normal noise and with resampled residuals, learned
from 5 and from 10 folds; on the splits of the experiment, a few minutes in all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from experiments.regression_trees.experiment import RegressionTrees
from experiments.regression_trees.methods import boosted_trees, choose_hyperparameters, stopping
from experiments.runner.datasets import DEFAULT_FOLDER, Split

Array = NDArray[np.float64]
NORMAL = 1.6449  # half-width of a 90 % interval, in standard deviations


def covered(split: Split, n_folds: int) -> tuple[float, float]:
    """Share of test rows inside the intervals of normal and of resampled residuals."""
    depth = choose_hyperparameters(split)["max_depth"]
    X, y = split.X_train, np.asarray(split.y_train)

    def fitted(rows: NDArray[np.intp]) -> object:
        return boosted_trees(depth).fit(X.iloc[rows], y[rows], **stopping(split))

    predicted = np.empty(len(y))
    for rows, out in KFold(n_folds, shuffle=True, random_state=0).split(y):
        predicted[out] = fitted(rows).predict(X.iloc[out])
    residuals = y - predicted
    error = split.y_test - fitted(np.arange(len(y))).predict(split.X_test)
    normal = np.abs(error) <= NORMAL * np.sqrt(np.mean(residuals**2))
    low, high = np.quantile(residuals - residuals.mean(), [0.05, 0.95])
    return float(normal.mean()), float(((low <= error) & (error <= high)).mean())


def main() -> None:
    """Print the means over all splits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=DEFAULT_FOLDER)
    experiment = RegressionTrees(data_dir=parser.parse_args().data_dir)
    splits = [experiment.split(unit) for unit in experiment.units]
    for n_folds in (5, 10):
        normal, resampled = np.mean([covered(split, n_folds) for split in splits], axis=0)
        print(f"{n_folds:2d} folds: normal {normal:.3f}, resampled {resampled:.3f}")


if __name__ == "__main__":
    main()
