r"""Training of diffusion models: all draws and all nodes take their steps in one program.

*First fits* minimise the mean of :math:`(\epsilon_\theta(x_t, pa, t) - e)^2` over rows, times and
noise, by Adam with fresh noise at every step. At a constant rate Adam does not settle: the noise
of its steps keeps networks moving around the minimum, so draws would differ by more than their
error for any number of rows. So a fit is the average of all iterates, with weights that grow with a
power of their number (Shamir and Zhang, 2013; for diffusion models, Karras et al.,
2024). Such an average does not need a number of steps that is fixed in advance.

*Refits* minimise the paper's eq. nn-objective. With :math:`\bar\epsilon` the last fit, old rows
contribute the Bregman divergence :math:`(\epsilon_\theta - \bar\epsilon)^2` and new rows
:math:`(\epsilon_\theta - e)^2`, which is the divergence plus
:math:`2 (\bar\epsilon - e) \epsilon_\theta` and a constant. The last term is the information
from the new rows. It is linearised at the last parameters: its gradient there (the *push*) is
computed once, from many times and noise values. So the objective,

.. math:: \frac{1}{2} \mathbb{E}(\epsilon_\theta - \bar\epsilon)^2
          + push^\top (\theta - \bar\theta),

has a lower bound, and minibatches of its first term have no noise at the last fit. With direct
minimisation, the noise of minibatches makes the draws too wide, or makes refits diverge.

Samples of a diffusion model do not have a zero mean gradient at that model, so new rows would have
a push even if there were nothing to learn from them. The *centred* refit subtracts the push of
further samples of the last fit (ghost rows), so that the expected push is zero. The variance from g
ghosts adds to that of b new rows, so the difference is divided by :math:`\sqrt{1 + b / g}`. It then
has the variance of new rows alone, so few ghosts are enough. Refits keep the step sizes that Adam
had at the end of the first fit (see `neural/training.py`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from numpy.typing import NDArray

from nearbayes.causal.diffusion import N_STEPS, clock, noised
from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.neural.chunks import Fits, Optimiser
from nearbayes.neural.network import Network
from nearbayes.neural.training import direction

__all__ = [
    "PIECE",
    "Bank",
    "Columns",
    "Training",
    "bank_of",
    "first_fits",
    "held_out_losses",
    "refits",
]

Array = NDArray[Any]
AVERAGED = 8.0  # the power: about the last ninth of the steps counts
SLOW = 0.9  # memory of the size of gradients in refits
BATCH = 64  # rows of a minibatch
PIECE = 256  # points of a push that are computed at once: more do not fit into a cache
# Steps of the additive recurrence with low discrepancy in two dimensions: 1/g and 1/g^2, where
# g^3 = g + 1, in units of 2^-32, which wrap as they should. A push of 1,024 such points is as exact
# as one of 4,096 random points.
LATTICE = np.array([[3242174889], [2447445414]], np.uint32)
FARTHEST = 1e-5  # noise is cut here, at 4.3 sd


class Columns(NamedTuple):
    """Rows of every network of a chunk; the first axis is (draw, node).

    Attributes
    ----------
    x : array of shape (n_networks, n_rows)
        The column, in standard units.
    parents : array of shape (n_networks, n_rows, n_parent_columns)
    n_rows : array of shape (n_networks,)
        Rows that are not padding.
    """

    x: Any
    parents: Any
    n_rows: Any


class Training(NamedTuple):
    """Current parameters of networks in training, and the average of their iterates.

    Attributes
    ----------
    now : Fits
    average : array of shape (n_networks, n_parameters)
        The fit.
    """

    now: Fits
    average: Any

    @classmethod
    def begin(cls, parameters: Array) -> Training:
        """State before the first step."""
        return cls(Fits.begin(parameters), parameters)


class Bank(NamedTuple):
    """Points of a refit.

    Attributes
    ----------
    inputs : array of shape (n_networks, n_points, n_inputs)
        At old and new rows.
    last : array of shape (n_networks, n_points)
        Output of the last fit there.
    push : array of shape (n_networks, n_parameters)
    """

    inputs: Any
    last: Any
    push: Any


def first_fits(
    network: Network,
    optimiser: Optimiser,
    columns: Columns,
    training: Training,
    keys: Any,
    n_iterations: int,
    centre: Any = None,
) -> Training:
    """Train every network from its current state, with fresh noise.

    Parameters
    ----------
    network, optimiser, columns, training
    keys : array of shape (n_networks, 2)
    n_iterations : int
    centre : array of shape (n_networks, n_parameters), optional
        Centre of decay and regulariser; default 0.
    """
    middle = np.zeros_like(training.average) if centre is None else centre
    settings = np.array([optimiser.rate, optimiser.decay, optimiser.penalty], np.float32)
    with computing_in("float32"):
        now, average = _first(network, columns, training, keys, n_iterations, middle, settings)
        return Training(Fits(*map(np.asarray, now)), np.asarray(average))


@partial(compiled, static_argnums=0)
def _first(
    network: Network,
    columns: Columns,
    training: Training,
    keys: Any,
    n_iterations: Any,
    centre: Any,
    settings: Any,
) -> Training:
    rate, decay, penalty = settings

    def one(columns: Columns, training: Training, key: Any, centre: Any) -> Training:
        pull = penalty / columns.n_rows / np.square(network.prior_sd)

        def loss(parameters: Any, inputs: Any, noise: Any) -> Any:
            return jnp.mean(jnp.square(network.apply(parameters, inputs)[:, 0] - noise)) / 2

        def step(number: Any, training: Training) -> Training:
            fit, average = training
            inputs, noise = _fresh(columns, jax.random.fold_in(key, number))
            found = jax.grad(loss)(fit.parameters, inputs, noise)
            found = found + pull * (fit.parameters - centre)
            moved, momentum, square = direction(found, fit, None, frozen=False)
            away = moved + decay * (fit.parameters - centre)
            found, steps = fit.parameters - rate * away, fit.steps + 1
            weight = (AVERAGED + 1) / (AVERAGED + steps)
            average = average + weight * (found - average)
            return Training(Fits(found, momentum, square, steps), average)

        return jax.lax.fori_loop(0, n_iterations, step, training)  # type: ignore[no-any-return]

    return jax.vmap(one)(columns, training, keys, centre)


def _fresh(columns: Columns, key: Any) -> tuple[Any, Any]:
    """Inputs of a minibatch and its noise; times are spread evenly."""
    which, when, what = jax.random.split(key, 3)
    row = jax.random.randint(which, (BATCH,), 0, columns.n_rows)
    time = _times(jax.random.uniform(when), BATCH)
    noise = jax.random.normal(what, (BATCH,))
    return _inputs(columns.x[row], columns.parents[row], noise, time), noise


def _times(start: Any, size: int) -> Any:
    """Times 1 to T, as evenly spread as possible."""
    places = (jnp.arange(size) + start) / size
    return jnp.minimum(1 + jnp.floor(places * N_STEPS), N_STEPS).astype(jnp.int32)


def _inputs(x: Any, parents: Any, noise: Any, time: Any) -> Any:
    """Rows of (x_t, parents, time)."""
    return jnp.concatenate([noised(x, noise, time)[:, None], parents, clock(time)[:, None]], axis=1)


def held_out_losses(
    network: Network, parameters: Array, columns: Columns, keys: Any, n_points: int
) -> Array:
    """Mean loss of every network at given rows, shape (n_networks,)."""
    with computing_in("float32"):
        return np.asarray(_held_out(network, n_points, parameters, columns, keys))


@partial(compiled, static_argnums=(0, 1))
def _held_out(network: Network, size: int, parameters: Any, columns: Columns, keys: Any) -> Any:
    def one(parameters: Any, columns: Columns, key: Any) -> Any:
        inputs, noise = _points(columns, jax.random.uniform(key, (2,)), jnp.arange(size), size)
        return jnp.mean(jnp.square(network.apply(parameters, inputs)[:, 0] - noise))

    return jax.vmap(one)(parameters, columns, keys)


def _points(columns: Columns, start: Any, numbers: Any, total: Any) -> tuple[Any, Any]:
    """Points at which every row has evenly spread times and noise.

    Noise is in pairs of opposite sign, because most of its effect on a push is odd.
    `start` has shape (2,). `numbers`, of shape (n_points,), are places in the lattice; all rows
    are seen in `total` of them.
    """
    steps = (LATTICE * (numbers // 2).astype(jnp.uint32)).astype(jnp.float32) / 2.0**32
    time, noise = (start[:, None] + steps) % 1
    time = jnp.minimum(1 + jnp.floor(time * N_STEPS), N_STEPS).astype(jnp.int32)
    noise = ndtri(jnp.clip(noise, FARTHEST, 1 - FARTHEST)) * (1 - 2 * (numbers % 2))
    row = jnp.floor((numbers + 0.5) * (columns.n_rows / total)).astype(jnp.int32)
    return _inputs(columns.x[row], columns.parents[row], noise, time), noise


def bank_of(
    network: Network,
    parameters: Array,
    rows: Columns,
    new: Columns,
    ghosts: Columns | None,
    share: float,
    keys: Any,
    n_pieces: int,
) -> Bank:
    """Draw the points of a refit, and evaluate the last fit there.

    Parameters
    ----------
    network : Network
    parameters : array of shape (n_networks, n_parameters)
        The last fit.
    rows : Columns
        A sample of all rows, with as many rows as the bank has points.
    new : Columns
        The new rows.
    ghosts : Columns, optional
        For a centred refit.
    share : float
        Share of new rows among all.
    keys : array of shape (n_networks, 2)
    n_pieces : int
        The push is the mean over this many pieces of `PIECE` points, with different times and
        noise.
    """
    centred = ghosts is not None
    others = ghosts if ghosts is not None else new
    if ghosts is not None:  # corrects for the variance that ghosts add to the push
        share = share / float(np.sqrt(1 + np.max(new.n_rows) / np.max(ghosts.n_rows)))
    with computing_in("float32"):
        return Bank(*_bank(network, centred, parameters, rows, new, others, share, keys, n_pieces))


@partial(compiled, static_argnums=(0, 1))
def _bank(
    network: Network,
    centred: bool,
    parameters: Any,
    rows: Columns,
    new: Columns,
    ghosts: Columns,
    share: Any,
    keys: Any,
    n_pieces: Any,
) -> Bank:
    size = rows.x.shape[1]

    def one(parameters: Any, rows: Columns, new: Columns, ghosts: Columns, key: Any) -> Bank:
        starts = jax.random.uniform(key, (2, 2))
        inputs, _ = _points(rows, starts[0], jnp.arange(size), size)

        def piece(number: Any, total: Any) -> Any:
            # new rows and ghosts get the same times and noise, most of which then cancels
            place = starts[1], number * PIECE + jnp.arange(PIECE), n_pieces * PIECE
            push = _push(network, parameters, *_points(new, *place))
            if centred:
                push = push - _push(network, parameters, *_points(ghosts, *place))
            return total + push

        push = jax.lax.fori_loop(0, n_pieces, piece, jnp.zeros_like(parameters)) / n_pieces
        return Bank(inputs, network.apply(parameters, inputs)[:, 0], share * push)

    return jax.vmap(one)(parameters, rows, new, ghosts, keys)


def _push(network: Network, parameters: Any, inputs: Any, noise: Any) -> Any:
    """Gradient of the loss at these points."""

    def loss(parameters: Any) -> Any:
        return jnp.mean(jnp.square(network.apply(parameters, inputs)[:, 0] - noise)) / 2

    return jax.grad(loss)(parameters)


def refits(
    network: Network,
    optimiser: Optimiser,
    bank: Bank,
    parameters: Array,
    divisor: Array,
    n_iterations: int,
) -> Fits:
    """Update every network from its last fit, with frozen step sizes.

    Parameters
    ----------
    network, optimiser, bank
    parameters, divisor : array of shape (n_networks, n_parameters)
        The last fit, and its step sizes.
    n_iterations : int
    """
    settings = np.array([optimiser.rate, optimiser.decay], np.float32)
    with computing_in("float32"):
        found = _refits(
            network, bank, Fits.begin(parameters), parameters, divisor, settings, n_iterations
        )
        return Fits(*map(np.asarray, found))


@partial(compiled, static_argnums=0)
def _refits(
    network: Network,
    bank: Bank,
    fits: Fits,
    centre: Any,
    divisor: Any,
    settings: Any,
    n_iterations: Any,
) -> Fits:
    rate, decay = settings

    def one(bank: Bank, fit: Fits, centre: Any, divisor: Any) -> Fits:
        def divergence(parameters: Any, inputs: Any, last: Any) -> Any:
            return jnp.mean(jnp.square(network.apply(parameters, inputs)[:, 0] - last)) / 2

        def step(number: Any, fit: Fits) -> Fits:
            start = (number * BATCH) % len(bank.last)  # a multiple of the batch, as all sizes are
            inputs = jax.lax.dynamic_slice_in_dim(bank.inputs, start, BATCH)
            last = jax.lax.dynamic_slice_in_dim(bank.last, start, BATCH)
            found = jax.grad(divergence)(fit.parameters, inputs, last) + bank.push
            # steps shrink only where gradients grow beyond those of the first fit
            square = SLOW * fit.square + (1 - SLOW) * jnp.square(found)
            larger = jnp.maximum(divisor, jnp.sqrt(square))
            moved, momentum, _ = direction(found, fit, larger, frozen=True)
            away = moved + decay * (fit.parameters - centre)
            return Fits(fit.parameters - rate * away, momentum, square, fit.steps + 1)

        return jax.lax.fori_loop(0, n_iterations, step, fit)  # type: ignore[no-any-return]

    return jax.vmap(one)(bank, fits, centre, divisor)
