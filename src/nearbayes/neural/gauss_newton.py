r"""Gauss-Newton: one step to the minimum of the linearised network, without an optimiser's noise.

With the Jacobian J of outputs at the last parameters, the curvature H of the loss and prior
standard deviations S, the refit of the linearised network solves

.. math:: (J^\top W H J + \lambda S^{-2}) \delta = - J^\top W g

where W g is the gradient of the objective in the outputs. Conjugate gradients need only products
with J (`jax.jvp`) and its transpose (`jax.vjp`), so networks may have any size. For a linear
network and squared loss this is sequential MAP (eq. gp-alg-spo) itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.neural.chunks import Examples
from nearbayes.neural.convex_losses import Loss, slope
from nearbayes.neural.network import Network

__all__ = ["gauss_newton"]

Array = NDArray[Any]
MOST_STEPS, TOLERANCE = 300, 1e-4


def gauss_newton(
    network: Network, loss: Loss, examples: Examples, parameters: Array, penalty: float
) -> Array:
    """Update every draw to the minimum of its linearised objective.

    Parameters
    ----------
    network, loss, examples
        As in `nearbayes.neural.training.trained`.
    parameters : array of shape (n_draws, n_parameters)
    penalty : float
        The weight lambda of the proximal term: the noise variance, or 1 for log losses.
    """
    with computing_in("float32"):
        return np.asarray(_moved(network, loss, examples, parameters, penalty))


@partial(compiled, static_argnums=(0, 1))
def _moved(network: Network, loss: Loss, examples: Examples, parameters: Any, penalty: Any) -> Any:
    def one(draw: tuple[Any, Any]) -> Any:
        seen, start = draw
        return _one_moved(network, loss, Examples(examples.x, *seen), start, penalty)

    return jax.lax.map(one, (tuple(examples[1:]), parameters))


def _one_moved(network: Network, loss: Loss, seen: Examples, start: Any, penalty: Any) -> Any:
    """Solve for one draw, in units of the prior standard deviations."""
    scale = jnp.asarray(network.prior_sd)
    rows = seen.x[seen.rows]

    def outputs(step: Any) -> Any:
        return network.apply(start + scale * step, rows)

    nothing = jnp.zeros_like(start)
    found, backward = jax.vjp(outputs, nothing)
    curvature = jax.vmap(jax.hessian(loss.value))(found, seen.statistics)
    weight = seen.weight[:, None]
    pull = weight * (slope(loss, found, seen.statistics) - seen.shift)

    def product(step: Any) -> Any:
        _, along = jax.jvp(outputs, (nothing,), (step,))
        curved = jnp.einsum("rij,rj->ri", curvature, along)
        return backward(weight * curved)[0] + penalty * step

    step, _ = jax.scipy.sparse.linalg.cg(  # type: ignore[no-untyped-call]
        product, -backward(pull)[0], tol=TOLERANCE, maxiter=MOST_STEPS
    )
    return start + scale * step
