"""Mechanisms: how nodes depend on their parents, for a chunk of draws.

A `Mechanism` is the conditional model of one or several nodes. `LearnedMechanism` makes one from
any algorithm of the library; `diffusion_mechanism.py` has the diffusion models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.noise_levels import noise_at, outcome_at
from nearbayes.causal.variables import Variable
from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.lifting import as_chunks
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.seeds import Streams

__all__ = ["LearnedMechanism", "Mechanism", "Step"]

Array = NDArray[np.float64]


class Step(NamedTuple):
    """Arguments of a mechanism's refit; rows have shape (n_rows, n_nodes).

    Attributes
    ----------
    rows : list of arrays
        All rows of every draw; those of `new` are last.
    new : list of arrays
        The imputed rows.
    ghosts : list of arrays
        Further rows sampled from the last fit, from which nothing is learned.
    total : float
        Number of rows, real and imputed.
    """

    rows: Sequence[Array]
    new: Sequence[Array]
    ghosts: Sequence[Array]
    total: float


class Mechanism(ABC):
    """The conditional model of some nodes; models of a chunk are indexed as in `ChunkAlgorithm`."""

    nodes: tuple[str, ...]
    needs_ghosts: bool = False
    moves_in_small_blocks: bool = False  # a refit starts at the last fit, and should stay near it

    @property
    def traits(self) -> Traits:
        """What the mechanism declares about itself."""
        return Traits()

    @abstractmethod
    def prepare(self, rows: Array, rng: Rng) -> Self:
        """Learn once, from real rows, what all draws share."""

    @abstractmethod
    def fit(self, rows: Sequence[Array], streams: Streams) -> Any:
        """First fits, to the rows of every draw."""

    @abstractmethod
    def refit(self, step: Step, models: Any, streams: Streams) -> Any:
        """Fit every draw again."""

    def impute(self, models: Any, node: str, rows: Array, streams: Streams) -> Array:
        """Imputed values of a node for learning, shape (n_draws, n_rows)."""
        noise = np.stack([rng.standard_normal(rows.shape[1]) for rng in streams])
        return self.sample(models, node, rows, noise)

    @abstractmethod
    def sample(self, models: Any, node: str, rows: Array, noise: Array) -> Array:
        """Values of a node, shape (n_draws, n_rows), from standard normal noise of that shape.

        `rows` has shape (n_draws, n_rows, n_nodes), with the parents filled in. With the
        same noise, draws differ only in what they learned.
        """

    @abstractmethod
    def noise_of(self, models: Any, node: str, rows: Array, rng: Rng) -> Array:
        """Noise that leads to the values of the rows: the inverse of `sample`."""

    def finish(self, models: Any) -> Any:
        """The part of the draws to keep."""
        return models

    def for_method(self, method: str) -> Self:
        """The mechanism in the form for methods that need draws of a prior."""
        raise TypeError(
            f"method {method!r} needs draws of a prior, which {type(self).__name__} lacks: use "
            "nearbayes.causal.DiffusionSCM, or another method."
        )


@dataclass(frozen=True)
class LearnedMechanism(Mechanism):
    """One node by an algorithm of the library: a regressor with noise, or a classifier.

    Parameters
    ----------
    node : Variable
    parents : tuple of Variable
    places : tuple of int
        Columns of the parents in the rows.
    place : int
        Column of the node.
    algorithm : ChunkAlgorithm
    real : Data, optional
        The real rows, once they are known.
    spreads : bool
        Whether integers are replaced for learning by numbers that round to them; not if the
        algorithm has a distribution of counts.
    """

    node: Variable
    parents: tuple[Variable, ...]
    places: tuple[int, ...]
    place: int
    algorithm: ChunkAlgorithm
    real: Data | None = None
    spreads: bool = True

    @classmethod
    def of(
        cls,
        name: str,
        graph: CausalGraph,
        variables: Mapping[str, Variable],
        algorithm: Any,
        *,
        spreads: bool = True,
    ) -> LearnedMechanism:
        """The mechanism of a node."""
        causes = graph.parents[name]
        places = tuple(map(graph.nodes.index, causes))
        parents = tuple(variables[each] for each in causes)
        place = graph.nodes.index(name)
        chunks = as_chunks(algorithm)
        return cls(variables[name], parents, places, place, chunks, spreads=spreads)

    @property
    def nodes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The node."""
        return (self.node.name,)

    @property
    def traits(self) -> Traits:
        """Those of the algorithm."""
        return self.algorithm.traits

    def for_method(self, method: str) -> LearnedMechanism:
        """That of the algorithm."""
        return replace(self, algorithm=self.algorithm.for_method(method))

    def prepare(self, rows: Array, rng: Rng) -> LearnedMechanism:
        """Learn what the algorithm shares among draws, such as noise."""
        algorithm, real = self.algorithm.prepare(self._data(rows), rng)
        return replace(self, algorithm=algorithm, real=real)

    def fit(self, rows: Sequence[Array], streams: Streams) -> Any:
        """First fits."""
        return self.algorithm.fit([self._prepared(each) for each in rows], streams)

    def refit(self, step: Step, models: Any, streams: Streams) -> Any:
        """Fit real and imputed rows."""
        data = [replace(self._prepared(each), real=self.real) for each in step.rows]
        x = [Rows.every(self._table(each)) for each in step.new]
        pairs = zip(data, step.new, strict=True)
        new = Blocks(x, [each.y[len(each.y) - len(rows) :] for each, rows in pairs], step.total)
        return self.algorithm.refit(data, new, models, streams)

    def impute(self, models: Any, node: str, rows: Array, streams: Streams) -> Array:
        """Outcomes imputed by the algorithm."""
        x = [Rows.every(self._table(each)) for each in rows]
        drawn = self.algorithm.sample(models, x, streams)
        return self._whole(np.stack([self._values(np.asarray(each)) for each in drawn]))

    def sample(self, models: Any, node: str, rows: Array, noise: Array) -> Array:
        """Quantiles of the predictive distributions at the levels of the noise."""
        pairs = zip(self._predictives(models, rows), noise, strict=True)
        return self._whole(np.stack([outcome_at(*each) for each in pairs]))

    def noise_of(self, models: Any, node: str, rows: Array, rng: Rng) -> Array:
        """Levels of the outcomes in their predictive distributions."""
        share = rng.random((rows.shape[1],))  # the same for all draws
        width = 1.0 if self.node.kind == "integer" else 0.0
        pairs = zip(self._predictives(models, rows), rows[:, :, self.place], strict=True)
        return np.stack([noise_at(known, each, share, width) for known, each in pairs])

    def finish(self, models: Any) -> Any:
        """The part that the algorithm keeps."""
        return self.algorithm.finish(models)

    def _predictives(self, models: Any, rows: Array) -> list[Any]:
        """Distribution of the node in every row of every draw."""
        found = []
        for k, each in enumerate(rows):
            found += self.algorithm.predictives([models[k]], self._table(each))
        return found

    def _whole(self, values: Array) -> Array:
        """Integers stay integers, within the range of the data."""
        return self.node.whole(values) if self.node.kind == "integer" else values

    def _table(self, rows: Array) -> Array:
        parts = [v.inputs(rows[:, k]) for v, k in zip(self.parents, self.places, strict=True)]
        return np.concatenate(parts, axis=1)

    def _data(self, rows: Array) -> Data:
        return Data.of(self._table(rows), self._outcome(rows))

    def _outcome(self, rows: Array) -> NDArray[Any]:
        y = rows[:, self.place]
        if self.node.kind == "category":
            return y.astype(np.intp)
        return self.node.spread(y) if self.spreads else y

    # Networks store statistics of outcomes instead of outcomes.

    def _prepared(self, rows: Array) -> Data:
        return replace(self._data(rows), y=self._statistics(rows))

    def _statistics(self, rows: Array) -> NDArray[Any]:
        outcomes = getattr(self.algorithm, "outcomes", None)
        y = self._outcome(rows)
        return y if outcomes is None else np.asarray(outcomes.statistics(y))

    def _values(self, drawn: NDArray[Any]) -> NDArray[Any]:
        outcomes = getattr(self.algorithm, "outcomes", None)
        return drawn if outcomes is None else np.asarray(outcomes.values(drawn))
