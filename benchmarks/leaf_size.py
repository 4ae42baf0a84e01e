"""Histogram boosting: minimum leaf sizes that grow with imputed rows, against constant ones.

Held-out log score (breast cancer, wine) and CRPS (diabetes), 2 splits, 16 draws, default schedule.
Run: ``.venv/bin/python benchmarks/leaf_size.py`` (about 5 minutes).
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1")

from collections.abc import Callable
from typing import Any
from unittest import mock

from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

import nearbayes as nb
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.metrics import crps_samples, log_score

# one process, because the patch below does not reach others
COMMON = {
    "n_draws": 16,
    "calibration": None,
    "random_state": 0,
    "n_jobs": 1,
    "progress": False,
}


def score(load: Callable[..., Any], split: int, **options: Any) -> float:
    """Held-out score of one posterior; lower is better."""
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=split)
    if load is load_diabetes:
        model = nb.PosteriorRegressor(HistGradientBoostingRegressor(), **COMMON, **options)
        return crps_samples(y_test, model.fit(X_train, y_train).sample(X_test, 500, random_state=0))
    model = nb.PosteriorClassifier(HistGradientBoostingClassifier(), **COMMON, **options)
    return log_score(y_test, model.fit(X_train, y_train).predict_proba(X_test))


if __name__ == "__main__":
    print(f"{'data set':<14}{'split':>6}{'base':>9}{'bagging':>9}{'stay':>9}{'grow':>9}")
    for load in (load_breast_cancer, load_wine, load_diabetes):
        for split in (0, 1):
            base, bagging = score(load, split, n_refits=0), score(load, split, method="bootstrap")
            with mock.patch.object(EstimatorFit, "leaf_sizes", {}):
                stay = score(load, split)
            figures = "".join(f"{x:>9.4f}" for x in (base, bagging, stay, score(load, split)))
            print(f"{load.__name__[5:]:<14}{split:>6}{figures}", flush=True)
