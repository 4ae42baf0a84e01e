r"""Networks: functions of a flat vector of parameters, so that a draw is one vector.

`MLP` is made of equinox layers. `EquinoxNetwork` accepts any other equinox module that maps
one row to the outputs. Parameters start at draws of their prior, normal with standard deviation
:math:`1/\sqrt{\text{fan in}}` for weights and 0.2 for biases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from nearbayes.compiled.precision import computing_in

__all__ = ["MLP", "Activation", "EquinoxNetwork", "Network"]

Activation = Literal["swish", "selu", "tanh", "relu"]
BIAS_SD = 0.2
_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "swish": jax.nn.swish,
    "selu": jax.nn.selu,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
}


@dataclass(frozen=True)
class Network(ABC):
    """A function of parameters and rows. Hashable: programs are compiled once per network."""

    @abstractmethod
    def modules(self, key: Any) -> Any:
        """Make the equinox module with random parameters."""

    def init(self, key: Any) -> Any:
        """A draw of the parameters from their prior, shape (n_parameters,)."""
        structure = _structure(self)
        return structure.start + structure.prior_sd * jax.random.normal(
            key, structure.start.shape, structure.start.dtype
        )

    def apply(self, parameters: Any, x: Any) -> Any:
        """Outputs at rows, shape (n_rows, n_outputs)."""
        module = _structure(self).unravel(parameters)
        return jax.vmap(module)(x)

    @property
    def prior_sd(self) -> NDArray[np.float32]:
        """Standard deviation of each parameter under its prior, shape (n_parameters,)."""
        return _structure(self).prior_sd

    @property
    def last_layer(self) -> NDArray[np.bool_]:
        """Which parameters belong to the last layer, shape (n_parameters,)."""
        return _structure(self).last_layer

    @property
    def n_parameters(self) -> int:
        """Length of the vector of parameters."""
        return len(self.prior_sd)


@dataclass(frozen=True)
class MLP(Network):
    """A multi-layer perceptron.

    Parameters
    ----------
    n_inputs, n_outputs : int
    hidden : tuple of int
        Widths of the hidden layers.
    activation : "swish", "selu", "tanh" or "relu"
    residual : bool
        Whether a hidden layer adds to its input, if widths are the same.
    layer_norm : bool
        Whether inputs of activations are normalised (Ba et al., 2016).

    Examples
    --------
    >>> network = MLP(n_inputs=3, n_outputs=1, hidden=(8, 8))
    >>> network.apply(network.init(jax.random.key(0)), jnp.ones((5, 3))).shape
    (5, 1)
    """

    n_inputs: int
    n_outputs: int
    hidden: tuple[int, ...] = (64, 64)
    activation: Activation = "swish"
    residual: bool = False
    layer_norm: bool = False

    def __post_init__(self) -> None:
        if self.activation not in get_args(Activation):
            raise ValueError(
                f"activation must be one of {', '.join(get_args(Activation))}, "
                f"got {self.activation!r}."
            )
        if not self.hidden or not all(
            isinstance(w, int | np.integer) and w > 0 for w in self.hidden
        ):
            raise ValueError(
                f"hidden must be widths of layers, as in (64, 64), got {self.hidden!r}."
            )

    def modules(self, key: Any) -> Any:
        """The perceptron as an equinox module."""
        return _Perceptron(self, key)


class _Perceptron(eqx.Module):
    """Layers of an `MLP`, applied to one row."""

    layers: list[eqx.nn.Linear]
    norms: list[eqx.nn.LayerNorm]
    last: eqx.nn.Linear
    shape: MLP = eqx.field(static=True)

    def __init__(self, shape: MLP, key: Any) -> None:
        widths = (shape.n_inputs, *shape.hidden)
        keys = jax.random.split(key, len(widths))
        pairs = list(pairwise(widths))
        self.layers = [eqx.nn.Linear(*pair, key=k) for pair, k in zip(pairs, keys, strict=False)]
        self.norms = [eqx.nn.LayerNorm(width) for width in shape.hidden if shape.layer_norm]
        self.last = eqx.nn.Linear(widths[-1], shape.n_outputs, key=keys[-1])
        self.shape = shape

    def __call__(self, x: Any) -> Any:
        activation = _ACTIVATIONS[self.shape.activation]
        for place, layer in enumerate(self.layers):
            inner = layer(x)
            if self.norms:
                inner = self.norms[place](inner)
            inner = activation(inner)
            x = x + inner if self.shape.residual and inner.shape == x.shape else inner
        return self.last(x)


@dataclass(frozen=True)
class EquinoxNetwork(Network):
    """Any equinox module that maps one row to the outputs.

    Parameters
    ----------
    make : callable
        ``make(key)`` returns the module. Its parameters are its floating-point JAX arrays; NumPy
        arrays are not changed. Parameters start at the module's own values; the prior of a
        weight (two axes or more) has standard deviation 1 / sqrt(fan in), that of others 0.2.
    """

    make: Callable[[Any], Any]

    def modules(self, key: Any) -> Any:
        """Result of `make`."""
        return self.make(key)

    def init(self, key: Any) -> Any:
        """The module's own values."""
        return ravel_pytree(eqx.filter(self.make(key), _is_parameter))[0]


@dataclass(frozen=True)
class _Structure:
    """Structure shared by all parameters of a network."""

    unravel: Callable[[Any], Any]
    start: NDArray[np.float32]
    prior_sd: NDArray[np.float32]
    last_layer: NDArray[np.bool_]


@lru_cache(maxsize=64)
def _structure(network: Network) -> _Structure:
    with computing_in("float32"):
        module = network.modules(jax.random.key(0))
    arrays, fixed = eqx.partition(module, _is_parameter)
    _, unravel = ravel_pytree(arrays)
    named = jax.tree_util.tree_leaves_with_path(arrays)
    # weights and biases start around 0; the scale of a LayerNorm starts around 1
    start = [np.ones(leaf.size) * _is_scale(path) for path, leaf in named]
    prior = [np.full(leaf.size, _prior_sd(leaf)) for _, leaf in named]
    last = [np.full(leaf.size, "last" in jax.tree_util.keystr(path)) for path, leaf in named]
    return _Structure(
        lambda parameters: eqx.combine(unravel(parameters), fixed),
        np.concatenate(start).astype(np.float32),
        np.concatenate(prior).astype(np.float32),
        np.concatenate(last),
    )


def _is_parameter(leaf: Any) -> bool:
    """Arrays of JAX are trained; those of NumPy, such as frozen features, are not."""
    return isinstance(leaf, jax.Array) and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _is_scale(path: Any) -> bool:
    name = jax.tree_util.keystr(path)
    return "norms" in name and name.endswith(".weight")


def _prior_sd(leaf: Any) -> float:
    return BIAS_SD if leaf.ndim < 2 else float(np.prod(leaf.shape[1:])) ** -0.5
