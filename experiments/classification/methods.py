"""Methods: XGBoost alone, and with each kind of posterior.

Every method trains on the same 60 % of the rows and may use the same 20 % to choose settings. All
return class probabilities at the test rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

import nearbayes as nb
from experiments.runner.datasets import Split

Probabilities = NDArray[np.float64]

# The paper's grid (App. D): depth, number of rounds L, learning rate c / L.
GRID = tuple(itertools.product((4, 5, 6, 7), (50, 100, 200), (10, 30, 100)))
SETTING = ("max_depth", "n_estimators", "learning_rate")
STOP_AFTER = 10
N_FOLDS = 3
POSTERIORS = ("bootstrap", "parametric_bootstrap", "ensemble", "martingale")
STOCHASTIC = ("stochastic_ensemble", "stochastic_martingale")
RANDOM_PARTS = {"subsample": 0.8, "colsample_bytree": 0.8}
PEERS = ("random_forest", "ngboost", "catboost", "bart")  # in peers.py


def choose_hyperparameters(split: Split) -> dict[str, Any]:
    """The setting of the paper's grid with the best log score by cross-validation.

    Folds are of the training and validation rows together; fits are stopped and scored on the fold
    left out. The test rows are not used, and no single small validation set decides the choice.
    """
    rows = pd.concat([split.X_train, split.X_validation])
    labels = np.concatenate([split.y_train, split.y_validation])
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(labels))
    scores = {}
    for depth, rounds, rate in GRID:
        setting = dict(zip(SETTING, (depth, rounds, rate / rounds), strict=True))
        losses = [
            _fitted(setting, rows.iloc[fold], labels[fold], rows.iloc[out], labels[out]).best_score
            for fold, out in folds
        ]
        scores[tuple(setting.values())] = float(np.mean(losses))
    best = min(scores, key=scores.__getitem__)
    return {**dict(zip(SETTING, best, strict=True)), "validation_nll": scores[best]}


def boosted_trees(chosen: Mapping[str, Any], **options: Any) -> XGBClassifier:
    """The base algorithm: XGBoost with early stopping on the validation rows."""
    return XGBClassifier(
        **{name: chosen[name] for name in SETTING},
        early_stopping_rounds=STOP_AFTER,
        enable_categorical=True,
        max_bin=64,  # faster than 256, and enough for about 1,000 rows
        n_jobs=1,
        **options,
    )


def _fitted(chosen: Mapping[str, Any], X: Any, y: Any, X_stop: Any, y_stop: Any) -> XGBClassifier:
    return boosted_trees(chosen).fit(X, y, eval_set=[(X_stop, y_stop)], verbose=False)


def base(split: Split, chosen: Mapping[str, Any]) -> Probabilities:
    """XGBoost alone."""
    model = _fitted(chosen, split.X_train, split.y_train, split.X_validation, split.y_validation)
    return np.asarray(model.predict_proba(split.X_test), dtype=np.float64)


def posterior(
    method: str, split: Split, chosen: Mapping[str, Any], n_draws: int, seed: int
) -> Probabilities:
    """Mean prediction of posterior draws of XGBoost, with the library's defaults.

    XGBoost is not random as configured, so an ensemble of it equals the base model; "stochastic"
    methods sample rows and columns.
    """
    stochastic = method.startswith("stochastic_")
    model = nb.PosteriorClassifier(
        boosted_trees(chosen, **(RANDOM_PARTS if stochastic else {})),
        method=method.removeprefix("stochastic_"),
        n_draws=n_draws,
        random_state=seed,
        calibration=None,  # intervals are not scored here
        on_error="raise",
        progress=False,
    )
    validation = [(split.X_validation, split.y_validation)]
    model.fit(split.X_train, split.y_train, eval_set=validation, verbose=False)
    return model.predict_proba(split.X_test)
