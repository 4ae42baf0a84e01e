"""Precision: Gaussian processes are computed in float64 unless asked otherwise.

JAX has one switch for the whole program; it is turned for the length of a call, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax

__all__ = ["Precision", "compiled", "computing_in"]

Precision = Literal["float64", "float32"]

# A batched Cholesky decomposition inside a loop hangs under the default scheduler of XLA on few
# cores (jaxlib 0.10.2).
OPTIONS = {"xla_cpu_enable_concurrency_optimized_scheduler": False}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function, once per shape of its arguments."""
    return jax.jit(function, compiler_options=OPTIONS, **options)


def computing_in(precision: Precision) -> Any:
    """Context in which JAX computes with numbers of this length."""
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision must be 'float64' or 'float32', got {precision!r}.")
    return jax.enable_x64(precision == "float64")
