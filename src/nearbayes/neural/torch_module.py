"""Modules of PyTorch as functions of a vector of parameters, for all draws of a chunk at once.

`torch.func.functional_call` runs a module with other parameters, and `torch.func.vmap` does so for
all draws in one call. Modules that `vmap` cannot take (recurrent ones, for example) are run draw by
draw, with the same results.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, vmap

from nearbayes.execution.executor import one_thread

__all__ = ["StackedModule", "Working", "on_one_thread", "with_seed"]

Array = NDArray[Any]
ROWS_AT_ONCE = 256  # rows may be images, and layers many times larger
CLOSE = 1e-3  # relative to the largest output: more than rounding
_generator = Lock()


@contextmanager
def with_seed(seed: int) -> Iterator[None]:
    """Context with a seed for PyTorch's only generator of modules, which is restored afterwards.

    It is global, so threads take turns.
    """
    with _generator, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def on_one_thread() -> Iterator[None]:
    """One thread per program, because draws are divided among threads; this also fixes sums."""
    torch.get_num_threads()  # PyTorch sets the number in a new thread at the first query
    with one_thread():
        yield


@dataclass(frozen=True, eq=False)
class StackedModule:
    """A module and its properties. Its tensors are never changed.

    Attributes
    ----------
    module : torch.nn.Module
    n_outputs : int
    one_by_one : bool
        Whether draws are run one by one, because `vmap` does not accept the module.
    random : bool
        Whether training draws random numbers (dropout).
    whole : bool
        Whether inputs are integers (embeddings).
    one_logit : bool
        Whether the one output is the log odds of the second of two classes.
    """

    module: nn.Module
    n_outputs: int = 0
    one_by_one: bool = False
    random: bool = False
    whole: bool = False
    one_logit: bool = False

    @classmethod
    def of(cls, module: nn.Module, x: Array) -> StackedModule:
        """Check a module and its behaviour on some rows; reject modules that cannot work."""
        with with_seed(0):
            return _looked_at(cls(module), x)

    def check_layers(self) -> None:
        """Reject modules with unsuitable layers."""
        _check_layers(self.module)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the parameters that are trained."""
        return next(each.dtype for each in self.trainable.values())

    @property
    def trainable(self) -> dict[str, nn.Parameter]:
        """Parameters that are trained, by name; others are fixed and shared by all draws."""
        named = self.module.named_parameters()
        return {name: each for name, each in named if each.requires_grad}

    @property
    def given(self) -> Array:
        """The parameters of the user's module, shape (n_parameters,)."""
        return _flat(self.trainable.values())

    def starts(self, seeds: NDArray[np.int64]) -> Array:
        """Start of every draw, by the module's ``reset_parameters``: (n_draws, n_parameters)."""
        return np.stack([self._start(int(seed)) for seed in seeds])

    def _start(self, seed: int) -> Array:
        fresh = started_anew(self.module, seed)
        return _flat(each for each in fresh.parameters() if each.requires_grad)

    def alike(self) -> list[str]:
        """Names of parameters that start at the same values in every draw, but are not constant."""
        one, two = (self._as_named(self._start(seed)) for seed in (0, 1))
        return [
            name
            for name, each in one.items()
            if np.array_equal(each, two[name]) and (each.size == 1 or np.ptp(each) > 0)
        ]

    def _as_named(self, flat: Array) -> dict[str, Array]:
        sizes = [each.numel() for each in self.trainable.values()]
        return dict(zip(self.trainable, np.split(flat, np.cumsum(sizes)[:-1]), strict=True))

    def inputs(self, x: Array) -> Array:
        """Rows in the type of the module's inputs; PyTorch needs writable arrays."""
        kind = np.int64 if self.whole else _numpy_type(self.dtype)
        return np.require(x, kind, ["C", "W"])

    def working(self, training: bool) -> Working:
        """A copy to work with in one thread."""
        return Working(self, training)

    def outputs(self, parameters: Array, x: Array, own_rows: bool = False) -> Array:
        """Outputs of every draw in eval mode, shape (n_draws, n_rows, n_outputs).

        Rows are the same for all draws or, with `own_rows`, have a draw axis first.
        """
        run, rows = self.working(training=False), x.shape[int(own_rows)]
        stacked = torch.tensor(parameters, dtype=self.dtype)
        found = []
        for start in range(0, max(1, rows), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            part = torch.tensor(x[:, some] if own_rows else x[some])
            with torch.no_grad():
                found.append(np.asarray(run(stacked, part, own_rows)))
        return np.concatenate(found, axis=1)

    def with_parameters(self, flat: Array) -> nn.Module:
        """A separate module, in eval mode, with these parameters."""
        fitted = copy.deepcopy(self.module).eval()
        parts = torch.tensor(flat).split([each.numel() for each in self.trainable.values()])
        trained = [each for each in fitted.parameters() if each.requires_grad]
        with torch.no_grad():
            for each, part in zip(trained, parts, strict=True):
                each.copy_(part.view_as(each))
        return fitted


class Working:
    """A copy of a module that shares its tensors: `functional_call` is not safe among threads.

    Parameters
    ----------
    stacked : StackedModule
    training : bool
        Whether layers such as dropout are in training mode.
    """

    def __init__(self, stacked: StackedModule, training: bool) -> None:
        module = stacked.module
        tensors = chain(module.parameters(), module.buffers())
        self.module = copy.deepcopy(module, {id(each): each for each in tensors})
        # layers that the user set to eval mode in a training module stay in eval mode
        if not training or not module.training:
            self.module.train(training)
        self.stacked = stacked
        self.shapes = {name: each.shape for name, each in stacked.trainable.items()}

    def __call__(self, parameters: Tensor, x: Tensor, own_rows: bool = False) -> Tensor:
        """Outputs, shape (n_draws, n_rows, n_outputs).

        Parameters
        ----------
        parameters : tensor of shape (n_draws, n_parameters)
        x : tensor of shape (n_rows, ...), or (n_draws, n_rows, ...) with `own_rows`
        """
        named = self._named(parameters)
        if self.stacked.one_by_one:
            draws = range(len(parameters))
            outputs = torch.stack(
                [
                    self._one({n: each[k] for n, each in named.items()}, x[k] if own_rows else x)
                    for k in draws
                ]
            )
        else:
            run = vmap(self._one, in_dims=(0, 0 if own_rows else None), randomness="different")
            outputs = run(named, x)
        return _two_logits(outputs) if self.stacked.one_logit else outputs

    def _named(self, parameters: Tensor) -> dict[str, Tensor]:
        parts = parameters.split([shape.numel() for shape in self.shapes.values()], dim=1)
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(-1, *shape) for (name, shape), part in pairs}

    def _one(self, named: dict[str, Tensor], x: Tensor) -> Tensor:
        outputs = functional_call(self.module, named, (x.clone(),))  # layers may change x in place
        return outputs[:, None] if outputs.ndim == 1 else outputs


