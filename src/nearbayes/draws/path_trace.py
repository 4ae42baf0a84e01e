"""Trace: a few quantities along the paths of the first draws, for diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_DRAWS", "Trace"]

Array = NDArray[np.float64]
MOST_DRAWS = 100  # more would take memory and add little information


@dataclass(frozen=True, eq=False)
class Trace:
    """Quantities along the paths of some draws.

    Attributes
    ----------
    n_rows : array of shape (n_steps,)
        Number of rows, real and imputed, that models were fitted to; first the real ones only.
    values : array of shape (n_draws, n_steps, n_quantities)
        Predictions at some real rows, or the parameters of a model that is a vector.

    Examples
    --------
    >>> import nearbayes as nb
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> posterior = nb.martingale_posterior(coin, [1, 0, 1, 1], n_draws=20, random_state=0)
    >>> posterior.trace.values.shape, float(posterior.trace.values[0, 0, 0])
    ((20, 9, 1), 0.75)
    """

    n_rows: Array
    values: Array

    @classmethod
    def gathered(cls, n_rows: Sequence[float], seen: Sequence[Sequence[Any]]) -> Trace | None:
        """The trace of a tracer's records, one list per draw; None if there are too few."""
        noted = [np.stack(each) for each in seen if len(each) == len(n_rows)]
        if not noted or any(each.shape != noted[0].shape for each in noted):
            return None
        values = np.stack(noted)
        return cls(np.asarray(n_rows, dtype=np.float64), values) if values.shape[2] else None

    def joined(self, other: Trace | None) -> Trace:
        """The trace with further draws of the same run, which come first."""
        if other is None or other.values.shape[1:] != self.values.shape[1:]:
            return self
        return Trace(self.n_rows, np.concatenate([other.values, self.values])[:MOST_DRAWS])
