"""Logistic regression as a log density and a sampler: the example of the contract tests."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["log_density", "probability", "sampler"]


def log_density(theta: Any, x: Any, y: Any) -> Any:
    """Log probability of an outcome 0 or 1."""
    return y * (x @ theta) - jax.nn.softplus(x @ theta)


def sampler(theta: Any, x: Any, key: Any) -> Any:
    """An outcome 0 or 1."""
    return jnp.asarray(jax.random.uniform(key) < probability(theta, x), dtype=float)


def probability(theta: Any, x: Any) -> Any:
    """Probability of outcome 1."""
    return jax.nn.sigmoid(x @ theta)
