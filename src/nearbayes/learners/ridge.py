r"""Ridge: a linear model whose prior variances, one per group of columns, are learned.

With :math:`\beta_j \sim N(0, v_{g(j)})` and noise of variance :math:`\sigma^2`, the posterior of
:math:`\beta` is normal with covariance :math:`\Sigma = (F^\top F / \sigma^2 + V^{-1})^{-1}`.
Empirical Bayes by MacKay's fixed point: with :math:`\gamma_g = \sum_{j \in g} (1 - \Sigma_{jj} /
v_g)` the number of coefficients of a group that the data determine,

.. math:: v_g = \sum_{j \in g} \beta_j^2 / \gamma_g, \quad
          \sigma^2 = \| y - F \beta \|^2 / (n - \textstyle\sum_g \gamma_g).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Ridge", "prior_precisions"]

Array = NDArray[np.float64]
N_ROUNDS = 15
SMALLEST, LARGEST = 1e-8, 1e4  # of a prior variance, in variances of y


@dataclass(frozen=True)
class Ridge:
    """A fitted linear function of the basis.

    Attributes
    ----------
    coefficients : array of shape (n_functions,)
    intercept : float
    """

    coefficients: Array
    intercept: float

    @classmethod
    def fitted(cls, functions: Array, y: Array, weights: Array, precisions: Array) -> Ridge:
        """Least squares with a penalty ``precisions @ coefficients**2``, in units of rows.

        Examples
        --------
        >>> x = np.array([[-1.0], [1.0]])
        >>> Ridge.fitted(x, np.array([0.0, 2.0]), np.ones(2), np.array([2.0]))
        Ridge(coefficients=array([0.5]), intercept=1.0)
        """
        middle = np.average(functions, axis=0, weights=weights)
        mean = float(np.average(y, weights=weights))
        centred = functions - middle
        weighted = centred * weights[:, None]
        cross = weighted.T @ centred
        np.fill_diagonal(cross, cross.diagonal() + precisions)
        if not len(precisions):
            return cls(np.zeros(0), mean)
        coefficients = cho_solve(cho_factor(cross), weighted.T @ (y - mean))
        return cls(coefficients, mean - float(middle @ coefficients))

    def predict(self, functions: Array) -> Array:
        """Values at rows, shape (n_rows,)."""
        return np.asarray(functions @ self.coefficients + self.intercept)


def prior_precisions(
    functions: Array, y: Array, weights: Array, groups: NDArray[np.intp]
) -> tuple[Array, float]:
    r"""Precision :math:`\sigma^2 / v_{g(j)}` of each column, and :math:`\sigma^2`.

    Parameters
    ----------
    functions : array of shape (n_rows, n_functions)
    y : array of shape (n_rows, n_outputs)
        Outputs share the variances.
    weights : array of shape (n_rows,)
    groups : array of shape (n_functions,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> F = rng.normal(size=(300, 2))
    >>> y = F[:, :1] + rng.normal(size=(300, 1))
    >>> precisions, _ = prior_precisions(F, y, np.ones(300), np.arange(2))
    >>> bool(precisions[0] < 2 < precisions[1])
    True
    """
    total, n_outputs = weights.sum(), y.shape[1]
    centred = functions - np.average(functions, axis=0, weights=weights)
    rest = y - np.average(y, axis=0, weights=weights)
    size = float(weights @ (rest**2).mean(axis=1)) / total  # mean variance of the outputs
    if size == 0 or not len(groups):
        return np.full(len(groups), 1 / SMALLEST), size
    weighted = centred * weights[:, None]
    cross, moments = weighted.T @ centred, weighted.T @ rest
    n_columns = np.bincount(groups)
    spread = np.bincount(groups, cross.diagonal()) / total
    variance = np.clip(size / np.maximum(spread, SMALLEST) / len(n_columns), 0, LARGEST * size)
    noise = size / 2
    for _ in range(N_ROUNDS):
        precision = cross / noise + np.diag(1 / variance[groups])
        covariance = np.linalg.inv(precision)
        beta = covariance @ moments / noise
        known = n_columns - np.bincount(groups, covariance.diagonal()) / variance
        squares = np.bincount(groups, (beta**2).mean(axis=1))
        variance = np.clip(squares / np.maximum(known, 1e-3), SMALLEST * size, LARGEST * size)
        left = weights @ ((rest - centred @ beta) ** 2).sum(axis=1) / n_outputs
        noise = max(float(left / max(total - known.sum(), 1.0)), SMALLEST * size)
    return noise / variance[groups], noise
