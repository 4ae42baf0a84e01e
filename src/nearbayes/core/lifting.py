"""Lifting: run a plain algorithm on chunks of draws, or keep only the predictions of draws.

The engine and the posterior use every algorithm through `as_chunks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm, Model, Models, Rng, Traits
from nearbayes.core.seeds import Streams
from nearbayes.draws.credible import stack_draws
from nearbayes.tables.table import Table, TablePrint, describe, same_rows

__all__ = ["KeptPredictions", "as_chunks"]


def as_chunks(algorithm: Any, kept_at: Table | TablePrint | None = None) -> ChunkAlgorithm:
    """Return a chunk algorithm unchanged, and lift a plain one; reject anything else.

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    kept_at : table, optional
        Keep only the predictions of a draw at these rows.
    """
    if isinstance(algorithm, Algorithm):
        chunks: ChunkAlgorithm = _Lifted(algorithm)
    elif isinstance(algorithm, ChunkAlgorithm):
        chunks = algorithm
    else:
        raise TypeError(
            f"algorithm must be a nearbayes.Algorithm, got {algorithm!r}: wrap two functions with "
            "nearbayes.algorithm(fit, sample), derive a class from nearbayes.Algorithm, or pass an "
            "estimator to PosteriorClassifier or PosteriorRegressor."
        )
    return chunks if kept_at is None else _Keeping(chunks, kept_at)


@dataclass(frozen=True)
class _Lifted(ChunkAlgorithm):
    """A plain algorithm: its draws are made one after another."""

    algorithm: Algorithm

    @property
    def traits(self) -> Traits:
        return self.algorithm.traits

    def prepare(self, data: Data, rng: Rng) -> tuple[_Lifted, Data]:
        algorithm, prepared = self.algorithm.prepare(data, rng)
        return _Lifted(algorithm), prepared

    def coded(self, data: Data) -> Data:
        return self.algorithm.coded(data)

    def fit(self, data: Sequence[Data], streams: Streams) -> list[Model]:
        return [self.algorithm.fit(*each) for each in zip(data, streams, strict=True)]

    def refit(
        self, data: Sequence[Data], new: Blocks, models: Models, streams: Streams
    ) -> list[Model]:
        parts = zip(data, new, models, streams, strict=True)
        return [self.algorithm.refit(*each) for each in parts]

    def sample(self, models: Models, x: Sequence[Rows], streams: Streams) -> list[NDArray[Any]]:
        return [self.algorithm.sample(*each) for each in zip(models, x, streams, strict=True)]

    def finish(self, models: Models) -> list[Model]:
        return [self.algorithm.finish(model) for model in models]

    def reveal(self, model: Model) -> Any:
        return self.algorithm.reveal(model)

    def predict(self, models: Models, x: Table) -> NDArray[np.float64]:
        return stack_draws([self.algorithm.predict(model, x) for model in models])

    def predictives(self, models: Models, x: Table) -> list[Any]:
        return [self.algorithm.predictive(model, x) for model in models]

    def simulate(self, outcomes: Callable[[Table], NDArray[Any]], data: Data) -> tuple[Any, Data]:
        return self.algorithm.simulate(outcomes, data)


@dataclass(frozen=True)
class KeptPredictions:
    """A draw's predictions at the rows of `predict_on`; the model itself is not kept.

    Attributes
    ----------
    prediction : array of shape (n_rows,), (n_rows, n_outputs) or (n_rows, n_classes)
    predictive : Predictive or None
        Distribution of y at each row; None where the algorithm predicts, but has none.
    classes_ : array of shape (n_classes,), optional
        Classes in the training data of the model.
    """

    prediction: NDArray[np.float64]
    predictive: Any
    classes_: NDArray[Any] | None = None


@dataclass(frozen=True)
class _Keeping(ChunkAlgorithm):
    """Wraps any algorithm; keeps only the predictions of its draws at one table."""

    chunks: ChunkAlgorithm
    at: Table | TablePrint

    @property
    def traits(self) -> Traits:
        return self.chunks.traits

    def fit(self, data: Sequence[Data], streams: Streams) -> Models:
        return self.chunks.fit(data, streams)

    def refit(self, data: Sequence[Data], new: Blocks, models: Models, streams: Streams) -> Models:
        return self.chunks.refit(data, new, models, streams)

    def sample(self, models: Models, x: Sequence[Rows], streams: Streams) -> Any:
        return self.chunks.sample(models, x, streams)

    def finish(self, models: Models) -> list[KeptPredictions]:
        predictions = self.chunks.predict(models, self.at)
        predictives = self._predictives(models)
        classes = [getattr(self.chunks.reveal(model), "classes_", None) for model in models]
        return list(map(KeptPredictions, predictions, predictives, classes))

    def _predictives(self, models: Models) -> list[Any]:
        """Distributions of y at the rows; None where the algorithm has no such verb."""
        if isinstance(self.chunks, _Lifted):
            has = type(self.chunks.algorithm).predictive is not Algorithm.predictive
        else:
            has = type(self.chunks).predictives is not ChunkAlgorithm.predictives
        return self.chunks.predictives(models, self.at) if has else [None] * len(models)

    def predict(self, models: Models, x: Table) -> NDArray[np.float64]:
        return stack_draws([each.prediction for each in self._kept(models, x)])

    def predictives(self, models: Models, x: Table) -> list[Any]:
        kept = [each.predictive for each in self._kept(models, x)]
        if any(each is None for each in kept):
            raise TypeError(
                "these draws keep predictions at predict_on, but no distribution of y, as the "
                "algorithm has no predictive: use posterior.predictions(X)."
            )
        return kept

    def _kept(self, models: Models, x: Table) -> Models:
        """Reject rows other than those with kept predictions."""
        if not same_rows(x, self.at):
            raise ValueError(
                f"X must be the table given as predict_on ({describe(self.at)}), as nothing but "
                f"predictions there was kept, got {describe(x)}: fit with predict_on=X, or "
                "without predict_on."
            )
        return models
