r"""Training: all draws of a chunk take their steps in one compiled program.

One program trains first fits and refits. Its objective is the mean over the rows of a draw of

.. math:: \ell(f_\theta(x_i), t_i) - \text{shift}_i^\top f_\theta(x_i)
          + \frac{\lambda}{2 D} \|(\theta - \theta_{centre}) / S\|^2

(eq. nn-objective, see `convex_losses.py`), where D is the number of rows, S the prior standard
deviations and :math:`\lambda` the weight of an explicit regulariser, usually 0. A *pass* uses as
many rows as there are real ones, in minibatches, in proportion to their counts.

**The frozen preconditioner.** First fits are trained by AdamW. Refits keep the final step sizes of
Adam in the first fit, with fresh momentum. At the old parameters the gradient of a refit is small;
an optimiser that starts to adapt again would take full steps, which add noise to the draws.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.neural.chunks import FAST, SLOW, SMALLEST, Batches, Examples, Fits, Optimiser
from nearbayes.neural.convex_losses import Loss, slope
from nearbayes.neural.network import Network

__all__ = ["direction", "losses_of", "outputs_of", "slopes_of", "starts_of", "trained"]

Array = NDArray[Any]


def trained(
    network: Network,
    loss: Loss,
    optimiser: Optimiser,
    batches: Batches,
    examples: Examples,
    fits: Fits,
    keys: Any,
    n_passes: int,
    centre: Any = None,
    divisor: Any = None,
) -> Fits:
    """Train all draws for a number of passes.

    Parameters
    ----------
    network, loss, optimiser, batches, examples
    fits : Fits
        State from which training starts or continues.
    keys : array of shape (n_draws,)
        JAX random keys.
    n_passes : int
    centre : array of shape (n_draws, n_parameters), optional
        Centre of decay and regulariser; default 0.
    divisor : array of shape (n_draws, n_parameters), optional
        Frozen preconditioner; without it, steps are Adam's.
    """
    frozen = divisor is not None
    nothing = np.zeros_like(fits.parameters)
    settings = np.array([optimiser.rate, optimiser.decay, optimiser.penalty], np.float32)
    with computing_in("float32"):
        found = _trained(
            network,
            loss,
            batches,
            frozen,
            examples,
            fits,
            keys,
            n_passes,
            nothing if centre is None else centre,
            divisor if frozen else nothing,
            settings,
        )
    return Fits(*map(np.asarray, found))


@partial(compiled, static_argnums=(0, 1, 2, 3))
def _trained(
    network: Network,
    loss: Loss,
    batches: Batches,
    frozen: bool,
    examples: Examples,
    fits: Fits,
    keys: Any,
    n_passes: Any,
    centre: Any,
    divisor: Any,
    settings: Any,
) -> Fits:
    one = partial(_one_trained, network, loss, batches, frozen)
    axes = (Examples(None, 0, 0, 0, 0), 0, 0, None, 0, 0, None)
    return jax.vmap(one, in_axes=axes)(examples, fits, keys, n_passes, centre, divisor, settings)


def _one_trained(
    network: Network,
    loss: Loss,
    batches: Batches,
    frozen: bool,
    examples: Examples,
    fit: Fits,
    key: Any,
    n_passes: Any,
    centre: Any,
    divisor: Any,
    settings: Any,
) -> Fits:
    """Train one draw; `vmap` makes a chunk of it."""
    rate, decay, penalty = settings
    total = jnp.sum(examples.weight)
    pull = penalty / total / np.square(network.prior_sd)
    gradient = jax.grad(partial(_objective, network, loss))

    def step(fit: Fits, seen: Examples) -> Fits:
        found = gradient(fit.parameters, seen) + pull * (fit.parameters - centre)
        moved, momentum, square = direction(found, fit, divisor, frozen)
        away = moved + decay * (fit.parameters - centre)
        return Fits(fit.parameters - rate * away, momentum, square, fit.steps + 1)

    def one_pass(number: Any, fit: Fits) -> Fits:
        if batches.number == 1:
            return step(fit, examples)
        order = _order(examples.weight, batches, jax.random.fold_in(key, number))
        return jax.lax.fori_loop(  # type: ignore[no-any-return]
            0, batches.number, lambda k, fit: step(fit, _batch(examples, order[k])), fit
        )

    return jax.lax.fori_loop(0, n_passes, one_pass, fit)  # type: ignore[no-any-return]


def _objective(network: Network, loss: Loss, parameters: Any, seen: Examples) -> Any:
    """Mean loss of the rows minus the linear part of the Bregman divergence."""
    output = network.apply(parameters, seen.x[seen.rows])
    each = jax.vmap(loss.value)(output, seen.statistics) - jnp.sum(output * seen.shift, axis=1)
    return jnp.sum(seen.weight * each) / jnp.sum(seen.weight)


def direction(found: Any, fit: Fits, divisor: Any, frozen: bool) -> tuple[Any, Any, Any]:
    """Momentum over step sizes: Adam's, or frozen ones."""
    if frozen:
        momentum = FAST * fit.momentum + (1 - FAST) * found
        return momentum / divisor, momentum, fit.square
    adam = optax.scale_by_adam(FAST, SLOW, SMALLEST)
    state = optax.ScaleByAdamState(fit.steps, fit.momentum, fit.square)
    moved, after = adam.update(found, state)
    return moved, after.mu, after.nu


