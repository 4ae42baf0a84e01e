r"""Kernels: stationary covariances by name, from tinygp, and their spectral densities.

By Bochner's theorem a stationary kernel with k(x, x) = 1 is the mean of
:math:`\cos(\omega^\top (x - x'))` over its spectral density; that of Matern-:math:`\nu` is a
multivariate t with :math:`2\nu` degrees of freedom, that of the squared exponential a normal.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import jax.numpy as jnp
import numpy as np
import tinygp
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2, qmc

from nearbayes.core.protocols import Rng
from nearbayes.core.seeds import integer_seed

__all__ = [
    "KernelName",
    "check_kernel",
    "covariance",
    "kernel_of",
    "length_scales",
    "spectral_frequencies",
]

KernelName = Literal["matern12", "matern32", "matern52", "rbf"]
SMALLEST = 1e-20  # squared distance
DEGREES_OF_FREEDOM = {"matern12": 1, "matern32": 3, "matern52": 5}
CLASSES: dict[str, Any] = {
    "matern12": tinygp.kernels.Exp,
    "matern32": tinygp.kernels.Matern32,
    "matern52": tinygp.kernels.Matern52,
    "rbf": tinygp.kernels.ExpSquared,
}


def check_kernel(name: Any) -> None:
    """Refuse an unknown kernel."""
    if name not in get_args(KernelName):
        raise ValueError(f"kernel must be one of {', '.join(get_args(KernelName))}, got {name!r}.")


def kernel_of(name: KernelName, length_scale: Any, variance: Any = 1.0) -> Any:
    """The kernel of tinygp, with one length scale for all columns or one per column (ARD)."""
    unit = CLASSES[name](distance=tinygp.kernels.distance.L2Distance())
    return variance * tinygp.transforms.Transform(lambda x: x / length_scale, unit)


def covariance(name: KernelName, x: Any, z: Any = None) -> Any:
    """Covariances of unit variance between rows in units of the length scales.

    The same as `kernel_of`, but by matrix products, which need much less memory for the gradient.

    Parameters
    ----------
    name : str
    x, z : arrays of shape (n, n_columns) and (m, n_columns)
        If `z` is None, covariances are between the rows of `x`, with exactly 1 on the diagonal.
    """
    other = x if z is None else z
    squared = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(other**2, axis=1) - 2 * x @ other.T
    if z is None:
        squared = jnp.where(jnp.eye(len(x), dtype=bool), 0.0, squared)
    distance = jnp.sqrt(jnp.maximum(squared, SMALLEST))  # differentiable everywhere
    unit = CLASSES[name](distance=tinygp.kernels.distance.L2Distance())
    return jnp.vectorize(unit.evaluate)(distance, 0.0)


def length_scales(length_scale: Any, n_columns: int) -> NDArray[np.float64]:
    """Check `length_scale`; return one per column."""
    scales = np.asarray(length_scale, dtype=np.float64)
    if scales.ndim > 1 or (scales.ndim == 1 and len(scales) != n_columns):
        raise ValueError(
            f"length_scale must be a number or have shape ({n_columns},), one per column of X, "
            f"got shape {scales.shape}."
        )
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise ValueError(f"length_scale must be positive and finite, got {length_scale!r}.")
    return np.broadcast_to(scales, (n_columns,))


def spectral_frequencies(
    name: KernelName, length_scale: NDArray[np.float64], size: int, rng: Rng
) -> NDArray[np.float64]:
    """Sample frequencies from the spectral density of a kernel, shape (size, n_columns).

    They come from a scrambled Halton sequence, which covers the density evenly, so the mean of
    their cosines is much closer to the kernel than with independent frequencies. These would leave
    small correlations between rows that are far apart.
    """
    n_columns = len(length_scale)
    even = qmc.Halton(n_columns + 1, rng=np.random.default_rng(integer_seed(rng))).random(size)
    normal = ndtri(even[:, :n_columns])
    if name != "rbf":
        freedom = DEGREES_OF_FREEDOM[name]
        normal = normal * np.sqrt(freedom / chi2.ppf(even[:, n_columns:], freedom))
    return np.asarray(normal / length_scale)
