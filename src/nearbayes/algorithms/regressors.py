"""Regressors: which algorithm a regressor of the user becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.algorithms.estimators import RegressorAlgorithm
from nearbayes.fits.adapters import fitting_of

__all__ = ["regressor_algorithm"]


def regressor_algorithm(estimator: Any, noise: Any, fit_params: Mapping[str, Any]) -> Any:
    """A Gaussian process with its own noise is refitted as such; others get noise around them.

    Parameters
    ----------
    estimator : regressor
    noise : str or callable
        As in `PosteriorRegressor`.
    fit_params : mapping
        Further keyword arguments of `fit`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> type(regressor_algorithm(Ridge(), "auto", {})).__name__
    'RegressorAlgorithm'
    """
    if _is_our_process(type(estimator)) and noise in ("auto", "estimator") and not fit_params:
        from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm

        return EmpiricalBayesAlgorithm(estimator)
    return RegressorAlgorithm(fitting_of(estimator, fit_params), noise)


def _is_our_process(kind: type) -> bool:
    """Tell by name, so that JAX is not imported for others; a subclass may do anything."""
    return kind.__name__ == "EmpiricalBayesGP" and kind.__module__.startswith("nearbayes.")
