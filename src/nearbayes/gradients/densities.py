"""Densities: a user's log density and sampler as functions of a flat parameter vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Density", "Structure", "flattened"]


@dataclass(frozen=True)
class Structure:
    """Converts a flat vector to the user's parameters: an array, a dict, ..."""

    tree: Any
    shapes: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def unravelled(self, flat: Any) -> Any:
        """Parameters of a flat vector, shape (size,)."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = [flat[a:b] for a, b in zip([0, *ends], [*ends, self.size], strict=True)]
        leaves = [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)


def flattened(
    start: Any, name: str = "start"
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Structure]:
    """A flat vector of parameters in any structure, and the structure.

    Errors name `name` as where the parameters come from.
    """
    leaves, tree = jax.tree.flatten(start)
    try:
        if any(np.iscomplexobj(leaf) for leaf in leaves):
            raise ValueError
        arrays = [np.asarray(leaf, dtype=np.float64) for leaf in leaves]
        flat = np.concatenate([array.ravel() for array in arrays])
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of numbers, or a structure of such arrays, got {start!r}: "
            "give real numbers."
        ) from None
    return flat, Structure(tree, tuple(array.shape for array in arrays))


@dataclass(frozen=True)
class Density:
    """Log density and sampler of one observation, as functions of a flat parameter vector.

    Attributes
    ----------
    log_density : callable
        ``log_density(theta, y)``, or ``log_density(theta, x, y)`` with inputs; a number.
    sampler : callable
        ``sampler(theta, key)`` or ``sampler(theta, x, key)``; one observation.
    structure : Structure
    inputs : bool
        Whether observations have inputs x.
    """

    log_density: Callable[..., Any]
    sampler: Callable[..., Any]
    structure: Structure
    inputs: bool

    def log_p(self, theta: Any, x: Any, y: Any) -> Any:
        """Log density of one observation."""
        given = (x, y) if self.inputs else (y,)
        return self.log_density(self.structure.unravelled(theta), *given)

    def sample(self, theta: Any, x: Any, key: Any) -> Any:
        """One observation, as float."""
        given = (x, key) if self.inputs else (key,)
        return jnp.asarray(self.sampler(self.structure.unravelled(theta), *given), dtype=float)

    def score(self, theta: Any, x: Any, y: Any) -> Any:
        """Gradient of the log density in the parameters, shape (size,)."""
        return jax.grad(self.log_p)(theta, x, y)

    def curvature_of_rows(self, theta: Any, x: Any, y: Any, weight: Any) -> Any:
        """Minus the Hessian of the weighted sum of log densities, shape (size, size).

        That of the sum, as the products of many rows are then products of matrices.
        """

        def total(theta: Any) -> Any:
            return weight @ jax.vmap(self.log_p, in_axes=(None, 0, 0))(theta, x, y)

        return -jax.hessian(total)(theta)
