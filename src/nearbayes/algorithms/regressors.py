"""Regressors: choose the algorithm for a user's regressor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.algorithms.estimators import RegressorAlgorithm
from nearbayes.fits.adapters import fitting_of
from nearbayes.registry import family_of

__all__ = ["regressor_algorithm"]


def regressor_algorithm(
    estimator: Any, noise: Any, fit_params: Mapping[str, Any], quick: bool = False
) -> Any:
    """Use the regressor's own refit if it has one; add noise to the predictions of others.

    Parameters
    ----------
    estimator : regressor
    noise : str or callable
        As in `PosteriorRegressor`.
    fit_params : mapping
        Further keyword arguments of `fit`.
    quick : bool
        Whether to learn the noise from a few folds, for a first look.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> type(regressor_algorithm(Ridge(), "auto", {})).__name__
    'RegressorAlgorithm'
    """
    family, own_noise = family_of(estimator), noise in ("auto", "estimator")
    if family is not None and family.algorithm is not None and own_noise and not fit_params:
        return family.resolved("algorithm")(estimator)
    return RegressorAlgorithm(fitting_of(estimator, fit_params), noise, quick=quick)
