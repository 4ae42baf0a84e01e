"""Losses in PyTorch, functions of outputs that are convex in them; see `convex_losses.py`.

Loss names and PyTorch loss modules determine the kind of outcomes, so that labels, counts and noise
can be imputed; any other loss needs a function that samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nearbayes.core.protocols import Rng
from nearbayes.neural.convexity import refuse_unless_convex
from nearbayes.neural.outcomes import Classes, CountOutcomes, Numbers, Outcomes, UserOutcomes

__all__ = ["TorchLoss", "check_convex", "loss_for", "losses_of", "outcomes_for", "slopes_of"]

Array = NDArray[Any]
Function = Callable[[Tensor, Tensor], Tensor]
OUTCOMES: dict[str, type[Outcomes]] = {
    "squared": Numbers,
    "cross_entropy": Classes,
    "poisson": CountOutcomes,
}
MODULES: dict[type[nn.Module], str] = {
    nn.MSELoss: "squared",
    nn.CrossEntropyLoss: "cross_entropy",
    nn.NLLLoss: "cross_entropy",  # log probabilities, whose softmax are the probabilities
    nn.BCEWithLogitsLoss: "cross_entropy",
    nn.PoissonNLLLoss: "poisson",
}


@dataclass(frozen=True)
class TorchLoss(ABC):
    """A loss of every row; `affine` says whether it is affine in the statistics of the outcome."""

    affine: ClassVar[bool] = True

    @abstractmethod
    def value(self, output: Tensor, statistics: Tensor) -> Tensor:
        """Losses up to a term without output: (..., n_outputs), (..., n_statistics) to (...)."""


@dataclass(frozen=True)
class _Squared(TorchLoss):
    def value(self, output: Tensor, statistics: Tensor) -> Tensor:
        return (output * (0.5 * output - statistics)).sum(-1)


@dataclass(frozen=True)
class _CrossEntropy(TorchLoss):
    def value(self, output: Tensor, statistics: Tensor) -> Tensor:
        total = statistics.sum(-1)
        return total * torch.logsumexp(output, -1) - (output * statistics).sum(-1)


@dataclass(frozen=True)
class _Poisson(TorchLoss):
    def value(self, output: Tensor, statistics: Tensor) -> Tensor:
        return (torch.exp(output) - output * statistics).sum(-1)


@dataclass(frozen=True)
class _OfUser(TorchLoss):
    """``function(output, y)`` of one row."""

    function: Function
    affine: ClassVar[bool] = False

    def value(self, output: Tensor, statistics: Tensor) -> Tensor:
        each = self.function
        for _ in range(output.ndim - 1):
            each = torch.func.vmap(each)
        return each(output, statistics)


LOSSES: dict[type[Outcomes], type[TorchLoss]] = {
    Numbers: _Squared,
    Classes: _CrossEntropy,
    CountOutcomes: _Poisson,
}


def loss_for(outcomes: Outcomes) -> TorchLoss:
    """The loss of some outcomes."""
    if isinstance(outcomes, UserOutcomes):
        return _OfUser(outcomes.function)
    return LOSSES[type(outcomes)]()


def outcomes_for(
    loss: Any,
    sample: Callable[[Array, Rng], Array] | None,
    predicted: Callable[[Array], Array] | None,
) -> Outcomes:
    """The kind of y for the user's loss; see `TorchAlgorithm`.

    Examples
    --------
    >>> outcomes_for(nn.PoissonNLLLoss(), None, None)
    CountOutcomes(unit=1.0)
    """
    name = loss if isinstance(loss, str) else MODULES.get(type(loss))
    if name is None:
        return _outcomes_of_user(loss, sample, predicted)
    if name not in OUTCOMES:
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, OUTCOMES))}, a loss module of PyTorch or a "
            f"function loss(output, y), got {name!r}."
        )
    if sample is not None or predicted is not None:
        raise ValueError(f"sample and predicted are for your own loss: {loss!r} already has both.")
    if isinstance(loss, nn.Module):
        _check_module(loss)
    return OUTCOMES[name]()


def _outcomes_of_user(loss: Any, sample: Any, predicted: Any) -> UserOutcomes:
    if not callable(loss) or isinstance(loss, type):
        raise TypeError(
            f"loss must be one of {', '.join(map(repr, OUTCOMES))}, a loss module of PyTorch or a "
            f"function loss(output, y), got {loss!r}."
        )
    if sample is None:
        raise ValueError(
            f"loss={loss!r} needs sample=, a function sample(outputs, rng) that gives one outcome "
            "per row: a loss alone does not define how outcomes vary."
        )
    return UserOutcomes(loss, sample, predicted=predicted)


def _check_module(loss: nn.Module) -> None:
    """Reject options with which the outputs do not match the outcomes."""
    for name in ("weight", "pos_weight"):
        if getattr(loss, name, None) is not None:
            raise ValueError(
                f"{name} of {type(loss).__name__} must be None, as labels would be imputed from "
                "reweighted probabilities: leave it out, and weigh decisions by their costs."
            )
    if getattr(loss, "label_smoothing", 0.0):
        raise ValueError(
            f"label_smoothing must be 0, got {loss.label_smoothing}, as labels would be imputed "
            "from smoothed probabilities: leave it out."
        )
    if not getattr(loss, "log_input", True):
        raise ValueError(
            "log_input of PoissonNLLLoss must be True, as means must be positive: let the module "
            "return the log of the mean."
        )


def check_convex(outcomes: UserOutcomes, n_outputs: int, statistics: Array, rng: Rng) -> None:
    """Reject a user's loss that fails, or is found not to be convex in the output."""
    function = outcomes.function

    def of(derivative: Any) -> Callable[[Array, Array], Array]:
        def computed(outputs: Array, rows: Array) -> Array:
            each = torch.func.vmap(derivative)(torch.tensor(outputs), torch.tensor(rows))
            return np.asarray(each.detach())

        return computed

    second = torch.func.jacrev(torch.func.grad(function))
    output, row = torch.zeros(n_outputs, dtype=torch.float64), torch.tensor(statistics[0])
    found = function(output, row)
    if not isinstance(found, Tensor) or found.ndim:
        raise ValueError(
            f"loss(output, y) must return one number for a row, got {found!r}: it is called with "
            "an output of shape (n_outputs,), not with a batch."
        )
    refuse_unless_convex(of(second), of(function), n_outputs, statistics, rng)


def losses_of(loss: TorchLoss, outputs: Array, statistics: Array) -> Array:
    """Loss of every row, up to a term without the output, shape (n_draws, n_rows)."""
    with torch.no_grad():
        return np.asarray(loss.value(torch.tensor(outputs), torch.tensor(statistics)))


def slopes_of(loss: TorchLoss, outputs: Array, statistics: Array) -> Array:
    """Gradient of the loss in the outputs, shape (n_draws, n_rows, n_outputs)."""
    output = torch.tensor(outputs, requires_grad=True)
    (slope,) = torch.autograd.grad(loss.value(output, torch.tensor(statistics)).sum(), output)
    return np.asarray(slope)
