"""Estimators: the scikit-learn interface of the library."""

from nearbayes.estimators.classifier import PosteriorClassifier
from nearbayes.estimators.loading import load
from nearbayes.estimators.regressor import PosteriorRegressor

__all__ = ["PosteriorClassifier", "PosteriorRegressor", "load"]
