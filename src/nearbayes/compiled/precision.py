"""Precision: JAX computes in float64 by default, and programs use one thread.

JAX's switch for float64 is global; it is set only for the duration of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax

__all__ = ["Precision", "compiled", "computing_in"]

Precision = Literal["float64", "float32"]

# One thread per program, because draws are already divided among threads. Programs that share the
# threads of XLA deadlock when they decompose many matrices at once (jaxlib 0.10.2).
OPTIONS = {"xla_cpu_multi_thread_eigen": False}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function, once per shape of its arguments.

    Functions should map over draws with `jax.lax.map`, not `jax.vmap`: a draw is then the same, to
    the last bit, for any number of draws.
    """
    return jax.jit(function, compiler_options=OPTIONS, **options)


def computing_in(precision: Precision) -> Any:
    """Context in which JAX computes with this precision."""
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision must be 'float64' or 'float32', got {precision!r}.")
    return jax.enable_x64(precision == "float64")
