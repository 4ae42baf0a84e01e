r"""The graph as one algorithm: rows are imputed from causes to effects, and every node is refitted.

Algorithm 1 for a structural causal model. Roots are the inputs, which the Polya urn imputes; all
other nodes are the outcome. A draw is one model of the whole graph: mechanisms of all nodes, and
weights of the real rows for the roots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.interventions import Held
from nearbayes.causal.mechanisms import Mechanism, Step
from nearbayes.causal.variables import Variable
from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import Streams
from nearbayes.tables.table import Table

__all__ = ["GraphAlgorithm", "GraphModels"]

Array = NDArray[np.float64]
FEWEST_GHOSTS, GHOSTS_PER_ROW = 64, 0.5
N_NOISE = 32  # points of the noise over which predictions are averaged
HORIZON, BLOCK = 6.0, 0.25


@dataclass(frozen=True, eq=False)
class GraphModels(Sequence[Any]):
    """Draws of a chunk, or one of them.

    Attributes
    ----------
    mechanisms : tuple
        Models of every mechanism.
    weights : array of shape (n_draws, n_real_rows)
        Counts of the real rows in the urn of the roots.
    """

    mechanisms: tuple[Any, ...]
    weights: Array

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, place: Any) -> GraphModels:
        if isinstance(place, int | np.integer):
            first = range(len(self))[place]
            place = slice(first, first + 1)  # a draw keeps its axis, so that draws can be joined
        parts = tuple(_some(models, place) for models in self.mechanisms)
        return GraphModels(parts, self.weights[place])

    @classmethod
    def joined(cls, draws: Sequence[GraphModels]) -> GraphModels:
        """Several draws as one chunk."""
        parts = zip(*(each.mechanisms for each in draws), strict=True)
        weights = np.concatenate([each.weights for each in draws])
        return cls(tuple(_joined(part) for part in parts), weights)


def _joined(parts: Sequence[Any]) -> Any:
    """Models of some draws as those of one chunk: stacked, if their family can."""
    joined = getattr(type(parts[0]), "joined", None)
    return [model for part in parts for model in part] if joined is None else joined(parts)


def _some(models: Any, place: Any) -> Any:
    if isinstance(models, list):
        return models[place] if isinstance(place, slice) else [models[k] for k in place]
    return models[place]


@dataclass(frozen=True)
class GraphAlgorithm(ChunkAlgorithm):
    """A structural causal model.

    Parameters
    ----------
    graph : CausalGraph
    variables : mapping of str to Variable
    mechanisms : tuple of Mechanism
        Together, they contain every node with parents.
    schedule : Schedule, optional
    """

    graph: CausalGraph
    variables: Mapping[str, Variable]
    mechanisms: tuple[Mechanism, ...]
    schedule: Schedule | None = None

    @cached_property
    def traits(self) -> Traits:
        """The largest chunk of the mechanisms; threads, if all of them are compiled."""
        parts = [each.traits for each in self.mechanisms]
        packages = dict.fromkeys(name for part in parts for name in part.packages)
        threads = all(part.runs_in == "threads" for part in parts)
        return Traits(
            randomised=any(part.randomised for part in parts),
            chunk=max(part.chunk for part in parts),
            runs_in="threads" if threads else "processes",
            schedule=self._usual_schedule,
            packages=tuple(packages),
        )

    def _usual_schedule(self, n_refits: int | None) -> Schedule:
        if self.schedule is not None and n_refits is None:
            return self.schedule
        if n_refits is not None:
            return Schedule.optimal(refits=n_refits)
        if any(each.moves_in_small_blocks for each in self.mechanisms):
            return Schedule.arithmetic(horizon=HORIZON, block=BLOCK)
        return Schedule.optimal(refits=8)

    def for_method(self, method: str) -> GraphAlgorithm:
        """With mechanisms that use draws of a prior."""
        return replace(self, mechanisms=tuple(m.for_method(method) for m in self.mechanisms))

    # -- rows and data --------------------------------------------------------------------------

    @cached_property
    def _roots(self) -> list[int]:
        return [self.graph.nodes.index(node) for node in self.graph.roots]

    @cached_property
    def _effects(self) -> list[int]:
        return [self.graph.nodes.index(node) for node in self.graph.effects]

    def data_of(self, rows: Array) -> Data:
        """Rows of shape (n_rows, n_nodes) as inputs and outcomes."""
        return Data.of(rows[:, self._roots].copy(), rows[:, self._effects].copy())

    def _joined(self, roots: Array, effects: Array) -> Array:
        """Inputs and outcomes as rows, shape (..., n_nodes)."""
        rows = np.empty((*roots.shape[:-1], len(self.graph.nodes)))
        rows[..., self._roots], rows[..., self._effects] = roots, effects
        return rows

    def _rows(self, data: Data) -> Array:
        return self._joined(np.asarray(data.x), data.y)

    # -- the methods ----------------------------------------------------------------------------

    def prepare(self, data: Data, rng: Rng) -> tuple[GraphAlgorithm, Data]:
        """Every mechanism learns what its draws share."""
        rows = self._rows(data)
        return replace(self, mechanisms=tuple(m.prepare(rows, rng) for m in self.mechanisms)), data

    def fit(self, data: Sequence[Data], streams: Streams) -> GraphModels:
        """First fits of all nodes."""
        rows = [self._rows(each) for each in data]
        parts = tuple(each.fit(rows, streams) for each in self.mechanisms)
        return GraphModels(parts, np.stack([each.row_counts() for each in data]))

    def refit(
        self, data: Sequence[Data], new: Blocks, models: GraphModels, streams: Streams
    ) -> GraphModels:
        """Refit all nodes to their real and imputed rows."""
        rows = [self._rows(each) for each in data]
        imputed = [self._joined(np.asarray(each.x.values), each.y) for each in new]
        ghosts: Sequence[Array] = ()
        if any(each.needs_ghosts for each in self.mechanisms):
            ghosts = list(self._ghosts(rows, models, streams))
        step = Step(rows, imputed, ghosts, new.total)
        pairs = zip(self.mechanisms, models.mechanisms, strict=True)
        parts = tuple(each.refit(step, part, streams) for each, part in pairs)
        return GraphModels(parts, np.stack([each.row_counts() for each in data]))

    def _ghosts(self, rows: Sequence[Array], models: GraphModels, streams: Streams) -> Array:
        """Rows sampled from the last fit at roots that it has seen."""
        size = max(FEWEST_GHOSTS, int(GHOSTS_PER_ROW * models.weights.shape[1]))
        pairs = zip(rows, streams, strict=True)
        roots = [each[rng.integers(len(each), size=size)][:, self._roots] for each, rng in pairs]
        return self._imagined(models, np.stack(roots), streams)

    def sample(self, models: GraphModels, x: Sequence[Rows], streams: Streams) -> Array:
        """Effects of a block of roots, shape (n_draws, size, n_effects)."""
        roots = np.stack([np.asarray(each.values) for each in x])
        return self._imagined(models, roots, streams)[..., self._effects]

    def _imagined(self, models: GraphModels, roots: Array, streams: Streams) -> Array:
        """Rows for learning, causes before effects, shape (n_draws, n_rows, n_nodes)."""
        rows = self._joined(roots, np.zeros((*roots.shape[:-1], len(self._effects))))
        for node in self.graph.effects:
            mechanism, part = self._mechanism(node, models)
            rows[..., self.graph.nodes.index(node)] = mechanism.impute(part, node, rows, streams)
        return rows

    def _mechanism(self, node: str, models: GraphModels) -> tuple[Mechanism, Any]:
        place = next(k for k, each in enumerate(self.mechanisms) if node in each.nodes)
        return self.mechanisms[place], models.mechanisms[place]

    def finish(self, models: Sequence[GraphModels]) -> list[GraphModels]:
        """One draw at a time."""
        chunk = models if isinstance(models, GraphModels) else GraphModels.joined(models)
        pairs = zip(self.mechanisms, chunk.mechanisms, strict=True)
        kept = GraphModels(tuple(m.finish(part) for m, part in pairs), chunk.weights)
        return [kept[place] for place in range(len(kept))]

    def predict(self, models: Sequence[GraphModels], x: Table) -> Array:
        """Mean of every effect given the roots, shape (n_draws, n_rows, n_effects)."""
        roots = np.asarray(x, dtype=np.float64)
        points = ndtri(qmc.Sobol(len(self.graph.nodes), rng=0).random(N_NOISE))
        noise = np.repeat(points, len(roots), axis=0)
        tiled = np.tile(roots, (N_NOISE, 1))
        found = []
        for draws in self.chunks_of(models):
            rows = self.rows_under(draws, noise, np.repeat(tiled[None], len(draws), axis=0), {})
            shape = (len(draws), N_NOISE, len(roots), len(self.graph.nodes))
            found.append(rows.reshape(shape).mean(axis=1)[..., self._effects])
        return np.concatenate(found)[: len(models)]

    def chunks_of(self, draws: Sequence[GraphModels]) -> list[GraphModels]:
        """Draws in chunks of one size, with the last one padded."""
        size = self.traits.chunk
        filled = [*draws, *[draws[-1]] * (-len(draws) % size)]
        return [GraphModels.joined(filled[k : k + size]) for k in range(0, len(filled), size)]

    # -- rows under interventions ---------------------------------------------------------------

    def roots_of(self, models: GraphModels, real: Array, shares: Array) -> Array:
        """Roots of every draw, all real values, shape (n_draws, n_rows, n_roots).

        Values are sorted, so that the same share gives similar values in all draws.

        Parameters
        ----------
        models : GraphModels
        real : array of shape (n_real_rows, n_nodes)
        shares : array of shape (n_rows, n_nodes) or (n_draws, n_rows, n_nodes)
            Uniform numbers: the share of the real rows' weights.
        """
        shape = (len(models), *shares.shape[-2:])
        uniform = np.broadcast_to(shares, shape)
        found = np.empty((*shape[:2], len(self._roots)))
        for place, k in enumerate(self._roots):
            order = np.argsort(real[:, k], kind="stable")
            values, edges = real[order, k], np.cumsum(models.weights[:, order], axis=1)
            for draw, each in enumerate(uniform[..., k]):
                at = np.searchsorted(edges[draw], each * edges[draw, -1], side="right")
                found[draw, :, place] = values[np.minimum(at, len(values) - 1)]
        return found

    def rows_under(
        self,
        models: GraphModels,
        noise: Array,
        roots: Array,
        change: Mapping[str, Callable[[Array], Array]],
    ) -> Array:
        """Rows of every draw, with some nodes changed, shape (n_draws, n_rows, n_nodes).

        Parameters
        ----------
        models : GraphModels
        noise : array of shape (n_rows, n_nodes) or (n_draws, n_rows, n_nodes)
            Standard normal; roots have none.
        roots : array of shape (n_draws, n_rows, n_roots)
        change : mapping of str to callable
            Functions that change the values that a node would have had.
        """
        rows = self._joined(roots, np.zeros((*roots.shape[:-1], len(self._effects))))
        noise = np.broadcast_to(noise, rows.shape)
        for k, node in enumerate(self.graph.nodes):
            if self.graph.parents[node] and not isinstance(change.get(node), Held):
                mechanism, part = self._mechanism(node, models)
                rows[..., k] = mechanism.sample(part, node, rows, noise[..., k])
            if node in change:
                rows[..., k] = change[node](rows[..., k])
        return rows

    def rows_instead(
        self,
        models: GraphModels,
        rows: Array,
        change: Mapping[str, Callable[[Array], Array]],
        rng: Rng,
    ) -> Array:
        """Counterfactual rows: the noise of real rows is kept, and some nodes are changed.

        Parameters
        ----------
        models : GraphModels
        rows : array of shape (n_rows, n_nodes)
        change : mapping of str to callable
        rng : numpy.random.Generator

        Returns
        -------
        array of shape (n_draws, n_rows, n_nodes)
        """
        found = np.repeat(rows[None], len(models), axis=0)
        touched = {*change, *self.graph.descendants(change)}
        factual = found.copy()
        for k, node in enumerate(self.graph.nodes):
            if touched.intersection(self.graph.parents[node]):
                mechanism, part = self._mechanism(node, models)
                noise = mechanism.noise_of(part, node, factual, rng)
                again = mechanism.sample(part, node, factual, noise)
                instead = mechanism.sample(part, node, found, noise)
                # the error of inverting the noise is kept, so that unchanged rows stay the same
                is_code = self.variables[node].kind == "category"
                found[..., k] = instead if is_code else instead + factual[..., k] - again
            if node in change:
                found[..., k] = change[node](found[..., k])
        return found
