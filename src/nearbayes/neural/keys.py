"""Keys: JAX's random keys, from the streams of draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import computing_in

__all__ = ["folded", "keys_of"]

Keys = NDArray[np.uint32]


def keys_of(streams: Sequence[np.random.Generator]) -> Keys:
    """One key per draw, as raw numbers, shape (n_draws, 2)."""
    return np.stack([rng.integers(2**32, size=2, dtype=np.uint32) for rng in streams])


def folded(keys: Keys, number: int) -> Keys:
    """Other keys, one for each number."""
    with computing_in("float32"):
        return np.asarray(_folded(keys, number))


@partial(jax.jit)
def _folded(keys: Any, number: Any) -> Any:
    return jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, number)
