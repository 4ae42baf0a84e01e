r"""Empirical Bayes as the algorithm: a draw is hyperparameters and the data it predicts from.

Section 5 of the paper ("Hyperparameter learning for GP regression", App. D.3): the algorithm is
maximum marginal likelihood, :math:`\hat y` comes from the process's marginal predictive
distribution, independently per row, and every refit restarts the search at the last optimum of the
draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearbayes.algorithms.kept import KeptPredictions
from nearbayes.core.data import Block, Counts, Data, Rows
from nearbayes.core.protocols import Rng
from nearbayes.core.tables import Table, as_table, numeric_values
from nearbayes.gp.marginal import Collapsed
from nearbayes.gp.process import (
    EmpiricalBayesGP,
    Fitted,
    Scaling,
    fitted_many,
    predict_many,
)
from nearbayes.predictives.predictive import Normal

__all__ = ["EmpiricalBayesAlgorithm"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EmpiricalBayesAlgorithm:
    """Gaussian process regression with learned hyperparameters, refitted with imputed rows.

    Outcomes are stored with their squares, in standard units, because the means of both over
    repeated rows are sufficient for the marginal likelihood.

    Parameters
    ----------
    estimator : EmpiricalBayesGP
    scaling : Scaling, optional
        Scaling of the real rows; learned if None.
    n_rows : int
        Number of real rows. Draws are padded to a few shapes, because each shape is compiled.
    keep_at : table, optional
        If given, only predictions at these rows are kept of a draw.
    """

    estimator: EmpiricalBayesGP
    scaling: Scaling | None = None
    n_rows: int = 0
    keep_at: Table | None = None
    accepts_counts: Counts = "means"
    link: str = "identity"
    packages: tuple[str, ...] = ("jax", "tinygp", "optax")

    @property
    def is_flexible(self) -> bool:
        """False: the variance of a draw includes its uncertainty about f(x)."""
        return False

    @property
    def knows_its_doubt(self) -> bool:
        """True: predictive variances include what a truncated schedule misses in the means."""
        return True

    @property
    def randomised(self) -> bool:
        """Whether searches start at random."""
        return self.estimator.initial == "random" or self.estimator.n_restarts > 0

    def prepare(self, data: Data, rng: Rng) -> tuple[EmpiricalBayesAlgorithm, Data]:
        """Learn the scaling, and store outcomes with their squares."""
        y = np.asarray(data.y, dtype=np.float64)
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension, got shape {y.shape}.")
        scaling = Scaling.of(_values(data.x), y, data.counts)
        prepared = replace(self, scaling=scaling, n_rows=len(y))
        return prepared, replace(data, y=_with_squares(scaling.outcomes(y)))

    def simulate(self, truth: Fitted, data: Data, rng: Rng) -> tuple[EmpiricalBayesAlgorithm, Data]:
        """Data at the real inputs with outcomes drawn from a fitted model."""
        mean, _, noise = self._predicted([truth], _values(data.x)[None])
        outcomes = mean[0] + np.sqrt(noise[0]) * rng.standard_normal(mean.shape[1])
        return replace(self, keep_at=None), replace(data, y=outcomes)

    def fit(self, data: Data, rng: Rng) -> Fitted:
        """First fit of one draw."""
        return self.fit_paths(data, [rng])[0]

    def refit(self, data: Data, new: Block, model: Fitted, rng: Rng) -> Fitted:
        """Restart the search with the new rows."""
        return self.refit_paths([data], [new], [model], [rng])[0]

    def sample(self, model: Fitted, x: Rows, rng: Rng) -> Array:
        """Outcomes with their squares, from the marginal predictive distribution."""
        return self.sample_paths([model], [x], [rng])[0]  # type: ignore[no-any-return]

    def fit_paths(self, data: Data, rngs: Sequence[Rng]) -> list[Fitted]:
        """First fits: one search for all draws, unless their starts are random."""
        n_columns = _values(data.table).shape[1]
        starts = np.stack([self.estimator.starts(n_columns, rng) for rng in rngs])
        if not self.randomised:
            return [self._fitted(starts[:1], [data])[0]] * len(rngs)
        return self._fitted(starts, [data] * len(rngs))

    def refit_paths(
        self,
        data: Sequence[Data],
        new: Sequence[Block],
        models: Sequence[Fitted],
        rngs: Sequence[Rng],
    ) -> list[Fitted]:
        """Restart the search of every draw at its last optimum."""
        starts = np.stack([model.logs for model in models])[:, None]
        return self._fitted(starts, list(data), models)

    def sample_paths(
        self, models: Sequence[Fitted], x: Sequence[Rows], rngs: Sequence[Rng]
    ) -> Array:
        """Outcomes with their squares for every draw, shape (n_draws, size, 2)."""
        assert self.scaling is not None
        rows = np.stack([_values(each.values) for each in x])
        mean, variance, noise = self._predicted(list(models), rows)
        normal = np.stack([rng.standard_normal(mean.shape[1]) for rng in rngs])
        return _with_squares(self.scaling.outcomes(mean + np.sqrt(variance + noise) * normal))

    def predict(self, model: Fitted | KeptPredictions, x: Table) -> Array:
        """Mean of f(x), shape (n_rows,)."""
        return self.predictive(model, x).mean

    def predictive(self, model: Fitted | KeptPredictions, x: Table) -> Normal:
        """Distribution of y at each row, including the uncertainty of f(x)."""
        if isinstance(model, KeptPredictions):
            model.check_rows(x, self.keep_at)
            return cast(Normal, model.predictive)
        mean, variance, noise = self._predicted([model], _values(as_table(x))[None])
        return Normal(mean[0], np.sqrt(variance[0] + noise[0]))

    def finish(self, model: Fitted) -> Fitted | KeptPredictions:
        """The model, or its predictions at `keep_at`."""
        if self.keep_at is None:
            return model
        predictive = self.predictive(model, self.keep_at)
        return KeptPredictions(predictive.mean, predictive)

    def reveal(self, model: Fitted | KeptPredictions) -> Any:
        """The fitted estimator, or its kept predictions."""
        if isinstance(model, KeptPredictions):
            return model
        assert self.scaling is not None
        return clone(self.estimator).with_fit(model, self.scaling)

    def _fitted(
        self, starts: Array, data: list[Data], before: Sequence[Fitted] | None = None
    ) -> list[Fitted]:
        assert self.scaling is not None
        parts = [_collapsed(each, self.scaling) for each in data]
        return fitted_many(self.estimator, starts, parts, self._size(parts), before)

    def _predicted(self, models: list[Fitted], x: Array) -> tuple[Array, Array, Array]:
        assert self.scaling is not None
        size = self._size([model.data for model in models])
        return predict_many(self.estimator, models, self.scaling, x, size)

    def _size(self, parts: list[Collapsed]) -> int:
        """Number of rows to pad to: that of the real data, plus steps of half as many."""
        most, step = max(len(part.mean) for part in parts), max(1, -(-self.n_rows // 2))
        return self.n_rows + max(0, -(-(most - self.n_rows) // step)) * step


def _collapsed(data: Data, scaling: Scaling) -> Collapsed:
    """Means and counts per row, and the sum of squares within rows."""
    mean, square = data.y.T
    within = float(np.sum(data.counts * np.maximum(square - mean**2, 0.0)))
    return Collapsed(scaling.inputs(_values(data.x)), mean, data.counts, within)


def _with_squares(y: Array) -> Array:
    return np.stack([y, y**2], axis=-1)


def _values(table: Table | None) -> Array:
    return numeric_values(table, "EmpiricalBayesGP")
