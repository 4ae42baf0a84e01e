"""Training in PyTorch: all draws of a chunk take their steps together.

The objective and the steps are those of `training.py`, which explains them: AdamW for first fits,
and a frozen preconditioner for refits. Draws are rows of one tensor of parameters, so that
one backward pass gives the gradients of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nearbayes.neural.chunks import FAST, SLOW, SMALLEST, Batches, Examples, Fits, Optimiser
from nearbayes.neural.torch_losses import TorchLoss
from nearbayes.neural.torch_module import StackedModule, with_seed

__all__ = ["Seeds", "trained"]

Array = NDArray[Any]
Seeds = NDArray[np.int64]  # of every draw, and of the chunk: shape (n_draws, 2)


def trained(
    module: StackedModule,
    loss: TorchLoss,
    optimiser: Optimiser,
    batches: Batches,
    examples: Examples,
    fits: Fits,
    seeds: Seeds,
    n_passes: int,
    *,
    done: int = 0,
    centre: Array | None = None,
    divisor: Array | None = None,
) -> Fits:
    """Train all draws for a number of passes.

    Parameters
    ----------
    module, loss, optimiser, batches, examples
    fits : Fits
        State from which training starts or continues.
    seeds : array of shape (n_draws, 2)
        Seeds of the order of rows, and of dropout, which a chunk draws together.
    n_passes : int
    done : int
        Number of earlier passes.
    centre : array of shape (n_draws, n_parameters), optional
        Centre of the decay; default 0.
    divisor : array of shape (n_draws, n_parameters), optional
        Frozen preconditioner; without it, steps are Adam's.
    """
    run, x = module.working(training=True), torch.from_numpy(examples.x)
    tensor = partial(torch.tensor, dtype=module.dtype)
    begin = tensor(fits.parameters), tensor(fits.momentum), tensor(fits.square)
    now = Fits(*begin, int(fits.steps[0]))
    middle = None if centre is None else tensor(centre)
    frozen = None if divisor is None else tensor(divisor)
    dice = np.random.default_rng([int(seeds[:, 1].max()), done])
    for seen in _minibatches(examples, batches, seeds[:, 0], n_passes, done, module.dtype):
        with with_seed(int(dice.integers(2**63))) if module.random else nullcontext():
            leaf = now.parameters.requires_grad_()
            output = run(leaf, x[seen.rows], own_rows=True)
        (slope,) = torch.autograd.grad(_objective(loss, output, seen), leaf)
        with torch.no_grad():
            now = _moved(now, slope, optimiser, middle, frozen)
    parameters, momentum, square = (np.asarray(each.detach()) for each in now[:3])
    return Fits(parameters, momentum, square, np.full(len(parameters), now.steps, np.int32))


def _objective(loss: TorchLoss, output: Tensor, seen: Examples) -> Tensor:
    """Mean loss of the rows minus the linear part of the Bregman divergence; sum of draws."""
    each = loss.value(output, seen.statistics) - (output * seen.shift).sum(-1)
    return ((seen.weight * each).sum(1) / seen.weight.sum(1)).sum()


def _moved(
    now: Fits, slope: Tensor, optimiser: Optimiser, centre: Tensor | None, divisor: Tensor | None
) -> Fits:
    """One step of AdamW, or one with frozen step sizes."""
    steps = now.steps + 1
    momentum = FAST * now.momentum + (1 - FAST) * slope
    if divisor is None:
        square = SLOW * now.square + (1 - SLOW) * slope**2
        root = torch.sqrt(square / (1 - SLOW**steps))
        direction = momentum / (1 - FAST**steps) / (root + SMALLEST)
    else:
        square, direction = now.square, momentum / divisor
    if optimiser.decay:
        away = now.parameters if centre is None else now.parameters - centre
        direction = direction + optimiser.decay * away
    return Fits(now.parameters - optimiser.rate * direction, momentum, square, steps)


def _minibatches(
    examples: Examples,
    batches: Batches,
    seeds: NDArray[np.int64],
    n_passes: int,
    done: int,
    dtype: torch.dtype,
) -> Iterator[Examples]:
    """Rows of every draw, step by step; `x` is left out."""
    rows = torch.from_numpy(examples.rows).long()
    weight, statistics, shift = (torch.tensor(each, dtype=dtype) for each in examples[2:])
    if batches.number == 1:
        for _ in range(n_passes):
            yield Examples(None, rows, weight, statistics, shift)
        return
    generators = [np.random.default_rng([int(seed), done]) for seed in seeds]
    once, draws = torch.ones(len(rows), batches.rows, dtype=dtype), torch.arange(len(rows))[:, None]
    for _ in range(n_passes):
        pairs = zip(examples.weight, generators, strict=True)
        orders = torch.from_numpy(np.stack([_order(each, batches, rng) for each, rng in pairs]))
        for number in range(batches.number):
            chosen = orders[:, number]
            yield Examples(
                None, rows[draws, chosen], once, statistics[draws, chosen], shift[draws, chosen]
            )


def _order(weight: Array, batches: Batches, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows of the minibatches of a pass, shape (n_batches, batch_size), in proportion to weights.

    Systematic sampling: a row of average weight is seen once in every pass.
    """
    size = batches.rows * batches.number
    edges = np.cumsum(weight, dtype=np.float64)
    slots = (np.arange(size) + rng.random()) / size * edges[-1] * (1 - 1e-12)
    chosen = np.searchsorted(edges, slots, side="right")
    return rng.permutation(chosen).reshape(batches.number, batches.rows)
