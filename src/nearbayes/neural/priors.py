r"""Priors: networks around random functions, so that an ensemble is a posterior of its kernel.

NTKGP (He, Lakshminarayanan and Teh, 2020): with parameters :math:`\theta_0` and
:math:`\tilde\theta` drawn from the prior and the last layer of :math:`\tilde\theta` set to 0, the
function :math:`\delta(x) = J f(x; \theta_0)\,\tilde\theta` is added to the network permanently. The
sum starts as a draw of the Gaussian process of the neural tangent kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.neural.network import Network

__all__ = ["NTKGPNetwork", "with_prior_function"]

FIXED = 1e6  # prior sd of fixed parameters, which have no penalty


@dataclass(frozen=True)
class NTKGPNetwork(Network):
    """A network plus its fixed random function; parameters are theta, theta_0 and theta tilde."""

    inner: Network

    def modules(self, key: Any) -> Any:
        """Modules of the network."""
        return self.inner.modules(key)

    def init(self, key: Any) -> Any:
        """Start at theta_0."""
        first, second = jax.random.split(key)
        start = self.inner.init(first)
        tangent = jnp.where(self.inner.last_layer, 0.0, self.inner.init(second))
        return jnp.concatenate([start, start, tangent])

    def apply(self, parameters: Any, x: Any) -> Any:
        """Network and random function."""
        moving, start, tangent = jnp.split(parameters, 3)
        fixed = jax.lax.stop_gradient((start, tangent))
        _, added = jax.jvp(lambda theta: self.inner.apply(theta, x), (fixed[0],), (fixed[1],))
        return self.inner.apply(moving, x) + added

    @property
    def prior_sd(self) -> NDArray[np.float32]:
        """That of the network; fixed parameters have no penalty."""
        inner = self.inner.prior_sd
        return np.concatenate([inner, np.full(2 * len(inner), FIXED, np.float32)])


def with_prior_function(network: Network) -> Network:
    """The network of an NTKGP ensemble."""
    return network if isinstance(network, NTKGPNetwork) else NTKGPNetwork(network)
