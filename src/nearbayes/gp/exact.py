r"""Exact posterior of a Gaussian process with known kernel and noise, for comparison (tinygp)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import tinygp
from numpy.typing import ArrayLike, NDArray

from nearbayes.compiled.precision import computing_in
from nearbayes.gp.kernels import KernelName, check_kernel, kernel_of, length_scales

__all__ = ["exact_posterior"]


def exact_posterior(
    X: ArrayLike,
    y: ArrayLike,
    X_new: ArrayLike,
    *,
    kernel: KernelName = "matern32",
    length_scale: Any = 1.0,
    variance: float = 1.0,
    noise: float = 0.1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Mean and standard deviation of f(x) given data: conjugate Gaussian process regression.

    Parameters
    ----------
    X, y : arrays of shape (n_rows, n_columns) and (n_rows,)
    X_new : array of shape (n_new, n_columns)
    kernel, length_scale, variance
        Prior covariance of f, with mean 0.
    noise : float
        Standard deviation :math:`\sigma` of y around f(x).

    Returns
    -------
    mean, sd : arrays of shape (n_new,)

    Examples
    --------
    >>> mean, sd = exact_posterior([[0.0]], [1.0], [[0.0], [9.0]], noise=1.0)
    >>> mean.round(2).tolist(), (sd**2).round(2).tolist()
    ([0.5, 0.0], [0.5, 1.0])
    """
    check_kernel(kernel)
    rows, new = (np.asarray(table, dtype=np.float64) for table in (X, X_new))
    with computing_in("float64"):
        covariance = kernel_of(kernel, length_scales(length_scale, rows.shape[1]), variance)
        process = tinygp.GaussianProcess(
            covariance, jnp.asarray(rows), diag=jnp.full(len(rows), noise**2)
        )
        found = process.condition(jnp.asarray(y, dtype=float), jnp.asarray(new)).gp
        return np.asarray(found.loc), np.sqrt(np.asarray(found.variance))