def _two_logits(outputs: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(outputs), outputs], dim=-1)


def started_anew(module: nn.Module, seed: int) -> nn.Module:
    """A copy of a module with new parameters from its ``reset_parameters``."""
    fresh = copy.deepcopy(module)
    with with_seed(seed), torch.no_grad():
        fresh.apply(_reset)
    return fresh


def _reset(module: nn.Module) -> None:
    """Draw new parameters; attention layers hide the name."""
    for name in ("reset_parameters", "_reset_parameters"):
        reset = getattr(module, name, None)
        if callable(reset):
            reset()
            return


def _flat(parameters: Any) -> Array:
    return np.concatenate([np.asarray(each.detach()).ravel() for each in parameters])


def _numpy_type(dtype: torch.dtype) -> Any:
    return np.float64 if dtype == torch.float64 else np.float32


# -- requirements for modules ----------------------------------------------------------------------


def _check_layers(module: nn.Module) -> None:
    """Reject modules with unsuitable layers."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {module!r}.")
    for name, layer in module.named_modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            raise ValueError(
                f"module has the batch norm layer {name!r} ({type(layer).__name__}), whose outputs "
                "depend on the other rows of a minibatch: use GroupNorm or LayerNorm."
            )
    for name, each in module.named_parameters():
        if nn.parameter.is_lazy(each):
            raise ValueError(
                f"module has the lazy parameter {name!r}, whose shape is not known: run the module "
                "once on a few rows."
            )
        if each.device.type != "cpu":
            raise ValueError(
                f"module must be on the CPU, where draws can be repeated bit for bit, got the "
                f"parameter {name!r} on {each.device}: use module.cpu()."
            )
        if each.requires_grad and each.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"module must have parameters of type float32 or float64, got {each.dtype} in "
                f"{name!r}: use module.float()."
            )
    if not any(each.requires_grad for each in module.parameters()):
        raise ValueError("module must have parameters to train, got none that require a gradient.")


def _looked_at(stacked: StackedModule, x: Array) -> StackedModule:
    """Run the module on two rows in every way that is needed later."""
    stacked = _taking(stacked, x[:2])
    parameters = torch.tensor(np.stack([stacked.given] * 2), dtype=stacked.dtype)
    rows = torch.tensor(stacked.inputs(x[:2]))
    alone = replace(stacked, one_by_one=True)
    with torch.no_grad():
        outputs = _steady_outputs(alone.working(training=False), parameters, rows)
    stacked = replace(stacked, n_outputs=outputs.shape[-1])
    stacked = replace(stacked, random=_random_in_training(alone, parameters, rows))
    return replace(stacked, one_by_one=not _vmap_agrees(stacked, parameters, rows, outputs))


def _taking(stacked: StackedModule, x: Array) -> StackedModule:
    """The module with the type of its inputs."""
    error: Exception | None = None
    for whole in (False, True) if x.dtype.kind in "iu" else (False,):
        tried = replace(stacked, whole=whole)
        try:
            with torch.no_grad():
                outputs = copy.deepcopy(stacked.module).eval()(torch.tensor(tried.inputs(x)))
        except Exception as found:
            error = error or found
            continue
        if not isinstance(outputs, Tensor) or outputs.ndim not in (1, 2) or len(outputs) != len(x):
            got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
            raise ValueError(
                f"module must return a tensor of shape (n_rows, n_outputs), got {got} for "
                f"{len(x)} rows."
            )
        return tried
    raise ValueError(
        f"module fails at the first two rows of X, of shape {x.shape}: {error}"
    ) from error


def _steady_outputs(run: Working, parameters: Tensor, rows: Tensor) -> Array:
    """Outputs, if they depend only on the row and the parameters."""
    before = torch.get_rng_state()
    outputs = np.asarray(run(parameters, rows))
    if not torch.equal(torch.get_rng_state(), before):
        raise ValueError(
            "module draws random numbers in eval mode, so that predictions would change from call "
            "to call: draw them only if self.training."
        )
    if not np.isfinite(outputs).all():
        raise ValueError(
            "module returns NaN or infinity at the first two rows of X: check its parameters, or "
            "the size of its inputs."
        )
    _check_rows_alone(run, parameters, rows, outputs)
    return outputs


def _check_rows_alone(run: Working, parameters: Tensor, rows: Tensor, outputs: Array) -> None:
    apart = np.concatenate([np.asarray(run(parameters, row[None])) for row in rows], axis=1)
    if not _close(apart, outputs):
        raise ValueError(
            "module must return an output for each row alone, but outputs change with the other "
            "rows of a minibatch: use LayerNorm or GroupNorm for norms over rows."
        )


def _random_in_training(stacked: StackedModule, parameters: Tensor, rows: Tensor) -> bool:
    """Whether training draws random numbers; rejects modules with unsuitable training."""
    run = replace(stacked, module=copy.deepcopy(stacked.module)).working(training=True)
    before, buffers = torch.get_rng_state(), dict(copy.deepcopy(run.module).named_buffers())
    leaf = parameters.clone().requires_grad_()
    outputs = run(leaf, rows)
    try:
        torch.autograd.grad(outputs.sum(), leaf)
    except RuntimeError as error:
        raise ValueError(
            f"module must be differentiable in its parameters, but: {error}"
        ) from error
    for name, each in run.module.named_buffers():
        if not torch.equal(each, buffers[name]):
            raise ValueError(
                f"module changes its buffer {name!r} in training, which draws cannot share: use "
                "layers without running statistics."
            )
    random = not torch.equal(torch.get_rng_state(), before)
    if not random:
        with torch.no_grad():
            _check_rows_alone(run, parameters, rows, np.asarray(outputs.detach()))
    return random


def _vmap_agrees(stacked: StackedModule, parameters: Tensor, rows: Tensor, outputs: Array) -> bool:
    """Whether `vmap` runs the module in both modes, without internal loops, and correctly."""
    leaf = parameters.clone().requires_grad_()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning reports an internal loop
            with torch.no_grad():
                found = np.asarray(stacked.working(training=False)(parameters, rows))
            trained = stacked.working(training=True)(leaf, torch.stack([rows] * 2), own_rows=True)
            torch.autograd.grad(trained.sum(), leaf)
    except Exception:
        return False
    return _close(found, outputs)


def _close(a: Array, b: Array) -> bool:
    return np.allclose(a, b, rtol=0.0, atol=CLOSE * max(1e-6, np.abs(b).max()))
