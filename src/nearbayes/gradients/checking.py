"""Checking: what a user's log density and sampler give, before any draw is made."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import numpy as np

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.gradients.densities import Density

__all__ = ["check_functions"]


def check_functions(density: Density, information: Any, start: Any, x: Any, y: Any) -> None:
    """Refuse functions with wrong shapes, and log densities that are not finite at the start."""
    if not np.isfinite(start).all():
        raise ValueError("start must be finite, got NaN or infinity among its numbers.")
    with computing_in("float64"):
        _check_shapes(density, start, x[0], y[0])
        if callable(information):
            _check_information(density, information, start, x[0])
        values = _values_program(density)(start, x, y)
    bad = ~np.isfinite(np.asarray(values))
    if bad.any():
        raise ValueError(
            f"log_density must be finite at start, got {np.asarray(values)[bad][0]} in {bad.sum()} "
            f"of {len(bad)} rows, first in row {bad.argmax()}: choose another start, or check the "
            "outcomes."
        )


@lru_cache(maxsize=32)
def _values_program(density: Density) -> Any:
    """Program ``(theta, x, y) -> values``: log densities of many rows."""
    return compiled(jax.vmap(density.log_p, in_axes=(None, 0, 0)))


def _check_shapes(density: Density, start: Any, x: Any, y: Any) -> None:
    given = "theta, x, y" if density.inputs else "theta, z"
    shape = jax.eval_shape(density.log_p, start, x, y).shape
    if shape != ():
        raise ValueError(
            f"log_density({given}) must return one number, got shape {shape}: sum over its entries."
        )
    sampled = jax.eval_shape(density.sample, start, x, jax.random.key(0)).shape
    if sampled != np.shape(y):
        raise ValueError(
            f"sampler must return one observation of shape {np.shape(y)}, as in the data, got "
            f"shape {sampled}."
        )


def _check_information(density: Density, information: Any, start: Any, x: Any) -> None:
    size = density.structure.size
    given = (density.structure.unravelled(start), *((x,) if density.inputs else ()))
    shape = jax.eval_shape(information, *given).shape
    if shape != (size, size) and (size > 1 or int(np.prod(shape)) != 1):
        raise ValueError(
            f"information must return a matrix of shape {(size, size)}, got shape {shape}."
        )
