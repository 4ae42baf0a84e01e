"""Structural causal models with credible bands, for what-if questions.

`DiffusionSCM` implements section 5 (interventional density estimation) and App. D.5 of the paper,
and needs JAX: ``pip install 'nearbayes[jax]'``. `SCM` takes any estimator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearbayes.causal.causal_model import CausalSamples
    from nearbayes.causal.diffusion_scm import DiffusionSCM
    from nearbayes.causal.graph import CausalGraph
    from nearbayes.causal.scm import SCM

__all__ = ["SCM", "CausalGraph", "CausalSamples", "DiffusionSCM"]

ROOMS = {
    "CausalGraph": "graph",
    "CausalSamples": "causal_model",
    "DiffusionSCM": "diffusion_scm",
    "SCM": "scm",
}


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"nearbayes.causal.{name} needs JAX, equinox and Optax: pip install 'nearbayes[jax]'.",
            name=error.name,
        ) from error
