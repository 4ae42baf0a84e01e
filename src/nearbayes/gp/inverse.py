"""Inverse of a positive definite matrix, by recursive halving.

JAX does not offer LAPACK's ``potri``, and solving for the identity takes three times the arithmetic
because it ignores the zeros. Halving avoids most of them, with matrix products only.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

__all__ = ["inverse_from_root"]

SMALL = 64  # rows up to which the inverse is computed directly


def inverse_from_root(root: Any) -> Any:
    r"""Inverse of :math:`L L^\top` from its Cholesky root L, shape (n, n)."""
    return _inverses(root)[1]


def _inverses(root: Any) -> tuple[Any, Any]:
    r"""Both :math:`U = L^{-\top}`, upper triangular, and :math:`U U^\top`.

    With the blocks a, b, c of L, those of U are :math:`A = a^{-\top}`, :math:`C = c^{-\top}` and
    :math:`B = -A b^\top C`. The transposed factor of a product is on the right, where XLA is
    faster.
    """
    n = len(root)
    if n <= SMALL:
        upper = solve_triangular(root, jnp.eye(n, dtype=root.dtype), lower=True).T
        return upper, upper @ upper.T
    half = n // 2
    first, first_product = _inverses(root[:half, :half])
    last, last_product = _inverses(root[half:, half:])
    corner = -(first @ root[half:, :half].T) @ last
    cross = corner @ last.T
    upper = jnp.block([[first, corner], [jnp.zeros_like(corner.T), last]])
    product = jnp.block([[first_product + corner @ corner.T, cross], [cross.T, last_product]])
    return upper, product
