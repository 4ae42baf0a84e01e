r"""Empirical Bayes as the algorithm: a draw is hyperparameters and the data it predicts from.

Section 5 of the paper ("Hyperparameter learning for GP regression", App. D.3): the algorithm is
maximum marginal likelihood, :math:`\hat y` comes from the process's marginal predictive
distribution, independently per row, and every refit restarts the search at the last optimum of the
draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.seeds import Streams
from nearbayes.gp.marginal import Collapsed
from nearbayes.gp.process import (
    EmpiricalBayesGP,
    Fitted,
    FittedMany,
    Scaling,
    fitted_many,
    predict_many,
)
from nearbayes.predictives.predictive import Normal
from nearbayes.tables.table import Table, as_table, numeric_values

__all__ = ["EmpiricalBayesAlgorithm"]

Array = NDArray[np.float64]
CHUNK = 4


@dataclass(frozen=True)
class EmpiricalBayesAlgorithm(ChunkAlgorithm):
    """Gaussian process regression with learned hyperparameters, refitted with imputed rows.

    Outcomes are stored with their squares, in standard units, because the means of both over
    repeated rows are sufficient for the marginal likelihood.

    Parameters
    ----------
    estimator : EmpiricalBayesGP
    scaling : Scaling, optional
        Scaling of the real rows; learned if None.
    n_rows : int
        Of the real data: draws are padded to few shapes, as each is compiled once.
    """

    estimator: EmpiricalBayesGP
    scaling: Scaling | None = None
    n_rows: int = 0

    @cached_property
    def traits(self) -> Traits:
        """The variance of a draw includes its own uncertainty about f(x)."""
        return Traits(
            counts="means",
            randomised=self.estimator.initial == "random" or self.estimator.n_restarts > 0,
            chunk=CHUNK,
            runs_in="threads",
            own_variance=True,
            packages=("jax", "tinygp", "optax"),
        )

    def prepare(self, data: Data, rng: Rng) -> tuple[EmpiricalBayesAlgorithm, Data]:
        """Learn the scaling, and store outcomes with their squares."""
        y = np.asarray(data.y, dtype=np.float64)
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension, got shape {y.shape}.")
        scaling = Scaling.of(_values(data.x), y, data.counts)
        prepared = replace(self, scaling=scaling, n_rows=len(y))
        return prepared, prepared.coded(data)

    def coded(self, data: Data) -> Data:
        """Outcomes in standard units, with their squares."""
        assert self.scaling is not None
        y = np.asarray(data.y, dtype=np.float64)
        return replace(data, y=_with_squares(self.scaling.outcomes(y)))

    def fit(self, data: Sequence[Data], streams: Streams) -> Sequence[Fitted]:
        """First fits: one search for all draws with the same start and data."""
        n_columns = _values(data[0].table).shape[1]
        starts = np.stack([self.estimator.starts(n_columns, rng) for rng in streams])
        if isinstance(data, Repeated) and not self.traits.randomised:
            return list(self._fitted(starts[:1], [data[0]])) * len(streams)
        return self._fitted(starts, list(data))

    def refit(
        self, data: Sequence[Data], new: Blocks, models: Sequence[Fitted], streams: Streams
    ) -> FittedMany:
        """Restart the search of every draw at its last optimum."""
        return self.fit_near(data, models, streams)

    def fit_near(
        self, data: Sequence[Data], models: Sequence[Fitted], streams: Streams
    ) -> FittedMany:
        """Start the search of every draw at the optimum of a model."""
        starts = np.stack([model.logs for model in models])[:, None]
        return self._fitted(starts, list(data), models)

    def sample(self, models: Sequence[Fitted], x: Sequence[Rows], streams: Streams) -> Array:
        """Outcomes with their squares for every draw, shape (n_draws, size, 2).

        They come from the marginal predictive distribution, independently per row.
        """
        assert self.scaling is not None
        rows = np.stack([_values(each.values) for each in x])
        mean, variance, noise = self._predicted(models, rows)
        normal = np.stack([rng.standard_normal(mean.shape[1]) for rng in streams])
        return _with_squares(self.scaling.outcomes(mean + np.sqrt(variance + noise) * normal))

    def predict(self, models: Sequence[Fitted], x: Table) -> Array:
        """Mean of f(x), shape (n_draws, n_rows)."""
        return np.stack([each.mean for each in self.predictives(models, x)])

    def predictives(self, models: Sequence[Fitted], x: Table) -> list[Normal]:
        """Distribution of y at each row, including the uncertainty about f(x)."""
        rows = _values(as_table(x))
        found: list[Normal] = []
        for start in range(0, len(models), CHUNK):
            part = models if len(models) == CHUNK else list(models[start : start + CHUNK])
            mean, variance, noise = self._predicted(_filled(part), np.stack([rows] * CHUNK))
            found += map(Normal, mean[: len(part)], np.sqrt(variance + noise))
        return found

    def reveal(self, model: Fitted) -> Any:
        """The fitted estimator."""
        assert self.scaling is not None
        return clone(self.estimator).with_fit(model, self.scaling)

    def _fitted(
        self, starts: Array, data: list[Data], before: Sequence[Fitted] | None = None
    ) -> FittedMany:
        assert self.scaling is not None
        parts = [_collapsed(each, self.scaling) for each in data]
        return fitted_many(self.estimator, starts, parts, self._size(parts), before)

    def _predicted(self, models: Sequence[Fitted], x: Array) -> tuple[Array, Array, Array]:
        assert self.scaling is not None
        return predict_many(self.estimator, self._many(models), self.scaling, x)

    def _many(self, models: Sequence[Fitted]) -> FittedMany:
        if isinstance(models, FittedMany):
            return models
        size = self._size([model.data for model in models])
        return FittedMany.of(models, self.estimator, size)

    def finish(self, models: Sequence[Fitted]) -> list[Fitted]:
        """Fits one by one, as those of all chunks go into one posterior."""
        return list(models)

    def _size(self, parts: list[Collapsed]) -> int:
        """Number of rows to pad to: that of the real data, plus steps of half as many."""
        most, step = max(len(part.mean) for part in parts), max(1, -(-self.n_rows // 2))
        return self.n_rows + max(0, -(-(most - self.n_rows) // step)) * step


def _filled(models: Sequence[Fitted]) -> Sequence[Fitted]:
    """A whole chunk, because each number of draws needs its own compilation."""
    missing = CHUNK - len(models)
    return [*models, *[models[0]] * missing] if missing else models


def _collapsed(data: Data, scaling: Scaling) -> Collapsed:
    """Means and counts per row, and the sum of squares within rows."""
    mean, square = data.y.T
    within = float(np.sum(data.counts * np.maximum(square - mean**2, 0.0)))
    return Collapsed(scaling.inputs(_values(data.x)), mean, data.counts, within)


def _with_squares(y: Array) -> Array:
    return np.stack([y, y**2], axis=-1)


def _values(table: Table | None) -> Array:
    return numeric_values(table, "EmpiricalBayesGP")


def example() -> tuple[EmpiricalBayesGP, Data]:
    """A process with its default settings, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return EmpiricalBayesGP(), Data.of(X, X[:, 0] + 0.5 * rng.normal(size=60))
