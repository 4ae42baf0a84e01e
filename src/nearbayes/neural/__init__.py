"""Neural networks in JAX and PyTorch: estimators, the proximal Bregman refit, losses.

They implement section 4 ("A modified objective for DNNs") and App. C of the paper. JAX and PyTorch
are imported on first use: ``pip install 'nearbayes[jax]'``, ``pip install 'nearbayes[torch]'``.
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
    from nearbayes.neural.torch_algorithm import TorchAlgorithm

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
    "TorchAlgorithm",
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
    "TorchAlgorithm": "torch_algorithm",
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
        library, extra = "JAX, equinox and Optax", "jax"
        if name == "TorchAlgorithm":
            library, extra = "PyTorch", "torch"
        raise ModuleNotFoundError(
            f"nearbayes.neural.{name} needs {library}: pip install 'nearbayes[{extra}]'.",
            name=error.name,
        ) from error
