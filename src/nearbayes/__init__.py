"""Bayesian uncertainty for any machine-learning algorithm, with no prior to write."""

from nearbayes import baselines, causal, files, gp, metrics, neural, plots
from nearbayes.algorithms import families
from nearbayes.algorithms.estimators import (
    ClassifierAlgorithm,
    DensityAlgorithm,
    RegressorAlgorithm,
)
from nearbayes.algorithms.families import SequentialMLE
from nearbayes.algorithms.functions import algorithm
from nearbayes.algorithms.linear_gaussian import LinearGaussian
from nearbayes.core import inputs
from nearbayes.core.data import Data
from nearbayes.core.engine import DrawWarning
from nearbayes.core.martingale import martingale_paths, martingale_posterior
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm, Traits
from nearbayes.core.schedule import Schedule
from nearbayes.draws import credible_sets
from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor, load
from nearbayes.estimators.rare import RareClassWarning
from nearbayes.gradients.gradient_martingale import GradientMartingale
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor

__version__ = "0.1.0.dev0"

__all__ = [
    "Algorithm",
    "ChunkAlgorithm",
    "ClassifierAlgorithm",
    "Data",
    "DensityAlgorithm",
    "DrawWarning",
    "GradientMartingale",
    "LinearGaussian",
    "Posterior",
    "PosteriorClassifier",
    "PosteriorRegressor",
    "RareClassWarning",
    "RegressorAlgorithm",
    "Schedule",
    "SequentialMLE",
    "SmoothTreesClassifier",
    "SmoothTreesRegressor",
    "Traits",
    "algorithm",
    "baselines",
    "causal",
    "credible_sets",
    "families",
    "files",
    "gp",
    "inputs",
    "load",
    "martingale_paths",
    "martingale_posterior",
    "metrics",
    "neural",
    "plots",
]
