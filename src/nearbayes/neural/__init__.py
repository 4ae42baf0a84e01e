"""Neural networks in JAX: estimators, the proximal Bregman refit, losses.

They implement section 4 ("A modified objective for DNNs") and App. C of the paper. JAX is imported
on first use: ``pip install 'nearbayes[jax]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearbayes.neural.chunks import Optimiser
    from nearbayes.neural.network import MLP, EquinoxNetwork
    from nearbayes.neural.network_algorithm import NetworkAlgorithm
    from nearbayes.neural.outcomes import (
        Classes,
        CountOutcomes,
        Numbers,
        UserOutcomes,
        VaryingNumbers,
    )
    from nearbayes.neural.perceptrons import MLPClassifier, MLPRegressor

__all__ = [
    "MLP",
    "Classes",
    "CountOutcomes",
    "EquinoxNetwork",
    "MLPClassifier",
    "MLPRegressor",
    "NetworkAlgorithm",
    "Numbers",
    "Optimiser",
    "UserOutcomes",
    "VaryingNumbers",
]

ROOMS = {
    "MLP": "network",
    "EquinoxNetwork": "network",
    "MLPClassifier": "perceptrons",
    "MLPRegressor": "perceptrons",
    "NetworkAlgorithm": "network_algorithm",
    "Optimiser": "chunks",
    **dict.fromkeys(
        ("Classes", "CountOutcomes", "Numbers", "UserOutcomes", "VaryingNumbers"), "outcomes"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"nearbayes.neural.{name} needs JAX, equinox and Optax: pip install 'nearbayes[jax]'.",
            name=error.name,
        ) from error
