"""Classifiers: which algorithm a classifier of the user becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearbayes.algorithms.estimators import ClassifierAlgorithm
from nearbayes.fits.adapters import fitting_of
from nearbayes.registry import family_of

__all__ = ["classifier_algorithm"]


def classifier_algorithm(estimator: Any, fit_params: Mapping[str, Any], quick: bool = False) -> Any:
    """A classifier with a refit of its own keeps it; others are fitted again.

    Parameters
    ----------
    estimator : classifier
    fit_params : mapping
        Further keyword arguments of `fit`.
    quick : bool
        Whether to learn what labels are imputed from on a few folds, as a first look does.

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
