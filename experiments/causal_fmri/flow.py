"""Flow: a small autoregressive flow for cause and effect (Khemakhem et al. 2021), in JAX.

Five affine coupling layers. Each scales and shifts the cause by two numbers and adds to the effect
a function of the cause (one hidden layer of 3 leaky rectified units). Base distribution: Laplace
of scale 1 in both coordinates. The effect is never scaled, so its noise is Laplace of scale 1
whatever the data: that is the model of the paper's table, and costs it CRPS.

In the published code the shift of the cause is the same number as its log scale; here it has its
own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from experiments.causal_fmri.data import Array

N_LAYERS = 5
N_HIDDEN = 3
SLOPE = 0.2  # of a leaky rectified unit below 0
N_EPOCHS = 100
BATCH = 64
RATE = 1e-3
PATIENCE = 3  # epochs without a lower training loss, until the rate is divided by 10
ADAM = optax.scale_by_adam()
TRAIN_SHARE = 0.8  # of the series, from its beginning; their code only scores the rest


class Layers(NamedTuple):
    """Parameters of all layers, stacked: the first axis is the layer."""

    log_scale: Any
    shift: Any
    hidden: Any
    hidden_bias: Any
    out: Any
    out_bias: Any


def first_layers(seed: int) -> Layers:
    """Uniform weights and biases up to 1 / sqrt(number of inputs), cause as it is."""
    rng = np.random.default_rng(seed)

    def uniform(n_inputs: int, *shape: int) -> Any:
        return jnp.asarray(rng.uniform(-1, 1, (N_LAYERS, *shape)) / np.sqrt(n_inputs))

    zero = jnp.zeros(N_LAYERS)
    hidden, out = (1, N_HIDDEN), (N_HIDDEN, N_HIDDEN)
    return Layers(zero, zero, uniform(*hidden), uniform(*hidden), uniform(*out), uniform(N_HIDDEN))


def encode(layers: Layers, x: Any, y: Any) -> tuple[Any, Any]:
    """Noise of cause and effect; the effect's is y minus its median given x."""

    def through(carried: tuple[Any, Any], layer: Layers) -> tuple[tuple[Any, Any], None]:
        x, y = carried
        hidden = jax.nn.leaky_relu(x[..., None] * layer.hidden + layer.hidden_bias, SLOPE)
        y = y + hidden @ layer.out + layer.out_bias
        return (x * jnp.exp(layer.log_scale) + layer.shift, y), None

    return jax.lax.scan(through, (x, y), layers)[0]


def loss(layers: Layers, x: Any, y: Any, weights: Any) -> Any:
    """Negative log density, up to a constant, summed over rows with weights."""
    z_x, z_y = encode(layers, x, y)
    return jnp.sum(weights * (jnp.abs(z_x) + jnp.abs(z_y) - layers.log_scale.sum()))


@jax.jit
def _epoch(layers: Layers, state: Any, rate: Any, batches: Any) -> Any:
    """One pass over batches of x, y and weights; the sum of losses on the way."""

    def step(carried: tuple[Layers, Any], batch: Any) -> tuple[tuple[Layers, Any], Any]:
        layers, state = carried
        value, slope = jax.value_and_grad(loss)(layers, *batch)
        updates, state = ADAM.update(slope, state)
        scaled = jax.tree.map(lambda update: -rate * update, updates)
        return (optax.apply_updates(layers, scaled), state), value

    (layers, state), values = jax.lax.scan(step, (layers, state), batches)
    return layers, state, values.sum()


def fitted_flow(x: Array, y: Array, seed: int) -> Layers:
    """Train on the first 80 % of the series."""
    n = int(TRAIN_SHARE * len(x))
    rng, layers = np.random.default_rng(seed), first_layers(seed)
    state, rate, best, waited = ADAM.init(layers), RATE, np.inf, 0
    for _ in range(N_EPOCHS):
        batches = _batches(x[:n], y[:n], rng)
        layers, state, value = _epoch(layers, state, rate, batches)
        # torch's rule: a loss (here above 0) is lower if it is by 1e-4 of the best
        lower = float(value) < best * (1 - 1e-4)
        best, waited = (float(value), 0) if lower else (best, waited + 1)
        if waited > PATIENCE:
            rate, waited = rate / 10, 0
    return layers


def _batches(x: Array, y: Array, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Rows in random order in batches of 64; the last is filled up with rows of weight 0."""
    order = rng.permutation(len(x))
    n_filled = -len(x) % BATCH
    rows = np.append(order, np.zeros(n_filled, dtype=int))
    weights = np.append(np.ones(len(x)), np.zeros(n_filled))
    return tuple(jnp.asarray(a.reshape(-1, BATCH)) for a in (x[rows], y[rows], weights))


def predicted_median(layers: Layers, x: Array) -> Array:
    """Median of the effect when the cause is set: what the noise 0 decodes to."""
    _, noise = encode(layers, jnp.asarray(x), jnp.zeros(len(x)))
    return -np.asarray(noise, dtype=np.float64)
