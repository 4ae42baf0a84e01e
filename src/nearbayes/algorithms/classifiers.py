"""Classifiers: choose the algorithm for a user's classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.algorithms.estimators import ClassifierAlgorithm
from nearbayes.fits.adapters import fitting_of
from nearbayes.registry import family_of

__all__ = ["classifier_algorithm"]


def classifier_algorithm(estimator: Any, fit_params: Mapping[str, Any], quick: bool = False) -> Any:
    """Use the classifier's own refit if it has one; other classifiers are fitted again.

    Parameters
    ----------
    estimator : classifier
    fit_params : mapping
        Further keyword arguments of `fit`.
    quick : bool
        Whether to learn the recalibration from a few folds, for a first look.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> type(classifier_algorithm(GaussianNB(), {})).__name__
    'ClassifierAlgorithm'
    """
    family = family_of(estimator)
    if family is not None and family.algorithm is not None and not fit_params:
        return family.resolved("algorithm")(estimator)
    return ClassifierAlgorithm(fitting_of(estimator, fit_params), quick=quick)
