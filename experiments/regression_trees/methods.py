"""Methods: each returns quantiles of y at the test rows, and log densities of y if available.

Every method gets the same training and validation rows. Boosted trees use the validation rows for
early stopping, in every fit; a forest trains on both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xgboost import XGBRegressor

import nearbayes as nb
from experiments.runner.datasets import Split

Array = NDArray[np.float64]

LEVELS = np.linspace(0.005, 0.995, 100)
TAILS = np.array([0.05, 0.95])
DEPTHS = (3, 6)
MOST_ROUNDS, PATIENCE = 1_000, 20
N_FOLDS = 10
POSTERIORS = {
    "base": {"n_draws": 1, "n_refits": 0},
    "bootstrap": {"method": "bootstrap"},
    "martingale": {},
    "martingale, gaussian": {"noise": "gaussian"},
    "martingale, heteroscedastic": {"noise": "heteroscedastic"},
}
PEERS = ("mapie", "ngboost", "quantile_forest")


class Predicted(NamedTuple):
    """Predictions of y at the test rows; None for what a method does not provide.

    Attributes
    ----------
    interval : array of shape (n_rows, 2)
        90 % intervals.
    quantiles : array of shape (n_rows, 100), optional
    log_density : array of shape (n_rows,), optional
    """

    interval: Array
    quantiles: Array | None = None
    log_density: Array | None = None


def choose_hyperparameters(split: Split) -> dict[str, Any]:
    """Depth with the least squared error on the validation rows."""
    fitted = {
        depth: boosted_trees(depth).fit(split.X_train, split.y_train, **stopping(split))
        for depth in DEPTHS
    }
    depth = min(fitted, key=lambda each: fitted[each].best_score)
    return {"max_depth": depth, "rounds": fitted[depth].best_iteration + 1}


def boosted_trees(depth: int) -> XGBRegressor:
    """The base algorithm."""
    return XGBRegressor(
        max_depth=depth,
        n_estimators=MOST_ROUNDS,
        early_stopping_rounds=PATIENCE,
        learning_rate=0.1,
        max_bin=64,
        n_jobs=1,
    )


def stopping(split: Split) -> dict[str, Any]:
    """Arguments of a fit that stops early on the validation rows."""
    return {"eval_set": [(split.X_validation, split.y_validation)], "verbose": False}


def posterior(
    method: str, split: Split, chosen: Mapping[str, Any], n_draws: int, seed: int
) -> Predicted:
    """Posterior draws of XGBoost with noise."""
    run: dict[str, Any] = {"n_draws": n_draws, **POSTERIORS[method]}
    model = nb.PosteriorRegressor(
        boosted_trees(chosen["max_depth"]),
        random_state=seed,
        calibration=None,  # for intervals of the regression function only; these are of y
        on_error="raise",
        progress=False,
        **run,
    ).fit(split.X_train, split.y_train, **stopping(split))
    return Predicted(
        model.predict_interval(split.X_test, 0.9),
        model.predict_quantiles(split.X_test, LEVELS),
        model.log_density(split.X_test, split.y_test),
    )


def mapie(split: Split, chosen: Mapping[str, Any], seed: int) -> Predicted:
    """CV+ for XGBoost."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        boosted_trees(chosen["max_depth"]),
        confidence_level=0.9,
        method="plus",
        cv=N_FOLDS,
        random_state=seed,
    )
    model.fit_conformalize(split.X_train, split.y_train, fit_params=stopping(split))
    return Predicted(np.asarray(model.predict_interval(split.X_test)[1][:, :, 0]))


def ngboost(split: Split, chosen: Mapping[str, Any], seed: int) -> Predicted:
    """Natural-gradient boosting of a normal distribution."""
    from ngboost import NGBRegressor

    model = NGBRegressor(
        n_estimators=MOST_ROUNDS, early_stopping_rounds=PATIENCE, random_state=seed, verbose=False
    )
    validation = (split.X_validation.to_numpy(), split.y_validation)
    model.fit(split.X_train.to_numpy(), split.y_train, *validation)
    normal = model.pred_dist(split.X_test.to_numpy(), max_iter=model.best_val_loss_itr)
    return Predicted(
        np.stack([normal.ppf(level) for level in TAILS], axis=1),
        np.stack([normal.ppf(level) for level in LEVELS], axis=1),
        np.asarray(normal.logpdf(split.y_test)),
    )


def quantile_forest(split: Split, chosen: Mapping[str, Any], seed: int) -> Predicted:
    """Quantiles of the training outcomes in a forest's leaves."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(500, min_samples_leaf=5, random_state=seed)
    rows = pd.concat([split.X_train, split.X_validation])
    forest.fit(rows, np.concatenate([split.y_train, split.y_validation]))
    quantiles = forest.predict(split.X_test, quantiles=[*TAILS, *LEVELS])
    return Predicted(quantiles[:, :2], quantiles[:, 2:])


PREDICT = {"mapie": mapie, "ngboost": ngboost, "quantile_forest": quantile_forest}
