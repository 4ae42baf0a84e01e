"""Bayesian uncertainty for any machine-learning algorithm, with no prior to write."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from nearbayes.core.posterior import Posterior
    from nearbayes.core.protocols import Algorithm, ChunkAlgorithm, Traits
    from nearbayes.core.schedule import Schedule
    from nearbayes.draws import credible_sets
    from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor, load
    from nearbayes.estimators.rare import RareClassWarning
    from nearbayes.gradients.gradient_martingale import GradientMartingale
    from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor
    from nearbayes.methods.martingale import martingale_paths, martingale_posterior

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

# Modules of public names, loaded at first use, as NumPy, SciPy and scikit-learn take seconds.
# Names that are not here are modules of the package. A test compares this with the imports above.
_HOMES = {
    "Algorithm": "core.protocols",
    "ChunkAlgorithm": "core.protocols",
    "ClassifierAlgorithm": "algorithms.estimators",
    "Data": "core.data",
    "DensityAlgorithm": "algorithms.estimators",
    "DrawWarning": "core.engine",
    "GradientMartingale": "gradients.gradient_martingale",
    "LinearGaussian": "algorithms.linear_gaussian",
    "Posterior": "core.posterior",
    "PosteriorClassifier": "estimators",
    "PosteriorRegressor": "estimators",
    "RareClassWarning": "estimators.rare",
    "RegressorAlgorithm": "algorithms.estimators",
    "Schedule": "core.schedule",
    "SequentialMLE": "algorithms.families",
    "SmoothTreesClassifier": "learners.smooth_trees",
    "SmoothTreesRegressor": "learners.smooth_trees",
    "Traits": "core.protocols",
    "algorithm": "algorithms.functions",
    "credible_sets": "draws",
    "families": "algorithms",
    "inputs": "core",
    "load": "estimators",
    "martingale_paths": "methods.martingale",
    "martingale_posterior": "methods.martingale",
}


def __getattr__(name: str) -> Any:
    """Load a public name, or a module of the package, when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'nearbayes' has no attribute {name!r}")
    home = _HOMES.get(name)
    try:
        found = import_module(f"{__name__}.{home or name}")
        if home is not None:
            found = getattr(found, name, None) or import_module(f"{__name__}.{home}.{name}")
    except AttributeError as error:  # Python would read it as "nearbayes has no such name"
        raise ImportError(f"nearbayes.{name} could not be loaded: {error}") from error
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Public names."""
    return [*__all__, "__version__"]
