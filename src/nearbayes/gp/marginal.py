r"""Marginal likelihood of Gaussian process regression, for rows with counts.

With :math:`c_i` outcomes at row i, of mean :math:`\bar y_i`, and W the sum of squares of all
outcomes around the means of their rows,

.. math:: \log p(y) = \log N(\bar y; 0, K + \sigma^2 C^{-1})
          - \tfrac12 \sum_i \left[(c_i - 1) \log 2\pi\sigma^2 + \log c_i\right]
          - \frac{W}{2\sigma^2}

so any number of outcomes at n rows costs as much as n outcomes. A row may be split into several
with the same mean and fractions of its count without changing the density. This is used to pad
draws to the same shape, so that they share one compilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled
from nearbayes.gp.inverse import inverse_from_root
from nearbayes.gp.kernels import KernelName, covariance
from nearbayes.gp.lbfgs import Minimum, minimise

__all__ = [
    "Collapsed",
    "Factor",
    "Model",
    "factored",
    "maximised",
    "negative_log_marginal",
    "predicted",
    "stacked",
]

Array = NDArray[np.float64]
# Length scale in standard units at which rows are practically independent. Smaller ones would lose
# digits of the distances, and Cholesky decompositions would fail.
SHORTEST = 1e-3
FLATTEST = 1e-3  # smallest curvature per outcome at the start of a search; the largest is 1 / it


@dataclass(frozen=True)
class Model:
    """Fixed settings of the process; static, so that all draws share one compilation.

    Attributes
    ----------
    kernel : str
    variance : float, optional
        Prior variance of f(x); learned if None.
    noise_floor : float
        Smallest standard deviation of the noise.
    scale_penalty : float
        Weight of the sum of inverse length scales, which is added to the objective.
    """

    kernel: KernelName
    variance: float | None
    noise_floor: float
    scale_penalty: float = 0.0

    def unpacked(self, logs: Any, n_columns: int) -> tuple[Any, Any, Any]:
        """Length scales, noise variance and prior variance, from unbounded parameters."""
        noise = self.noise_floor**2 + jnp.exp(2 * logs[n_columns])
        learned = self.variance is None
        return (
            SHORTEST + jnp.exp(logs[:n_columns]),
            noise,
            jnp.exp(2 * logs[n_columns + 1]) if learned else self.variance,
        )

    def penalty(self, logs: Any, n_columns: int) -> Any:
        """Penalty on short length scales, in nats: an exponential prior on their inverses."""
        return self.scale_penalty * jnp.sum(1 / self.unpacked(logs, n_columns)[0])

    def n_parameters(self, n_columns: int) -> int:
        """Number of unbounded parameters."""
        return n_columns + (2 if self.variance is None else 1)


class Collapsed(NamedTuple):
    """Outcomes at distinct rows, of one draw, or of many with a leading axis."""

    x: Any
    mean: Any
    count: Any
    within: Any

    def padded(self, size: int) -> Collapsed:
        """The same data in `size` rows, by splitting the first row into equal parts."""
        more = size - len(self.mean)
        if more == 0:
            return self
        count = np.append(self.count, np.zeros(more))
        parts = np.append(np.arange(len(self.count), size), 0)
        count[parts] = self.count[0] / (more + 1)
        return Collapsed(
            np.concatenate([self.x, np.repeat(self.x[:1], more, axis=0)]),
            np.append(self.mean, np.full(more, self.mean[0])),
            count,
            self.within,
        )


def stacked(parts: list[Collapsed], size: int | None = None) -> Collapsed:
    """Data of many draws with a leading axis, padded to the longest or to `size` rows."""
    most = max(len(part.mean) for part in parts) if size is None else size
    padded = [part.padded(most) for part in parts]
    return Collapsed(*(np.stack(column) for column in zip(*padded, strict=True)))


class Factor(NamedTuple):
    r"""Root L of the covariance of the means per row, and :math:`L^{-1} \bar y`."""

    root: Any
    white: Any


def negative_log_marginal(model: Model, logs: Any, data: Collapsed) -> Any:
    """Negative log marginal likelihood, per outcome."""
    return _with_factor(model, logs, data)[0]


def _with_factor(model: Model, logs: Any, data: Collapsed) -> tuple[Any, Factor]:
    _, noise, _ = model.unpacked(logs, data.x.shape[-1])
    matrix = _covariance_of_means(model, logs, data)
    repeats = jnp.sum((data.count - 1) * jnp.log(2 * jnp.pi * noise) + jnp.log(data.count))
    of_means, factor = log_normal(matrix, data.mean)
    log_density = of_means - (repeats + data.within / noise) / 2
    return -log_density / data.count.sum(), factor


def _covariance_of_means(model: Model, logs: Any, data: Collapsed) -> Any:
    r"""Covariance of the means per row, :math:`K + \sigma^2 C^{-1}`.

    A term of the order of rounding errors is added to its diagonal. Without it, the Cholesky
    decomposition may fail if the prior variance grows very large, for example if y is a line
    without noise.
    """
    scales, noise, variance = model.unpacked(logs, data.x.shape[-1])
    matrix = variance * covariance(model.kernel, data.x / scales)
    digits = len(matrix) * np.finfo(matrix.dtype).eps
    return matrix + jnp.diag(noise / data.count + digits * variance)


@jax.custom_vjp
def log_normal(matrix: Any, y: Any) -> tuple[Any, Factor]:
    r"""Log density of y under N(0, matrix), and what it was computed from, which has no gradient.

    Its gradient :math:`\tfrac12 (\alpha\alpha^\top - M^{-1})`, :math:`\alpha = M^{-1} y`, is
    cheaper than JAX's gradient of a Cholesky decomposition.
    """
    return _log_normal(matrix, y)[0]


def _factor(matrix: Any, y: Any) -> Factor:
    root = jnp.linalg.cholesky(matrix)
    return Factor(root, jax.scipy.linalg.solve_triangular(root, y, lower=True))


def _log_normal(matrix: Any, y: Any) -> tuple[tuple[Any, Factor], Factor]:
    factor = _factor(matrix, y)
    root, white = factor
    volume = jnp.log(jnp.diag(root)).sum() + len(y) / 2 * jnp.log(2 * jnp.pi)
    return (-white @ white / 2 - volume, factor), factor


def _log_normal_gradient(kept: Factor, slopes: tuple[Any, Factor]) -> tuple[Any, Any]:
    (root, white), slope = kept, slopes[0]
    alpha = jax.scipy.linalg.solve_triangular(root, white, lower=True, trans=1)
    return slope * (jnp.outer(alpha, alpha) - inverse_from_root(root)) / 2, -slope * alpha


log_normal.defvjp(_log_normal, _log_normal_gradient)


@partial(compiled, static_argnames=("model", "max_steps", "tolerance"))
def maximised(
    model: Model,
    starts: Any,
    data: Collapsed,
    inverse_hessians: Any = None,
    *,
    max_steps: int,
    tolerance: float,
) -> tuple[Minimum, Factor]:
    """Parameters that maximise the penalised marginal likelihood, for every draw.

    `starts` has shape (n_draws, n_starts, n_parameters). Returns a `Minimum` with the best result
    of each draw, and the factors for predictions with it. The value is the negative log marginal
    likelihood without the penalty, infinite if no start succeeded, and the steps are those of all
    starts. Refits start with the `inverse_hessians` of the last fits, shape (n_draws, n_parameters,
    n_parameters).
    """

    def penalty(logs: Any, data: Collapsed) -> Any:
        return model.penalty(logs, data.x.shape[-1]) / data.count.sum()

    def of_draw(draw: tuple[Any, Collapsed, Any]) -> tuple[Minimum, Factor]:
        starts, data, inverse_hessian = draw

        def objective(logs: Any) -> tuple[Any, Factor]:
            value, factor = _with_factor(model, logs, data)
            return value + penalty(logs, data), factor

        def searched(start: Any, inverse_hessian: Any) -> tuple[Minimum, Factor]:
            (value, factor), slope = jax.value_and_grad(objective, has_aux=True)(start)
            end = minimise(
                lambda logs: objective(logs)[0],
                start,
                inverse_hessian,
                (value, slope),
                max_steps=max_steps,
                tolerance=tolerance,
            )
            # most searches near the last one end where they start
            return end, jax.lax.cond(
                end.steps == 0, lambda: factor, lambda: objective(end.position)[1]
            )

        ends, factors = jax.lax.map(lambda start: searched(start, inverse_hessian), starts)
        value = jnp.where(jnp.isfinite(ends.value), ends.value, jnp.inf)
        best = jnp.argmin(value)
        chosen, factor = jax.tree.map(lambda leaf: leaf[best], (ends, factors))
        found = chosen._replace(
            value=value[best] - penalty(chosen.position, data),
            steps=ends.steps.sum(),
            inverse_hessian=_kept(chosen.inverse_hessian, chosen.steps),
        )
        return found, factor

    return jax.lax.map(of_draw, (starts, data, inverse_hessians))  # type: ignore[no-any-return]


def _kept(inverse_hessian: Any, steps: Any) -> Any:
    """What a search has learned of the curvature, bounded; one without steps learns nothing."""
    return jax.lax.cond(steps > 0, _believed, lambda same: same, inverse_hessian)


def _believed(inverse_hessian: Any) -> Any:
    """Bound the eigenvalues, so that the first step of the next search cannot be too long."""
    values, vectors = jnp.linalg.eigh(inverse_hessian)
    bounded = jnp.clip(values, FLATTEST, 1 / FLATTEST)
    return (vectors * bounded) @ vectors.T


@partial(compiled, static_argnames=("model",))
def factored(model: Model, logs: Any, data: Collapsed) -> Factor:
    """Factors for the predictions of every draw."""

    def one(draw: tuple[Any, Collapsed]) -> Factor:
        return _factor(_covariance_of_means(model, *draw), draw[1].mean)

    return jax.lax.map(one, (logs, data))  # type: ignore[no-any-return]


@partial(compiled, static_argnames=("model",))
def predicted(model: Model, logs: Any, factors: Factor, rows: Any, x: Any) -> tuple[Any, Any, Any]:
    """Mean and variance of f(x), and the noise variance, for every draw: (n_draws, n_rows).

    `rows` are the inputs of the data.
    """

    def one(draw: tuple[Any, Factor, Any, Any]) -> tuple[Any, Any, Any]:
        logs, factor, rows, x = draw
        scales, noise, variance = model.unpacked(logs, rows.shape[-1])
        cross = variance * covariance(model.kernel, rows / scales, x / scales)
        white = jax.scipy.linalg.solve_triangular(factor.root, cross, lower=True)
        left = variance - jnp.sum(white**2, axis=0)
        return white.T @ factor.white, jnp.maximum(left, 0.0), noise

    return jax.lax.map(one, (logs, factors, rows, x))  # type: ignore[no-any-return]
