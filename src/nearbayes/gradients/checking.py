"""Checking: the outputs of a user's log density and sampler, before any draw is made."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import numpy as np

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.gradients.calling import shape_given
from nearbayes.gradients.densities import Density

__all__ = ["check_functions"]


def check_functions(density: Density, information: Any, start: Any, x: Any, y: Any) -> None:
    """Reject functions with wrong shapes, and log densities that are not finite at the start."""
    if not np.isfinite(start).all():
        raise ValueError("start must be finite, got NaN or infinity among its numbers.")
    unfit = ~np.isfinite(x).all(axis=1)
    if unfit.any():
        raise ValueError(
            f"X must be finite, got NaN or infinity in {unfit.sum()} of {len(unfit)} rows, first "
            f"in row {unfit.argmax()}: fill them in, or drop these rows."
        )
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
    theta = density.structure.unravelled(start)
    inputs: tuple[Any, ...] = (x,) if density.inputs else ()
    names = ("theta", "x", "y") if density.inputs else ("theta", "z")
    shape = shape_given("log_density", density.log_density, names, (theta, *inputs, y))
    if shape != ():
        raise ValueError(
            f"log_density({', '.join(names)}) must return one number, got {_said(shape)}: sum over "
            "its entries."
        )
    names = ("theta", "x", "key") if density.inputs else ("theta", "key")
    given = (theta, *inputs, jax.random.key(0))
    sampled = shape_given("sampler", density.sampler, names, given)
    if sampled != np.shape(y):
        raise ValueError(
            f"sampler must return one observation of shape {np.shape(y)}, as in the data, got "
            f"{_said(sampled)}."
        )


def _said(shape: Any) -> str:
    return shape if isinstance(shape, str) else f"shape {shape}"


def _check_information(density: Density, information: Any, start: Any, x: Any) -> None:
    size = density.structure.size
    names = ("theta", "x") if density.inputs else ("theta",)
    given = (density.structure.unravelled(start), x)[: len(names)]
    shape = shape_given("information", information, names, given)
    single = size == 1 and not isinstance(shape, str) and int(np.prod(shape)) == 1
    if shape != (size, size) and not single:
        raise ValueError(
            f"information must return a matrix of shape {(size, size)}, got {_said(shape)}."
        )
