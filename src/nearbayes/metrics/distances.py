"""2-Wasserstein distances between Gaussians and between one-dimensional samples."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearbayes.metrics.checks import finite, vector

# Asymmetry or negative eigenvalues beyond this share of the largest entry are not rounding.
_COVARIANCE_TOLERANCE = 1e-8


def wasserstein2_gaussian(
    mean_a: ArrayLike, cov_a: ArrayLike, mean_b: ArrayLike, cov_b: ArrayLike
) -> float:
    r"""2-Wasserstein distance between two Gaussians (the distance, not its square).

    .. math::
        W_2^2 = \|\mu_a - \mu_b\|^2
              + \operatorname{tr}\bigl(\Sigma_a + \Sigma_b
              - 2 (\Sigma_a^{1/2} \Sigma_b \Sigma_a^{1/2})^{1/2}\bigr)

    The trace, the squared Bures distance, is computed as
    :math:`\min_U \|\Sigma_a^{1/2} - \Sigma_b^{1/2} U\|_F^2` over orthogonal U, which does not
    cancel when the covariances are close and needs no inverse, so they may be singular.

    Parameters
    ----------
    mean_a, mean_b : array_like, shape (d,)
        Means; a number is read as d = 1.
    cov_a, cov_b : array_like, shape (d, d)
        Symmetric positive semi-definite covariances; a number is read as a variance.

    Returns
    -------
    float

    References
    ----------
    Olkin and Pukelsheim (1982), The distance between two random vectors with given dispersion
    matrices, Linear Algebra and its Applications; Bhatia, Jain and Lim (2019), On the
    Bures-Wasserstein distance between positive definite matrices, Expositiones Mathematicae.

    Examples
    --------
    >>> wasserstein2_gaussian([0.0, 3.0], [[0, 0], [0, 0]], [0.0, 0.0], [[16, 0], [0, 0]])
    5.0
    """
    centre_a = vector("mean_a", np.atleast_1d(mean_a))
    centre_b = vector("mean_b", np.atleast_1d(mean_b))
    if centre_a.size != centre_b.size:
        raise ValueError(
            f"mean_b must have the length of mean_a: got {centre_b.size} for {centre_a.size}"
        )
    root_a = _root("cov_a", cov_a, centre_a.size)
    root_b = _root("cov_b", cov_b, centre_a.size)
    left, _, right = np.linalg.svd(root_b @ root_a)
    bures = np.linalg.norm(root_a - root_b @ (left @ right))
    return float(np.hypot(np.linalg.norm(centre_a - centre_b), bures))


def wasserstein2_samples(a: ArrayLike, b: ArrayLike) -> float:
    r"""2-Wasserstein distance between the empirical distributions of two samples of numbers.

    .. math:: W_2^2 = \int_0^1 \bigl(F_a^{-1}(q) - F_b^{-1}(q)\bigr)^2 \, dq

    The integrand is constant between the points i / n_a and j / n_b, so the integral is an exact
    finite sum for any two sizes.

    Parameters
    ----------
    a, b : array_like, shapes (n_a,) and (n_b,)
        Samples.

    Returns
    -------
    float

    References
    ----------
    Villani (2003), Topics in Optimal Transportation, section 2.2.

    Examples
    --------
    >>> wasserstein2_samples([0.0, 1.0], [5.0, 4.0])
    4.0
    """
    low_to_high_a = np.sort(vector("a", a))
    low_to_high_b = np.sort(vector("b", b))
    n_a, n_b = low_to_high_a.size, low_to_high_b.size
    # Breakpoints in units of 1 / (n_a n_b) are integers: no two meet or miss by rounding.
    ends = np.union1d(np.arange(1, n_a + 1) * n_b, np.arange(1, n_b + 1) * n_a)
    lengths = np.diff(ends, prepend=0) / (n_a * n_b)
    gaps = low_to_high_a[(ends - 1) // n_b] - low_to_high_b[(ends - 1) // n_a]
    return float(np.sqrt(np.sum(lengths * gaps**2)))


def _root(name: str, cov: ArrayLike, d: int) -> NDArray[np.float64]:
    """Symmetric square root of a positive semi-definite matrix."""
    matrix = finite(name, np.atleast_2d(cov))
    if matrix.shape != (d, d):
        raise ValueError(
            f"{name} must have shape ({d}, {d}) to match the means: got shape {matrix.shape}"
        )
    slack = _COVARIANCE_TOLERANCE * np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > slack:
        raise ValueError(
            f"{name} must be symmetric: got entries that differ from their mirror image by "
            f"{np.abs(matrix - matrix.T).max()}"
        )
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values[0] < -slack:
        raise ValueError(
            f"{name} must be positive semi-definite: got the smallest eigenvalue {values[0]}"
        )
    # Null directions get eigenvalues near eps by rounding; their roots near 1e-8 would matter.
    values = np.where(values > d * np.finfo(np.float64).eps * values[-1], values, 0.0)
    root: NDArray[np.float64] = (vectors * np.sqrt(values)) @ vectors.T
    return root
