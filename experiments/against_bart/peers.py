"""Intervals of a regression function by CatBoost's virtual ensembles and hessboost's Boulevard."""

from __future__ import annotations

import hessboost
import numpy as np
from catboost import CatBoostRegressor
from hessboost.inference import BoulevardInference, honest_refit
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]
N_VIRTUAL = 10
# as in the documentation of `hessboost.inference`
BOULEVARD = {
    "booster": "boulevard",
    "eta": 0.8,
    "boulevard_dropout": 0.5,
    "subsample": 0.8,
    "max_depth": 4,
    "min_child_weight": 5,
    "nthread": 1,
}
N_ROUNDS = 200


def catboost_interval(
    X: Array, y: Array, points: Array, level: float, seed: int
) -> tuple[Array, Array]:
    """Mean and knowledge uncertainty of ten virtual ensembles as a normal interval; and the mean.

    `posterior_sampling` is CatBoost's own name for its stochastic gradient Langevin boosting.
    """
    model = CatBoostRegressor(
        posterior_sampling=True,
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(X, y)
    found = model.virtual_ensembles_predict(
        points,
        prediction_type="TotalUncertainty",
        virtual_ensembles_count=N_VIRTUAL,
        thread_count=1,
    )
    mean, knowledge = np.asarray(found, dtype=np.float64)[:, :2].T
    half = norm.ppf((1 + level) / 2) * np.sqrt(np.maximum(knowledge, 0.0))
    return np.stack([mean - half, mean + half], axis=1), mean


def boulevard_interval(
    X: Array, y: Array, points: Array, level: float, seed: int
) -> tuple[Array, Array]:
    """Confidence interval after an honest refit on the second half of the rows; and its middle."""
    half = len(y) // 2
    trained = hessboost.train(
        {**BOULEVARD, "seed": seed}, hessboost.DMatrix(X[:half], y[:half]), N_ROUNDS
    )
    model = honest_refit(trained, X[half:], y[half:])
    inference = BoulevardInference.fit(model, X[half:], holdout=X[:half], holdout_label=y[:half])
    bounds = np.asarray(inference.confidence_intervals(points, alpha=1 - level), dtype=np.float64)
    return bounds, bounds.mean(axis=1)
