"""Diffusion mechanism: conditional diffusion models of all numeric nodes, trained together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.causal.diffusion import decoded, encoded
from nearbayes.causal.diffusion_training import (
    PIECE,
    Columns,
    Training,
    bank_of,
    first_fits,
    held_out_losses,
    refits,
)
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.mechanisms import Mechanism, Step
from nearbayes.causal.variables import Variable
from nearbayes.compiled.shapes import padded_size
from nearbayes.core.protocols import DrawsFailedError, Rng, Traits
from nearbayes.core.seeds import Streams
from nearbayes.neural.chunks import CHUNK, Optimiser
from nearbayes.neural.keys import folded, keys_of
from nearbayes.neural.network import MLP, Activation, Network
from nearbayes.neural.priors import with_prior_function
from nearbayes.neural.training import starts_of

__all__ = ["DiffusionMechanism", "DiffusionModels"]

Array = NDArray[np.float64]
NEAR, FAR = 0.1, 1.0  # how far values may be beyond the data, in ranges of the data
ROWS_AT_ONCE = 4_096
LOOKS = 8  # times at which held-out rows are evaluated
# A refit of s steps is compared with the last fit at s^2 / 64 points. With 1,024 points and
# 1,000 steps, networks diverged between the points: at n = 1,000 intervals were 10 times too
# wide. With 4 or 8 points per step they were still 2 times too wide.
STEPS_SQUARED_PER_POINT, FEWEST_POINTS, MOST_POINTS = 64, 1_024, 65_536
# Points of a push: with half as many, the variance by times and noise is a third of that by rows.
POINTS_PER_ROW = 16
DIVERGED = "training diverged: lower learning_rate, or check the data for extreme values."


@dataclass(frozen=True, eq=False)
class DiffusionModels:
    """Networks of draws, arrays of shape (n_draws, n_nodes, n_parameters)."""

    parameters: NDArray[np.float32]
    divisor: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, place: Any) -> DiffusionModels:
        return DiffusionModels(self.parameters[place], self.divisor[place])

    @classmethod
    def joined(cls, draws: Sequence[DiffusionModels]) -> DiffusionModels:
        """Several draws as one chunk."""
        return cls(
            np.concatenate([each.parameters for each in draws]),
            np.concatenate([each.divisor for each in draws]),
        )


@dataclass(frozen=True)
class DiffusionMechanism(Mechanism):
    """One diffusion model per node; see `diffusion_training.py`.

    Parameters
    ----------
    graph : CausalGraph
    variables : mapping of str to Variable
    nodes : tuple of str
        Nodes that are modelled here.
    width, depth : int
        Width and number of hidden layers.
    activation : "swish", "selu", "tanh" or "relu"
    optimiser : Optimiser
    n_iterations : int, optional
        Steps of the first fit; by default chosen by held-out rows.
    most_iterations : int
    centred : bool
        Whether refits subtract the drift of the model's own samples.
    prior : str, optional
        "anchored" or "ntkgp".
    """

    graph: CausalGraph
    variables: Mapping[str, Variable]
    nodes: tuple[str, ...]
    width: int = 64
    depth: int = 2
    activation: Activation = "swish"
    optimiser: Optimiser = field(default_factory=Optimiser)
    n_iterations: int | None = None
    most_iterations: int = 4_000
    centred: bool = True
    prior: str | None = None
    n_rows: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    moves_in_small_blocks = True

    @property
    def needs_ghosts(self) -> bool:  # type: ignore[override]
        """Centred refits need ghosts."""
        return self.centred

    @property
    def traits(self) -> Traits:
        """Draws start at random and train together."""
        return Traits(
            randomised=True, chunk=CHUNK, runs_in="threads", packages=("jax", "equinox", "optax")
        )

    def for_method(self, method: str) -> DiffusionMechanism:
        """Regularise towards draws of the prior."""
        return replace(self, prior=method)

    @property
    def network(self) -> Network:
        """Its inputs are rows of (x_t, parents, time); nodes with fewer parents get zeros."""
        plain = MLP(2 + self._parent_width, 1, (self.width,) * self.depth, self.activation)
        return with_prior_function(plain) if self.prior == "ntkgp" else plain

    @property
    def _parent_width(self) -> int:
        return max(self._width_of(node) for node in self.nodes)

    def _width_of(self, node: str) -> int:
        return sum(self.variables[each].width for each in self.graph.parents[node])

    # -- learned once ---------------------------------------------------------------------------

    def prepare(self, rows: Array, rng: Rng) -> DiffusionMechanism:
        """Choose the number of iterations by held-out rows."""
        columns = {node: self._column(node, rows) for node in self.nodes}
        ranges = {node: (float(x.min()), float(x.max())) for node, x in columns.items()}
        known = replace(self, n_rows=len(rows), ranges=ranges)
        if self.n_iterations is not None:
            return known
        return replace(known, n_iterations=known._stopped(rows, rng))

    def _stopped(self, rows: Array, rng: Rng) -> int:
        """Number of iterations with the lowest loss on held-out rows, over nodes and splits."""
        streams = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=CHUNK)]
        orders = [each.permutation(len(rows)) for each in streams]
        seen = [rows[order[len(rows) // 5 :]] for order in orders]
        others = [rows[order[: max(1, len(rows) // 5)]] for order in orders]
        keys = self._keys(streams)
        starts = starts_of(self.network, keys)
        training, centre = Training.begin(starts), None if self.prior is None else starts
        columns, held_out = self._columns(seen), self._columns(others)
        block = max(1, self.most_iterations // LOOKS)
        losses = []
        for look in range(LOOKS):
            seeds = folded(keys, 2 + look)
            training = first_fits(
                self.network, self._first_optimiser, columns, training, seeds, block, centre
            )
            found = held_out_losses(self.network, training.average, held_out, keys, 1_024)
            losses.append(float(np.mean(found)) if np.isfinite(found).all() else np.inf)
            if look + 1 >= 3 and min(losses[:-2]) < min(losses[-2:]):
                break
        return block * (1 + int(np.argmin(losses)))

    @property
    def _first_optimiser(self) -> Optimiser:
        if self.prior is None:
            return self.optimiser
        return replace(self.optimiser, decay=0.0, penalty=1.0)

    # -- the methods ----------------------------------------------------------------------------

    def fit(self, rows: Sequence[Array], streams: Streams) -> DiffusionModels:
        """Train every node of every draw."""
        keys = self._keys(streams)
        starts = starts_of(self.network, keys)
        training = first_fits(
            self.network,
            self._first_optimiser,
            self._columns(rows),
            Training.begin(starts),
            folded(keys, 1),
            self._iterations,
            None if self.prior is None else starts,
        )
        return self._models(training.average, training.now.step_sizes())

    def refit(self, step: Step, models: DiffusionModels, streams: Streams) -> DiffusionModels:
        """Update every node of every draw with its new rows."""
        parameters, divisor = self._flat(models.parameters), self._flat(models.divisor)
        size = len(step.new[0])
        steps = max(1, round(self._iterations * size / self.n_rows))
        n_points = padded_size(min(steps**2 // STEPS_SQUARED_PER_POINT, MOST_POINTS), FEWEST_POINTS)
        bank = bank_of(
            self.network,
            parameters,
            self._points(step.rows, n_points, streams),
            self._columns(step.new),
            self._columns(step.ghosts) if self.centred else None,
            size / len(step.rows[0]),
            self._keys(streams),
            -(-POINTS_PER_ROW * size // PIECE),
        )
        fits = refits(self.network, self.optimiser, bank, parameters, divisor, steps)
        return self._models(fits.parameters, divisor)

    def impute(self, models: DiffusionModels, node: str, rows: Array, streams: Streams) -> Array:
        """Sample near the data."""
        noise = np.stack([rng.standard_normal(rows.shape[1]) for rng in streams])
        return self._sampled(models, node, rows, noise, NEAR)

    def sample(self, models: DiffusionModels, node: str, rows: Array, noise: Array) -> Array:
        """Decode the noise."""
        return self._sampled(models, node, rows, noise, FAR)

    def _sampled(
        self,
        models: DiffusionModels,
        node: str,
        rows: Array,
        noise: Array,
        beyond: float,
    ) -> Array:
        parameters = models.parameters[:, self.nodes.index(node)]
        low, high = self.ranges[node]
        limits = low - beyond * (high - low), high + beyond * (high - low)

        def decode(values: Any, parents: Any) -> Any:
            return decoded(self.network, parameters, values, parents, limits)

        return self.variables[node].unstandard(self._in_parts(decode, node, noise, rows))

    def noise_of(self, models: DiffusionModels, node: str, rows: Array, rng: Rng) -> Array:
        """Encode the values; integers are first spread over the numbers that round to them."""
        variable = self.variables[node]
        values = rows[..., self.graph.nodes.index(node)]
        if variable.kind == "integer":
            values = values + rng.uniform(-0.5, 0.5, values.shape[-1])
        parameters = models.parameters[:, self.nodes.index(node)]

        def encode(values: Any, parents: Any) -> Any:
            return encoded(self.network, parameters, values, parents)

        return self._in_parts(encode, node, variable.standard(values), rows)

    def _in_parts(self, move: Any, node: str, values: Array, rows: Array) -> Array:
        """Convert values given the parents, some rows at a time, padded to few shapes."""
        parents = self._parents(node, rows)
        found = []
        for start in range(0, values.shape[1], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            n = values[:, part].shape[1]
            more = padded_size(n) - n
            x = np.pad(values[:, part], ((0, 0), (0, more)))
            given = np.pad(parents[:, part], ((0, 0), (0, more), (0, 0)))
            found.append(np.asarray(move(x, given), np.float64)[:, :n])
        return np.concatenate(found, axis=1)

    # -- arrays ---------------------------------------------------------------------------------

    @property
    def _iterations(self) -> int:
        assert self.n_iterations is not None
        return self.n_iterations

    def _keys(self, streams: Sequence[np.random.Generator]) -> Any:
        """One key per draw and node, shape (n_draws * n_nodes, 2)."""
        keys = keys_of(streams)
        by_node = [folded(keys, 1_000 + k) for k in range(len(self.nodes))]
        return self._flat(np.stack(by_node, axis=1))

    def _flat(self, values: Any) -> Any:
        """Draws and nodes as one axis."""
        return values.reshape(-1, *values.shape[2:])

    def _models(self, parameters: Any, divisor: Any) -> DiffusionModels:
        """Draws and nodes as two axes; draws that diverged fail."""
        shape = (-1, len(self.nodes), parameters.shape[1])
        found = DiffusionModels(parameters.reshape(shape), divisor.reshape(shape))
        bad = np.flatnonzero(~np.isfinite(found.parameters).all(axis=(1, 2)))
        if len(bad):
            raise DrawsFailedError({int(k): FloatingPointError(DIVERGED) for k in bad})
        return found

    def _parents(self, node: str, rows: Array) -> Array:
        """Parents of a node as network inputs, padded, shape (..., n_parent_columns)."""
        causes = self.graph.parents[node]
        places = map(self.graph.nodes.index, causes)
        parts = [
            self.variables[c].inputs(rows[..., k]) for c, k in zip(causes, places, strict=True)
        ]
        filled = np.zeros((*rows.shape[:-1], self._parent_width))
        filled[..., : self._width_of(node)] = np.concatenate(parts, axis=-1)
        return filled

    def _column(self, node: str, rows: Array) -> Array:
        """A node in standard units."""
        variable = self.variables[node]
        return variable.standard(variable.spread(rows[..., self.graph.nodes.index(node)]))

    def _columns(self, rows: Sequence[Array]) -> Columns:
        """Rows of every draw and node, padded to few shapes."""
        size = padded_size(max(map(len, rows)))
        x, parents = [], []
        for each in rows:
            more = size - len(each)
            for node in self.nodes:
                x.append(np.pad(self._column(node, each), (0, more)))
                parents.append(np.pad(self._parents(node, each), ((0, more), (0, 0))))
        counts = np.repeat([len(each) for each in rows], len(self.nodes)).astype(np.int32)
        return Columns(np.stack(x).astype(np.float32), np.stack(parents).astype(np.float32), counts)

    def _points(self, rows: Sequence[Array], size: int, streams: Streams) -> Columns:
        """A given number of rows of every draw, equally frequent, shuffled for minibatches."""
        chosen = []
        for each, rng in zip(rows, streams, strict=True):
            place = rng.permutation(np.arange(size) + rng.random()) / size
            chosen.append(each[np.minimum((place * len(each)).astype(np.intp), len(each) - 1)])
        return self._columns(chosen)
