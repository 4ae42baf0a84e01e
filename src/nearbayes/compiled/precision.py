"""Precision: Gaussian processes are computed in float64 unless asked otherwise.

JAX has one switch for the whole program; it is turned for the length of a call, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax

__all__ = ["Precision", "compiled", "computing_in"]

Precision = Literal["float64", "float32"]

# One thread for each program, as draws are parted among threads. Programs that share those of XLA
# wait for each other for ever where they decompose many matrices at once (jaxlib 0.10.2).
OPTIONS = {"xla_cpu_multi_thread_eigen": False}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function, once per shape of its arguments.

    Draws are taken one after the other (`jax.lax.map`, not `jax.vmap`): a draw then does not
    depend, to the last bit, on how many others there are.
    """
    return jax.jit(function, compiler_options=OPTIONS, **options)


def computing_in(precision: Precision) -> Any:
    """Context in which JAX computes with numbers of this length."""
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision must be 'float64' or 'float32', got {precision!r}.")
    return jax.enable_x64(precision == "float64")
