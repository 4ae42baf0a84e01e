"""Refitting: a few more fits of the algorithm to parts of the real rows, or to changed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.lifting import as_chunks
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import ChunkAlgorithm, Rng
from nearbayes.core.seeds import Seeds, Streams, integer_seed
from nearbayes.methods.tracing import evenly
from nearbayes.tables.table import Table, TablePrint

__all__ = ["CannotTellError", "Case", "HeldOutFold", "Truths", "as_columns"]

Array = NDArray[np.float64]
N_FOLDS = 4  # with two halves each, twelve fits: few beside the hundreds of a posterior
MOST_TRUTHS = 20  # draws taken as truths
MOST_NUMBERS = 10_000_000  # predictions of all draws at a time
MOST_RANKED = 500  # of a fold, to impute outcomes at


class CannotTellError(Exception):
    """A question has no answer here; the message says why, in a sentence for the user."""


@dataclass(frozen=True, eq=False)
class HeldOutFold:
    """Rows that were left out, and what fits to the other rows say about them.

    Attributes
    ----------
    rows : array of int
    few : array of int
        Places of some of these rows, all if there are not many.
    predictive : Predictive
        Of the fit to all other rows, at those few.
    whole : array of shape (n_rows, n_columns)
        Prediction of the fit to all other rows.
    halves : array of shape (n_rows, n_columns)
        Mean prediction of two fits, each to one half of the other rows.
    apart : array of shape (n_rows, n_columns)
        Squared distance of these two fits from their mean.
    """

    rows: NDArray[np.intp]
    few: NDArray[np.intp]
    predictive: Any
    whole: Array
    halves: Array
    apart: Array


@dataclass(frozen=True, eq=False)
class Truths:
    """Some draws at all real rows, spread as intervals are, and what all draws say there.

    Attributes
    ----------
    places : array of int
        Which draws.
    values : array of shape (n_places, n_rows, n_columns)
    mean : array of shape (n_rows, n_columns)
        Of all draws.
    variance : float
        Of all draws: mean over rows, sum over columns.
    """

    places: NDArray[np.intp]
    values: Array
    mean: Array
    variance: float


@dataclass(frozen=True, eq=False)
class Case:
    """A posterior with the rows that it was fitted to.

    Attributes
    ----------
    posterior : Posterior
    data : Data
        The real rows, with outcomes or labels as the user knows them.
    seed : int
    other : ChunkAlgorithm, optional
        What fits, for a posterior from a file, which holds what predicts alone.
    """

    posterior: Posterior
    data: Data
    seed: int
    other: ChunkAlgorithm | None = None

    @classmethod
    def of(cls, posterior: Posterior, data: Data, random_state: Any, algorithm: Any = None) -> Case:
        """A posterior with its rows, which must be as many as it was drawn from.

        Parameters
        ----------
        posterior : Posterior
        data : Data
        random_state : seed of the diagnosis
        algorithm : Algorithm or ChunkAlgorithm, optional
            Not prepared yet; by default that of the posterior.
        """
        if round(data.n, 6) != round(posterior.provenance.n, 6):
            raise ValueError(
                f"data must be the rows that the posterior was drawn from, which had "
                f"{posterior.provenance.n:g}, got {data.n:g}: give those."
            )
        entropy = Seeds(random_state).entropy
        if algorithm is None:
            return cls(posterior, data, entropy)
        shared = Seeds(posterior.provenance.seed).shared()
        return cls(posterior, data, entropy, as_chunks(algorithm).prepare(data, shared)[0])

    @cached_property
    def algorithm(self) -> ChunkAlgorithm:
        """What fits, also where only predictions of draws are kept."""
        return as_chunks(self.posterior.algorithm) if self.other is None else self.other

    @property
    def first(self) -> Any:
        """The first fit of the posterior, where it is kept as a model of the algorithm."""
        known = self.posterior.kept_at is None and self.other is None
        return self.posterior.first if known else None

    def rng(self, part: int) -> Rng:
        """Randomness of one part of the diagnosis."""
        return Seeds(self.seed).part(part)

    @cached_property
    def outcomes(self) -> Array:
        """Outcomes as columns: numbers, or 1 for the class of a row, shape (n_rows, n_columns)."""
        return self.as_outcomes(self.data.y)

    def as_outcomes(self, y: NDArray[Any]) -> Array:
        """Outcomes of the user as columns."""
        classes = self.algorithm.traits.classes
        if classes is None:
            return as_columns(y)
        return np.asarray(np.asarray(y)[:, None] == np.asarray(classes)[None, :], dtype=np.float64)

    @cached_property
    def coded(self) -> Data:
        """The rows as `fit` takes them."""
        return self.algorithm.coded(self.data)

    @cached_property
    def folds(self) -> list[HeldOutFold]:
        """Every row held out once, by fits to all other rows and to halves of them."""
        rng, every = self.rng(0), np.arange(len(self.data.y))
        held_out, sets = self.dealt(every, N_FOLDS, rng), []
        for rows in held_out:
            others = np.setdiff1d(every, rows)
            sets += [others, *self.dealt(others, 2, rng)]
        models = self.fitted([part_of(self.coded, each) for each in sets], integer_seed(rng))
        return [self._fold(rows, models[3 * k : 3 * k + 3]) for k, rows in enumerate(held_out)]

    def dealt(self, rows: NDArray[np.intp], n_parts: int, rng: Rng) -> list[NDArray[np.intp]]:
        """Rows in random parts of equal size; every class goes to all parts as evenly as can be."""
        mixed = rng.permutation(rows)
        if self.algorithm.traits.classes is not None:
            codes = self.outcomes[mixed].argmax(axis=1)
            mixed = mixed[np.argsort(codes, kind="stable")]
        return [np.sort(mixed[part::n_parts]) for part in range(n_parts)]

    @cached_property
    def spread(self) -> float:
        """Mean posterior variance of predictions, summed over columns."""
        posterior = self.posterior
        if posterior.kept_at is None:
            return self.truths.variance
        if isinstance(posterior.kept_at, TablePrint):
            raise CannotTellError("The file holds only predictions of the draws at other rows.")
        values = posterior.predictions(posterior.kept_at).adjusted()
        return float(as_columns(values.var(axis=0, ddof=1)).sum(axis=1).mean())

    @cached_property
    def truths(self) -> Truths:
        """Some draws at all real rows, spread as intervals are, as many rows at a time as fit."""
        posterior, n = self.posterior, len(self.data.y)
        if posterior.kept_at is not None:
            raise CannotTellError(
                "Only predictions of the draws were kept (predict_on): fit without it to have this."
            )
        n_draws = len(posterior)
        places = self.rng(3).choice(n_draws, MOST_TRUTHS, replace=n_draws < MOST_TRUTHS)
        n_parts = -(-n * n_draws * self.outcomes.shape[1] // MOST_NUMBERS)
        values, means, variances = [], [], []
        for part in np.array_split(np.arange(n), n_parts):
            spread = self.spread_at(self.data.select(part).x).reshape(n_draws, len(part), -1)
            values.append(spread[places])
            means.append(spread.mean(axis=0))
            variances.append(spread.var(axis=0, ddof=1).sum(axis=1))
        variance = float(np.concatenate(variances).mean())
        return Truths(places, np.concatenate(values, axis=1), np.concatenate(means), variance)

    def spread_at(self, x: Table) -> Array:
        """Predictions of the draws, spread as intervals are, shape (n_draws, n_rows, ...)."""
        return self.spread_of(self.posterior, x)

    def spread_of(self, posterior: Posterior, x: Table) -> Array:
        """Predictions of the draws of any posterior, spread as intervals of this one are."""
        calibration = self.posterior.calibration
        return replace(posterior, calibration=calibration).predictions(x).adjusted()

    def imputing(self, models: Sequence[Any], x: Table, of_draws: bool = False) -> list[Any]:
        """Distributions that fits, or draws of the posterior, impute outcomes from."""
        algorithm = as_chunks(self.posterior.algorithm) if of_draws else self.algorithm
        found = algorithm.predictives(models, x)
        plain = getattr(self.algorithm, "algorithm", self.algorithm)
        corrected = getattr(plain, "recalibration", None)
        if corrected is None:
            return found
        # labels are imputed from other probabilities than predicted
        return [
            replace(each, probabilities=corrected.applied(each.probabilities)) for each in found
        ]

    def _fold(self, rows: NDArray[np.intp], models: list[Any]) -> HeldOutFold:
        x = self.data.select(rows).x
        few = evenly(len(rows), MOST_RANKED)
        (predictive,) = self.imputing(models[:1], self.data.select(rows[few]).x)
        whole, *halves = (as_columns(self.algorithm.predict([each], x)[0]) for each in models)
        return HeldOutFold(
            rows, few, predictive, whole, np.mean(halves, axis=0), np.var(halves, axis=0)
        )

    def fitted(self, sets: Sequence[Data], seed: int) -> list[Any]:
        """First fits to some data sets, as many at a time as the algorithm takes.

        A place in a chunk has the same random numbers at every call.
        """
        size, models = self.algorithm.traits.chunk, []
        for start in range(0, len(sets), size):
            part = list(sets[start : start + size])
            filled = part + part[-1:] * (size - len(part))
            streams = Seeds(seed).streams(range(size), 0).at(0)
            found = self._near(filled, streams)
            models += [found[place] for place in range(len(part))]
        return models

    def _near(self, sets: list[Data], streams: Streams) -> Any:
        """Fits of a whole chunk, which may start at the first fit to all rows where it is kept."""
        if self.first is None:
            return self.algorithm.fit(sets, streams)
        return self.algorithm.fit_near(sets, [self.first] * len(sets), streams)

    def gathered(self, name: str) -> Array:
        """A column of all folds ("whole", "halves" or "apart") in the order of the rows."""
        found = np.empty(self.outcomes.shape)
        for fold in self.folds:
            found[fold.rows] = getattr(fold, name)
        return found


def part_of(data: Data, rows: NDArray[np.intp]) -> Data:
    """Some observations that refer to the table of all, as resampled ones do."""
    count = None if data.count is None else data.count[rows]
    return replace(data, index=data.positions[rows], y=data.y[rows], count=count)


def as_columns(values: Any) -> Array:
    """Numbers with rows and columns."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers.reshape(len(numbers), -1)
