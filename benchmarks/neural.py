"""Networks: training and refits as ratios, measured in turn, beside the processor's limit.

Run: ``.venv/bin/python -m benchmarks.neural`` (a few minutes). 16 draws of a network with three
layers of 128 on 1,000 rows, in two chunks of 8; minibatches of 63 rows. Compiling is not timed.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import optax
from benchmarks.measuring import seconds_in_turn, show

import nearbayes as nb
from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.seeds import Seeds
from nearbayes.neural import network_algorithm
from nearbayes.neural.chunks import CHUNK, Batches, Examples, Fits, Optimiser
from nearbayes.neural.network import MLP
from nearbayes.neural.network_algorithm import NetworkAlgorithm
from nearbayes.neural.training import starts_of, trained

N, N_INPUTS, N_DRAWS = 1_000, 8, 16
HIDDEN = (128, 128, 128)
N_PASSES = 20
N_PRODUCTS = 4_000
RATE = 1e-3
MOST, LEAST, MOST_REFITS = 1.3, 1.5, 4.0


def main() -> None:
    algorithm, real = prepared()
    batches = algorithm._batches
    n_steps = N_PASSES * batches.number
    tasks = {
        **library_tasks(algorithm, real),
        "plain": partial(plain_training, algorithm.network, real, batches),
        **chunk_tasks(algorithm, real),
        **product_tasks(batches.rows),
    }
    for task in tasks.values():
        task()  # compiles
    found = seconds_in_turn(tasks)
    for name in ("first fits", "refits"):
        what = f"{N_DRAWS} draws, {n_steps} steps each: {name} / plain vmapped AdamW"
        show(what, found[name] / found["plain"], f"at most {MOST}")
    show("one draw at a time / chunks of 8", found["alone"] / found["chunk"], f"at least {LEAST}")
    refits = refits_in_units_of_first_fit()
    show("refits of the default schedule, in units of L", refits, f"at most {MOST_REFITS:g}")
    limits(found, n_steps, batches.rows)


def prepared() -> tuple[NetworkAlgorithm, Data]:
    """The algorithm after `prepare`, with the number of passes given, and its data."""
    X, y = rows()
    network = partial(MLP, hidden=HIDDEN)
    algorithm = NetworkAlgorithm(network, optimiser=Optimiser(RATE), n_passes=N_PASSES)
    return algorithm.prepare(Data.of(X, y, None), np.random.default_rng(0))


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N_INPUTS))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)


def library_tasks(algorithm: NetworkAlgorithm, real: Data) -> dict[str, Any]:
    """First fits and one refit of all draws, as a posterior makes them."""
    chunks = [tuple(range(start, start + CHUNK)) for start in range(0, N_DRAWS, CHUNK)]
    streams = [Seeds(0).streams(draws, number) for number, draws in enumerate(chunks)]
    first = [algorithm.fit([real] * CHUNK, each.at(0)) for each in streams]
    steps = [refit_of(algorithm, real, *each) for each in zip(first, streams, strict=True)]

    def fits() -> None:
        for each in streams:
            algorithm.fit([real] * CHUNK, each.at(0))

    def refits() -> None:
        for step in steps:
            step()

    return {"first fits": fits, "refits": refits}


def refit_of(algorithm: NetworkAlgorithm, real: Data, models: Any, streams: Any) -> Any:
    """A refit to a block of n rows of the urn."""
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(N, np.full(N, 1 / N), size=CHUNK)
    x = [Rows.repeated(real.table, counts) for counts in drawn]
    new = Blocks(x, algorithm.sample(models, x, streams.at(1)), 2.0 * N)
    data = [real.extend(block, algorithm.traits.counts) for block in new]
    return lambda: algorithm.refit(data, new, models, streams.at(1))


def plain_training(network: Any, real: Data, batches: Batches) -> None:
    """AdamW of optax on shuffled minibatches, vmapped over chunks of draws, and nothing else."""
    x, goal = np.asarray(real.table, np.float32), np.asarray(real.y, np.float32)
    with computing_in("float32"):
        for number in range(N_DRAWS // CHUNK):
            keys = jax.random.split(jax.random.key(number), CHUNK)
            starts = jax.vmap(network.init)(keys)
            _plain(network, batches, x, goal, starts, keys, N_PASSES).block_until_ready()


@partial(compiled, static_argnums=(0, 1))
def _plain(
    network: Any, batches: Batches, x: Any, goal: Any, starts: Any, keys: Any, n_passes: Any
) -> Any:
    optimiser = optax.adamw(RATE, weight_decay=0.0)

    def loss(parameters: Any, chosen: Any) -> Any:
        return jnp.mean((network.apply(parameters, x[chosen]) - goal[chosen]) ** 2) / 2

    def step(state: Any, chosen: Any) -> Any:
        parameters, moments = state
        moves, moments = optimiser.update(jax.grad(loss)(parameters, chosen), moments, parameters)
        return optax.apply_updates(parameters, moves), moments

    def one_pass(key: Any, number: Any, state: Any) -> Any:
        order = jax.random.permutation(jax.random.fold_in(key, number), N)
        order = jnp.resize(order, (batches.number, batches.rows))
        return jax.lax.fori_loop(0, batches.number, lambda k, state: step(state, order[k]), state)

    def one_draw(start: Any, key: Any) -> Any:
        state = start, optimiser.init(start)
        return jax.lax.fori_loop(0, n_passes, partial(one_pass, key), state)[0]

    return jax.vmap(one_draw)(starts, keys)


def chunk_tasks(algorithm: NetworkAlgorithm, real: Data) -> dict[str, Any]:
    """The same program for a chunk of 8 draws, and 8 times for one."""
    network, loss = algorithm.network, algorithm.outcomes.loss
    examples = algorithm._examples([real] * CHUNK)
    with computing_in("float32"):
        keys = np.asarray(jax.random.split(jax.random.PRNGKey(0), CHUNK))
    fits = Fits.begin(starts_of(network, keys))
    train = partial(trained, network, loss, Optimiser(RATE), algorithm._batches)

    def some(chosen: slice) -> None:
        seen = Examples(examples.x, *(each[chosen] for each in examples[1:]))
        train(seen, Fits(*(each[chosen] for each in fits)), keys[chosen], N_PASSES)

    def alone() -> None:
        for place in range(CHUNK):
            some(slice(place, place + 1))

    return {"chunk": partial(some, slice(0, CHUNK)), "alone": alone}


def product_tasks(n_rows: int) -> dict[str, Any]:
    """Products of minibatches and hidden layers, (rows, 128) x (128, 128), float32."""
    width = HIDDEN[0]
    return {
        f"products of {size}": partial(
            _products,
            np.full((size, n_rows, width), 1e-3, np.float32),
            np.full((size, width, width), 1e-2, np.float32),
            N_PRODUCTS // size,
        )
        for size in (1, CHUNK)
    }


def _products(left: Any, right: Any, times: int) -> None:
    with computing_in("float32"):
        _product(left, right, times).block_until_ready()


@compiled
def _product(left: Any, right: Any, times: Any) -> Any:
    return jax.lax.fori_loop(0, times, lambda _, each: each @ right, left)


def refits_in_units_of_first_fit() -> float:
    """Steps of all refits of a posterior with its defaults over those of the first fit, counted."""
    passes = {True: [0], False: [0]}  # of refits, which have a preconditioner, and of first fits

    def counted(*arguments: Any, **options: Any) -> Any:
        passes[options.get("divisor") is not None].append(arguments[7])
        return trained(*arguments, **options)

    algorithm = NetworkAlgorithm(partial(MLP, hidden=(8,)), n_passes=N_PASSES)
    with patch.object(network_algorithm, "trained", counted):
        nb.martingale_posterior(algorithm, rows(), n_draws=CHUNK, random_state=0, progress=False)
    return sum(passes[True]) / N_PASSES


def limits(found: dict[str, float], n_steps: int, n_rows: int) -> None:
    """Time per step against that of its matrix products at their measured speed."""
    speed = {
        size: 2e-9 * n_rows * HIDDEN[0] ** 2 * N_PRODUCTS / found[f"products of {size}"]
        for size in (1, CHUNK)
    }
    per_step = 1e3 * found["chunk"] / (n_steps * CHUNK)
    limit = 1e-6 * flops_of_a_step(n_rows) / speed[CHUNK]
    show("time of a step / time of its matrix products at their limit", per_step / limit, "none")
    print(
        f"a step takes {per_step:.3f} ms per draw in a chunk of {CHUNK} and "
        f"{1e3 * found['alone'] / (n_steps * CHUNK):.3f} ms alone, its matrix products "
        f"{limit:.3f} ms. Measured float32 limit of ({n_rows}, {HIDDEN[0]}) x "
        f"({HIDDEN[0]}, {HIDDEN[0]}) on one thread: {speed[CHUNK]:.0f} GFLOP/s in batches of "
        f"{CHUNK}, {speed[1]:.0f} alone. {reason(speed, found)}",
        flush=True,
    )


def reason(speed: dict[int, float], found: dict[str, float]) -> str:
    """Why chunks are not faster, where they are not."""
    if found["alone"] / found["chunk"] >= LEAST:
        return ""
    return (
        f"Products of one draw alone reach {speed[1] / speed[CHUNK]:.0%} of the speed of a batch, "
        "so a chunk has little to gain on this processor but the overhead of single operations."
    )


def flops_of_a_step(n_rows: int) -> float:
    """Forward and backward products; the first layer needs no gradient of its input."""
    widths = (N_INPUTS, *HIDDEN, 1)
    products = [a * b for a, b in pairwise(widths)]
    return float(2 * n_rows * (3 * sum(products) - products[0]))


if __name__ == "__main__":
    main()
