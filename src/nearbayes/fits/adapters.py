"""Adapters: choose how to fit the user's estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.left_out import LeftOut

__all__ = ["fitting_of"]


def fitting_of(estimator: Any, params: Mapping[str, Any]) -> EstimatorFit:
    """Choose the adapter of an estimator's library, or the one for any scikit-learn estimator.

    A user's subclass of an XGBoost or LightGBM class may override `fit`, so its own `fit` is used.

    Parameters
    ----------
    estimator : scikit-learn estimator, or TabularPredictor of AutoGluon
    params : mapping
        Further keyword arguments of `fit`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> type(fitting_of(Ridge(), {})).__name__
    'EstimatorFit'
    """
    if isinstance(estimator, LeftOut):
        estimator.refuse()
    kind = type(estimator)
    library = kind.__module__.partition(".")[0]
    if library == "xgboost" and kind.__name__ in ("XGBClassifier", "XGBRegressor"):
        from nearbayes.fits.xgboost_fit import XGBoostFit

        return XGBoostFit(estimator, params)
    if library == "lightgbm" and kind.__name__ in ("LGBMClassifier", "LGBMRegressor"):
        from nearbayes.fits.lightgbm_fit import LightGBMFit

        return LightGBMFit(estimator, params)
    if any(_is_tabular_predictor(each) for each in kind.__mro__):
        from nearbayes.fits.autogluon_fit import AutoGluonFit

        return AutoGluonFit(estimator, params)
    return EstimatorFit(estimator, params)


def _is_tabular_predictor(kind: type) -> bool:
    """Whether a class is AutoGluon's predictor."""
    return kind.__name__ == "TabularPredictor" and kind.__module__.startswith("autogluon.")
