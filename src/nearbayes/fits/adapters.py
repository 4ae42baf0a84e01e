"""Adapters: which way of fitting an estimator of the user gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.left_out import LeftOut

__all__ = ["fitting_of"]


def fitting_of(estimator: Any, params: Mapping[str, Any]) -> EstimatorFit:
    """How to fit an estimator: by the adapter of its library, or as any scikit-learn estimator.

    A subclass of the user's may do anything in its `fit`, so it is fitted by that.

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
    """Tell AutoGluon's predictor, of which subclasses have the same `fit` in our hands."""
    return kind.__name__ == "TabularPredictor" and kind.__module__.startswith("autogluon.")
