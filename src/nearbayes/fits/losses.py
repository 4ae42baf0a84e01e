"""Losses: recognises log likelihoods of counts and of positive outcomes."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

__all__ = ["variance_power"]

# Names of the loss parameter in scikit-learn, CatBoost, XGBoost and LightGBM.
NAMES_OF_LOSS = ("loss", "loss_function", "objective", "application", "app", "objective_type")
USUAL_TWEEDIE = 1.5


def variance_power(estimator: Any) -> float | None:
    """Power p of the variance function mean ** p that the estimator's loss implies.

    1 for Poisson losses, 2 for gamma losses, in between for Tweedie losses, None for all others.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> variance_power(HistGradientBoostingRegressor(loss="gamma"))
    2.0
    >>> variance_power(HistGradientBoostingRegressor()) is None
    True
    """
    if isinstance(estimator, PoissonRegressor | GammaRegressor):
        return 1.0 if isinstance(estimator, PoissonRegressor) else 2.0
    if isinstance(estimator, TweedieRegressor):
        return float(estimator.power) if 1 <= estimator.power <= 2 else None
    params = estimator.get_params(deep=False)
    losses = (params.get(name) for name in NAMES_OF_LOSS)
    for loss in (each.lower() for each in losses if isinstance(each, str)):
        if "poisson" in loss:
            return 1.0
        if loss in ("gamma", "reg:gamma"):
            return 2.0
        if "tweedie" in loss:  # CatBoost writes "Tweedie:variance_power=1.2"
            given = loss.partition("variance_power=")[2] or params.get("tweedie_variance_power")
            return float(given or USUAL_TWEEDIE)
    return None
