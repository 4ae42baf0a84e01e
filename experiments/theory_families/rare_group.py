r"""A rare group (second example of App. A.3): its mean has hardly any observations.

:math:`z_1 \sim \mathrm{Bern}(1 - \epsilon)` with known :math:`\epsilon`, :math:`z_2 \mid z_1 \sim
N(\theta_{z_1}, 1)`, and n is half of 1 / :math:`\epsilon`. The algorithm estimates the mean of the
rare group with a small regularisation, which is the posterior mean under :math:`N(0, 1/\lambda)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Traits
from nearbayes.core.seeds import Streams

Array = NDArray[np.float64]
RARE = 0  # value of z_1


@dataclass(frozen=True)
class RareGroup(ChunkAlgorithm):
    """Mean of the rare group with a ridge; a model is (number of its rows, their sum).

    Attributes
    ----------
    share : float
        Known share of the group, ε.
    ridge : float
        The weight λ.
    """

    share: float
    ridge: float

    @property
    def traits(self) -> Traits:
        """Counts and sums are all there is to keep."""
        return Traits(chunk=1_000, keeps_rows=False, runs_in="threads")

    def fit(self, data: Sequence[Data], streams: Streams) -> Array:
        """Number and sum of rare rows, shape (n_draws, 2)."""
        return np.stack([self._sums(each) for each in data])

    def _sums(self, data: Data) -> Array:
        rare = (data.y[:, 0] == RARE) * data.counts
        return np.array([rare.sum(), np.sum(rare * data.y[:, 1])])

    def sample(self, models: Array, x: Sequence[Rows], streams: Streams) -> Array:
        """Number and sum of the rare rows of a block, for every draw."""
        rng = streams.chunk
        found = rng.binomial(len(x[0]), self.share, len(models))
        mean = self.means(models)
        return np.stack([found, found * mean + np.sqrt(found) * rng.standard_normal(len(found))], 1)

    def refit(self, data: Sequence[Data], new: Blocks, models: Array, streams: Streams) -> Array:
        """Add a block; where it is all there is, it replaces the rows."""
        added = np.asarray(new.y)
        return added if new.size == new.total else models + added

    def means(self, models: Any) -> Array:
        """Estimates of the mean, shape (n_draws,)."""
        number, total = np.asarray(models, dtype=np.float64).T
        return np.asarray(total / (number + self.ridge))

    def exact(self, z: Array) -> Any:
        """Posterior of the mean under N(0, 1 / λ)."""
        rare = z[z[:, 0] == RARE, 1]
        precision = len(rare) + self.ridge
        return stats.norm(rare.sum() / precision, precision**-0.5)


def simulated(n: int, share: float, ridge: float, rng: np.random.Generator) -> Array:
    """Rows (z_1, z_2), shape (n, 2); the rare mean is from the prior, the other one is 0."""
    group = (rng.random(n) >= share).astype(np.float64)
    mean = rng.normal(0, ridge**-0.5)
    return np.column_stack([group, np.where(group == RARE, mean, 0.0) + rng.normal(size=n)])
