r"""Information: the Fisher information :math:`I(\theta)` of one observation, for many draws.

- a function of the user: exact;
- "hessian": minus the Hessian of the log density, averaged over simulated outcomes. It does not
  depend on the outcome in canonical models, and is exact there;
- "scores": products of scores :math:`s s^\top`, averaged over simulated outcomes;
- "empirical": the same at the real outcomes and the first fit, so one matrix for all draws.

With inputs, all are averaged over the real rows: every one of them for a function and for
"empirical", and up to 100,000 of them where outcomes are simulated.
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

__all__ = [
    "Information",
    "InformationKind",
    "RowsOfInformation",
    "rows_of_information",
    "smallest_share",
]

InformationKind = Literal["hessian", "scores", "empirical"]
MOST_ROWS = 100_000  # that outcomes are simulated at
NUMBERS = 2**20  # of all matrices of a piece of rows
ROWS_OF_PIECE = (64, 1_024)


class RowsOfInformation(NamedTuple):
    """Rows that information is averaged over: x, y and weight, each (n_pieces, n_rows, ...).

    `known` is a matrix that holds for all draws, shape (size, size), or None.
    """

    x: Any
    y: Any
    weight: Any
    known: Any = None


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
        if rows.known is not None:
            return jnp.broadcast_to(rows.known, (len(thetas), *rows.known.shape))
        if callable(self.kind) and not self.density.inputs:
            return jax.vmap(self._given)(thetas)
        if callable(self.kind):
            return self._given_at_rows(thetas, rows)
        # one draw after the other: its rows, a piece at a time, fill the loops
        return jax.lax.map(lambda draw: self._of_draw(draw[0], draw[1], rows), (thetas, keys))

    def _of_draw(self, theta: Any, key: Any, rows: RowsOfInformation) -> Any:
        """Weighted mean over all pieces of rows, shape (size, size)."""

        def added(sums: Any, piece: Any) -> tuple[Any, None]:
            (x, y, weight), number = piece
            row_keys = jax.random.split(jax.random.fold_in(key, number), len(weight))
            return sums + self._of_piece(theta, x, y, weight, row_keys), None

        size = self.density.structure.size
        numbered = ((rows.x, rows.y, rows.weight), jnp.arange(len(rows.weight)))
        total = jax.lax.scan(added, jnp.zeros((size, size)), numbered)[0]
        return total / jnp.sum(rows.weight)

    def _of_piece(self, theta: Any, x: Any, y: Any, weight: Any, keys: Any) -> Any:
        """Weighted sum over some rows."""
        density = self.density
        if self.kind != "empirical":
            y = jax.vmap(density.sample, in_axes=(None, 0, 0))(theta, x, keys)
        if self.kind == "hessian":
            return density.curvature_of_rows(theta, x, y, weight)
        scores = jax.vmap(density.score, in_axes=(None, 0, 0))(theta, x, y)
        return (weight[:, None] * scores).T @ scores

    def _given_at_rows(self, thetas: Any, rows: RowsOfInformation) -> Any:
        """Weighted mean of what the user's function gives at every row."""
        # draws last: a sum over rows, one by one, is fastest if it runs over all draws at once
        of_row = jax.vmap(self._given, in_axes=(0, None), out_axes=-1)

        def added(sums: Any, row: Any) -> tuple[Any, None]:
            x, weight = row
            return sums + weight * of_row(thetas, x), None

        size, flat = self.density.structure.size, rows.weight.ravel()
        x = rows.x.reshape(len(flat), *rows.x.shape[2:])
        total = jax.lax.scan(added, jnp.zeros((size, size, len(thetas))), (x, flat))[0]
        return jnp.moveaxis(total, -1, 0) / jnp.sum(flat)

    def _given(self, theta: Any, *x: Any) -> Any:
        size = self.density.structure.size
        found = jnp.asarray(self.kind(self.density.structure.unravelled(theta), *x))  # type: ignore[operator]
        return found.reshape(size, size)


def rows_of_information(
    kind: InformationKind | Callable[..., Any], data: Data, n_samples: int, size: int
) -> RowsOfInformation:
    """Real rows to average over, in pieces of equal length; rows of weight 0 fill the last.

    Outcomes are simulated at every row, at least `n_samples` in all. Only where a table is very
    long are they simulated at rows chosen at random.
    """
    inputs = data.table is not None
    n_rows = len(data.y)
    if kind == "empirical" or (callable(kind) and inputs):
        index, weight = np.arange(n_rows), data.counts
    elif not inputs:
        index, weight = np.zeros(n_samples, dtype=np.intp), np.ones(n_samples)
    else:
        index, weight = _rows_to_simulate(data.counts, n_samples)
    x = numeric_values(data.x, "GradientMartingale") if inputs else np.zeros((n_rows, 0))
    parts = (np.asarray(x)[index], np.asarray(data.y, dtype=np.float64)[index], weight)
    return _in_pieces(*parts, longest=int(np.clip(NUMBERS // size**2, *ROWS_OF_PIECE)))


def _rows_to_simulate(counts: Any, n_samples: int) -> tuple[Any, Any]:
    """Rows to simulate outcomes at, and their weights."""
    n_rows, most = len(counts), max(MOST_ROWS, n_samples)
    if n_rows > most:
        # at random, as every fixed distance between rows may be a period of the data
        index = np.sort(np.random.default_rng(n_rows).permutation(n_rows)[:most])
        return index, counts[index]
    times = -(-n_samples // n_rows)
    return np.repeat(np.arange(n_rows), times), np.repeat(counts, times)


def _in_pieces(x: Any, y: Any, weight: Any, longest: int) -> RowsOfInformation:
    """Rows as pieces of one length, each array with a leading axis of pieces."""
    n_pieces = -(-len(weight) // longest)
    length = -(-len(weight) // n_pieces)
    filled = np.arange(n_pieces * length) % len(weight)
    weight = np.where(np.arange(len(filled)) < len(weight), weight[filled], 0.0)
    parts = (x[filled], y[filled], weight)
    return RowsOfInformation(*(part.reshape(n_pieces, length, *part.shape[1:]) for part in parts))


def smallest_share(matrix: Any) -> float:
    """Smallest eigenvalue of a matrix with its diagonal scaled to 1, so that units do not matter.

    NaN if the matrix is not finite, or its diagonal not positive.

    Examples
    --------
    >>> round(smallest_share(np.diag([1e-10, 1e4])), 6)
    1.0
    """
    variances = np.diag(matrix)
    if not (np.isfinite(matrix).all() and (variances > 0).all()):
        return float("nan")
    roots = np.sqrt(variances)
    scaled = matrix / roots / roots[:, None]
    return float(np.linalg.eigvalsh((scaled + scaled.T) / 2)[0])
