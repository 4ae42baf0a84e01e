r"""A kernel learned from many tasks: a network with one linear head per task (Wang et al., 2022).

The predictions :math:`f_1, \dots, f_m` of the heads are samples of the unknown process, as it were,
so the kernel is :math:`\hat k(x, x') = m^{-1} \sum_t f_t(x) f_t(x')`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

Array = NDArray[np.float64]
HELD_OUT = 0.1  # rows of every task, by which rate and number of iterations are chosen
STEPS = 250  # iterations in one compiled program
SCORED = 20_000  # rows of the validation loss at most


@dataclass(frozen=True)
class Learner:
    """Architecture and optimisation.

    Attributes
    ----------
    width, n_hidden : int
    batch : int
        Rows of an iteration, of random tasks.
    rates, iterations : tuple
        What is tried; the pair with the smallest validation loss is used.
    """

    width: int
    n_hidden: int
    batch: int
    rates: tuple[float, ...]
    iterations: tuple[int, ...]

    def learned(self, x: Array, y: Array, seed: int) -> LearnedKernel:
        """Learn from tasks, x (m, n, n_inputs) and y (m, n)."""
        n_held = max(1, round(HELD_OUT * x.shape[1]))
        centre, scale = x.mean(axis=(0, 1)), x.std(axis=(0, 1))
        z = ((x - centre) / scale).astype(np.float32)
        rows = (z[:, n_held:], y[:, n_held:].astype(np.float32))
        held = _flat(z[:, :n_held], y[:, :n_held].astype(np.float32), seed)
        tried = [each for rate in self.rates for each in self._trained(rows, held, rate, seed)]
        loss, rate, iterations, weights = min(tried, key=lambda each: each[0])
        return LearnedKernel(weights, centre, scale, loss, rate, iterations)

    def _trained(
        self, rows: tuple[Any, Any], held: tuple[Any, Any, Any], rate: float, seed: int
    ) -> list[tuple[float, float, int, Any]]:
        """Validation loss and weights after every number of iterations that is tried."""
        m, _, n_inputs = rows[0].shape
        key = jax.random.key(seed)
        weights = _initial((n_inputs, *(self.width,) * self.n_hidden, m), key)
        state = optax.adamw(rate).init(weights)
        x, y = jnp.asarray(rows[0]), jnp.asarray(rows[1])
        found = []
        for done in range(0, max(self.iterations), STEPS):
            key, now = jax.random.split(key)
            weights, state = _trained_further(weights, state, x, y, now, rate, self.batch)
            if done + STEPS in self.iterations:
                loss = float(_loss(weights, *held))
                found.append((loss, rate, done + STEPS, jax.tree.map(np.asarray, weights)))
        return found


@dataclass(frozen=True)
class LearnedKernel:
    """Weights of the network, how inputs are scaled, and how it was chosen."""

    weights: Any
    centre: Array
    scale: Array
    loss: float
    rate: float
    iterations: int

    def features(self, x: Array) -> Array:
        """Features whose products are the kernel, shape (n, m)."""
        z = jnp.asarray((x - self.centre) / self.scale, dtype=jnp.float32)
        heads = np.asarray(_heads(self.weights, z), dtype=np.float64)
        return heads / np.sqrt(heads.shape[1])


def _initial(sizes: Sequence[int], key: Any) -> list[tuple[Any, Any]]:
    """LeCun's normal initialisation, biases 0."""
    keys = jax.random.split(key, len(sizes) - 1)
    pairs = zip(keys, sizes[:-1], sizes[1:], strict=True)
    return [(jax.random.normal(k, (a, b)) * a**-0.5, jnp.zeros(b)) for k, a, b in pairs]


def _hidden(weights: Any, x: Any) -> Any:
    for matrix, bias in weights[:-1]:
        x = jax.nn.swish(x @ matrix + bias)
    return x


@jax.jit
def _heads(weights: Any, x: Any) -> Any:
    """Predictions of all heads, shape (n, m)."""
    matrix, bias = weights[-1]
    return _hidden(weights, x) @ matrix + bias


@jax.jit
def _loss(weights: Any, x: Any, y: Any, tasks: Any) -> Any:
    """Mean squared error of rows, each by the head of its task."""
    matrix, bias = weights[-1]
    predicted = jnp.sum(_hidden(weights, x) * matrix.T[tasks], axis=1) + bias[tasks]
    return jnp.mean((predicted - y) ** 2)


@partial(jax.jit, static_argnums=6)
def _trained_further(
    weights: Any, state: Any, x: Any, y: Any, key: Any, rate: Any, batch: int
) -> Any:
    """So many iterations more, each with rows of random tasks."""
    optimiser = optax.adamw(rate)

    def step(carried: Any, now: Any) -> Any:
        weights, state = carried
        of_task, of_row = jax.random.split(now)
        tasks = jax.random.randint(of_task, (batch,), 0, x.shape[0])
        rows = jax.random.randint(of_row, (batch,), 0, x.shape[1])
        slope = jax.grad(_loss)(weights, x[tasks, rows], y[tasks, rows], tasks)
        change, state = optimiser.update(slope, state, weights)
        return (optax.apply_updates(weights, change), state), None

    return jax.lax.scan(step, (weights, state), jax.random.split(key, STEPS))[0]


def _flat(x: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Rows of all tasks in one table, and their tasks; some of them if they are many."""
    tasks = np.repeat(np.arange(len(x)), x.shape[1])
    rows = np.random.default_rng(seed).permutation(len(tasks))[:SCORED]
    return x.reshape(-1, x.shape[2])[rows], y.ravel()[rows], tasks[rows]
