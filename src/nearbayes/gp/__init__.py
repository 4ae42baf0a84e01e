"""Gaussian processes in JAX: `RandomFeatureGP`, `EmpiricalBayesGP`, `exact_posterior`.

They implement section 3.2.2 and the GP experiment of section 5 of the paper. JAX is imported on
first use: ``pip install 'nearbayes[jax]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearbayes.gp.exact import exact_posterior
    from nearbayes.gp.process import EmpiricalBayesGP
    from nearbayes.gp.sequential_map import RandomFeatureGP

__all__ = ["EmpiricalBayesGP", "RandomFeatureGP", "exact_posterior"]

ROOMS = {
    "EmpiricalBayesGP": "process",
    "RandomFeatureGP": "sequential_map",
    "exact_posterior": "exact",
}


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"nearbayes.gp.{name} needs JAX, tinygp and Optax: pip install 'nearbayes[jax]'.",
            name=error.name,
        ) from error