def _order(weight: Any, batches: Batches, key: Any) -> Any:
    """Rows of the minibatches of a pass, shape (n_batches, batch_size), in proportion to weights.

    Systematic sampling: a row of average weight is seen once in every pass.
    """
    place, shuffle = jax.random.split(key)
    size = batches.rows * batches.number
    slots = (jnp.arange(size) + jax.random.uniform(place)) / size
    edges = jnp.cumsum(weight)
    # a little less than the total, so that rounding never reaches the padding
    chosen = jnp.searchsorted(edges, slots * edges[-1] * (1 - 1e-6), side="right")
    return jax.random.permutation(shuffle, chosen).reshape(batches.number, batches.rows)


def _batch(examples: Examples, chosen: Any) -> Examples:
    """The rows of a minibatch, which count once each, because weights determined their choice."""
    return Examples(
        examples.x,
        examples.rows[chosen],
        jnp.ones(len(chosen)),
        examples.statistics[chosen],
        examples.shift[chosen],
    )


def outputs_of(network: Network, parameters: Any, x: Array) -> Array:
    """Outputs of every draw, shape (n_draws, n_rows, n_outputs).

    Rows are the same for all draws, (n_rows, n_inputs), or have a draw axis first.
    """
    with computing_in("float32"):
        return np.asarray(_outputs(network, parameters, x))


@partial(compiled, static_argnums=0)
def _outputs(network: Network, parameters: Any, x: Any) -> Any:
    return jax.vmap(network.apply, in_axes=(0, 0 if x.ndim == 3 else None))(parameters, x)


def starts_of(network: Network, keys: Any) -> Array:
    """Start of every draw, shape (n_draws, n_parameters)."""
    with computing_in("float32"):
        return np.asarray(_starts(network, keys))


@partial(compiled, static_argnums=0)
def _starts(network: Network, keys: Any) -> Any:
    return jax.vmap(network.init)(keys)


def losses_of(loss: Loss, outputs: Array, statistics: Array) -> Array:
    """Loss of every row, up to a term without the output, shape (n_draws, n_rows)."""
    with computing_in("float32"):
        return np.asarray(_losses(loss, outputs, statistics))


@partial(compiled, static_argnums=0)
def _losses(loss: Loss, outputs: Any, statistics: Any) -> Any:
    return jax.vmap(jax.vmap(loss.value))(outputs, statistics)


def slopes_of(loss: Loss, outputs: Array, statistics: Array) -> Array:
    """Gradient of the loss in the outputs, shape (n_draws, n_rows, n_outputs)."""
    with computing_in("float32"):
        return np.asarray(_slopes(loss, outputs, statistics))


@partial(compiled, static_argnums=0)
def _slopes(loss: Loss, outputs: Any, statistics: Any) -> Any:
    return slope(loss, outputs, statistics)
