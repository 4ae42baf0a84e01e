"""Adapters: choose how to fit the user's estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.left_out import LeftOut
from nearbayes.registry import family_of

__all__ = ["fitting_of"]


def fitting_of(estimator: Any, params: Mapping[str, Any]) -> EstimatorFit:
    """Choose the adapter of an estimator's library, or the one for any scikit-learn estimator.

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
    family = family_of(estimator)
    if family is None or family.fit is None:
        if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
            raise TypeError(
                "estimator must be a scikit-learn estimator, or of a library that README's table "
                f"names, got {estimator!r:.60}: an Algorithm goes to "
                "nearbayes.martingale_posterior."
            )
        return EstimatorFit(estimator, params)
    return family.resolved("fit")(estimator, params)  # type: ignore[no-any-return]
