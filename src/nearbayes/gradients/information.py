r"""Information: the Fisher information :math:`I(\theta)` of one observation, for many draws.

- a function of the user: exact;
- "hessian": minus the Hessian of the log density, averaged over simulated outcomes. It does not
  depend on the outcome in canonical models, and is exact there;
- "scores": products of scores :math:`s s^\top`, averaged over simulated outcomes;
- "empirical": the same at the real outcomes.

With inputs, all are averaged over the real rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nearbayes.core.data import Data
from nearbayes.gradients.densities import Density
from nearbayes.tables.table import numeric_values

__all__ = ["Information", "InformationKind", "RowsOfInformation", "rows_of_information"]

InformationKind = Literal["hessian", "scores", "empirical"]


class RowsOfInformation(NamedTuple):
    """Rows over which information is averaged: x, y and weight."""

    x: Any
    y: Any
    weight: Any


@dataclass(frozen=True)
class Information:
    """Information of one observation under a density, as a function of flat parameters.

    Attributes
    ----------
    density : Density
    kind : "hessian", "scores", "empirical" or callable
        A callable takes ``(theta)``, or ``(theta, x)`` with inputs.
    """

    density: Density
    kind: InformationKind | Callable[..., Any]

    def of_draws(self, thetas: Any, rows: RowsOfInformation, keys: Any) -> Any:
        """Information of every draw, shape (n_draws, size, size)."""
        if callable(self.kind) and not self.density.inputs:
            return jax.vmap(self._given)(thetas)
        # draws last: a sum over rows, one by one, is fastest if it runs over all draws at once
        of_row = jax.vmap(self._at_row, in_axes=(0, None, None, 0), out_axes=-1)

        def added(sums: Any, row: Any) -> tuple[Any, None]:
            (x, y, weight), number = row
            row_keys = jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)
            return sums + weight * of_row(thetas, x, y, row_keys), None

        size = self.density.structure.size
        start = jnp.zeros((size, size, len(thetas)))
        numbered = (tuple(rows), jnp.arange(len(rows.weight)))
        total = jax.lax.scan(added, start, numbered)[0]
        return jnp.moveaxis(total, -1, 0) / jnp.sum(rows.weight)

    def _given(self, theta: Any, *x: Any) -> Any:
        size = self.density.structure.size
        found = jnp.asarray(self.kind(self.density.structure.unravelled(theta), *x))  # type: ignore[operator]
        return found.reshape(size, size)

    def _at_row(self, theta: Any, x: Any, y: Any, key: Any) -> Any:
        density = self.density
        if callable(self.kind):
            return self._given(theta, x)
        if self.kind != "empirical":
            y = density.sample(theta, x, key)
        if self.kind == "hessian":
            return density.curvature(theta, x, y)
        score = density.score(theta, x, y)
        return jnp.outer(score, score)


def rows_of_information(
    kind: InformationKind | Callable[..., Any], data: Data, n_samples: int
) -> RowsOfInformation:
    """Real rows to average over: all for real outcomes, else as many as simulated outcomes.

    Every row gets its share of `n_samples` simulated outcomes by its weight; if there are more rows
    than outcomes, evenly spaced rows are used. A user's function is evaluated once per row.
    """
    inputs = data.table is not None
    n_rows = len(data.y)
    if kind == "empirical":
        index, weight = np.arange(n_rows), data.counts
    elif not inputs:
        index, weight = np.zeros(n_samples, dtype=np.intp), np.ones(n_samples)
    else:
        index, weight = _spread(data.counts, n_samples, once=callable(kind))
    x = numeric_values(data.x, "GradientMartingale") if inputs else np.zeros((n_rows, 0))
    parts = (np.asarray(x)[index], np.asarray(data.y, dtype=np.float64)[index], weight)
    return RowsOfInformation(*parts)


def _spread(counts: Any, n_samples: int, once: bool) -> tuple[Any, Any]:
    """Rows to simulate outcomes at, and their weights."""
    n_rows = len(counts)
    if n_rows > n_samples:
        places = (np.arange(n_samples) + 0.5) * counts.sum() / n_samples
        return np.searchsorted(np.cumsum(counts), places), np.ones(n_samples)
    times = 1 if once else -(-n_samples // n_rows)
    return np.repeat(np.arange(n_rows), times), np.repeat(counts, times)
