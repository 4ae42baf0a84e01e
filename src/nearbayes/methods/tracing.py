"""Tracer: records a few quantities along the paths of the first draws, while they are made.

An observer of the loop. Diagnostics use its records to check whether paths are martingales and
how their variance grows. It costs a few predictions per refit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm
from nearbayes.core.state import State, chosen
from nearbayes.draws.path_trace import MOST_DRAWS
from nearbayes.tables.table import Table

__all__ = ["Tracer", "evenly", "predicts"]

Array = NDArray[np.float64]
MOST_STEPS, MOST_ROWS, MOST_ENTRIES = 12, 16, 64


@dataclass(frozen=True)
class Tracer:
    """Records predictions at some rows, or the parameters of models that are vectors.

    Attributes
    ----------
    table : table, optional
        Rows to predict at; None for data without inputs.
    steps : tuple of int
        Steps to record.
    """

    table: Table | None
    steps: tuple[int, ...]

    @classmethod
    def of(cls, data: Data, n_steps: int) -> Tracer:
        """A tracer for some real rows and at most a dozen steps, including the first and the last.

        With sixteen rows, recording predictions is cheap compared with a refit.
        """
        table = None if data.table is None else data.select(evenly(len(data.y), MOST_ROWS)).x
        return cls(table, tuple(evenly(n_steps + 1, MOST_STEPS).tolist()))

    def __call__(
        self, algorithm: ChunkAlgorithm, state: State, places: Sequence[int]
    ) -> Mapping[int, Array]:
        """One vector per recorded draw, by its place; most steps and draws are not recorded."""
        if state.step not in self.steps:
            return {}
        draws = state.streams.draws  # in ascending order, but for copies of early ones
        early = list(takewhile(lambda place: draws[place] < MOST_DRAWS, places))
        if not early:
            return {}
        plain = getattr(algorithm, "chunks", algorithm)  # not one that only keeps predictions
        try:
            values = self._noted(plain, state, early)
        except Exception:
            # a model that cannot predict fails when the loop samples from it, which is reported
            return {}
        pairs = zip(early, values, strict=True)
        return {place: value for place, value in pairs if value is not None}

    def _noted(
        self, algorithm: ChunkAlgorithm, state: State, places: list[int]
    ) -> Sequence[Array | None]:
        if self.table is None or not predicts(algorithm):
            return [_as_vector(algorithm.reveal(state.models[place])) for place in places]
        every = algorithm.predict(state.models, self.table)  # of a whole chunk: shapes are known
        values = chosen(np.asarray(every, dtype=np.float64), places)
        if algorithm.traits.classes is not None:
            values = values[..., 1:]  # probabilities add up to 1
        flat = values.reshape(len(places), -1)
        return list(flat[:, evenly(flat.shape[1], MOST_ENTRIES)])


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """At most `most` of the first n places, evenly spaced, with both ends.

    Examples
    --------
    >>> evenly(3, 8).tolist(), evenly(101, 3).tolist()
    ([0, 1, 2], [0, 50, 100])
    """
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def predicts(algorithm: ChunkAlgorithm) -> bool:
    """Whether an algorithm has the optional method `predict`."""
    plain = getattr(algorithm, "algorithm", algorithm)
    kind = Algorithm if isinstance(plain, Algorithm) else ChunkAlgorithm
    return type(plain).predict is not kind.predict


def _as_vector(model: Any) -> Array | None:
    """A model that is a vector of numbers, or the first of them; None for any other."""
    if not isinstance(model, np.ndarray | float | int | np.number):
        return None
    vector = np.ravel(np.array(model, dtype=np.float64))  # a copy: it may be changed later
    return vector[evenly(len(vector), MOST_ENTRIES)]
