"""Paths: how draws get from the data to the posterior. Each method is a path through the loop.

A path starts every draw of a chunk and then takes steps. The engine handles the loop, failures,
seeds and processes. Section 4 of the paper compares these methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Blocks, Data, Repeated, Rows, finite
from nearbayes.core.inputs import Urn, as_inputs
from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError, Inputs, Models
from nearbayes.core.seeds import Streams
from nearbayes.core.state import State, chosen

__all__ = ["Bootstrap", "Ensemble", "Martingale", "ParametricBootstrap", "Path", "checked_inputs"]

FirstFits = Callable[[State], Models]
Outcomes = Sequence[NDArray[Any]] | NDArray[Any]
MANY = 64  # draws per chunk; with at least so many, inputs are sampled for all of them at once
NOT_FINITE = "the model's predictions or samples contain NaN or infinity."


class Path(ABC):
    """A method: how draws start, and what one step does."""

    method: str
    n_steps: int = 0

    def start(self, algorithm: ChunkAlgorithm, state: State, first: FirstFits) -> State:
        """Begin with the first fits to the real rows, returned by ``first(state)``."""
        return state.moved(state.data, first(state), steps=0)

    @abstractmethod
    def step(self, algorithm: ChunkAlgorithm, state: State) -> State:
        """The state after one more step."""


@dataclass(frozen=True)
class Martingale(Path):
    """Impute a block, refit, repeat: the paper's Algorithm 1, step 2.

    Attributes
    ----------
    inputs : Inputs or None
        Where imputed x come from; None for data without inputs.
    blocks : tuple of int
        Rows to impute before each refit.
    """

    inputs: Inputs | None
    blocks: tuple[int, ...]
    method: str = "martingale"

    @property
    def n_steps(self) -> int:  # type: ignore[override]
        """One step per block."""
        return len(self.blocks)

    @cached_property
    def imputed_by(self) -> tuple[int, ...]:
        """Total number of imputed rows after each step."""
        return tuple(accumulate(self.blocks))

    def step(self, algorithm: ChunkAlgorithm, state: State) -> State:
        """Impute a block for every draw and refit to real and imputed rows."""
        data, traits, streams = state.data, algorithm.traits, state.streams.at(state.step + 1)
        size, total = self.blocks[state.step], data[0].n + self.imputed_by[state.step]
        new = imputed(algorithm, self.inputs, state, streams, size, total)
        if traits.keeps_rows:
            pairs = zip(data, new, strict=True)
            data = [each.extend(block, traits.counts) for each, block in pairs]
        return state.moved(data, algorithm.refit(data, new, state.models, streams))


@dataclass(frozen=True)
class ParametricBootstrap(Path):
    """Refit to n rows imputed from the first fit; real rows are discarded (section 4)."""

    inputs: Inputs | None
    method: str = "parametric_bootstrap"
    n_steps: int = 1

    def step(self, algorithm: ChunkAlgorithm, state: State) -> State:
        """Impute n rows for every draw and fit these alone."""
        traits, streams = algorithm.traits, state.streams.at(state.step + 1)
        size = round(state.data[0].n)
        new = imputed(algorithm, self.inputs, state, streams, size, size)
        if not traits.keeps_rows:  # a refit to this block alone
            return state.moved(state.data, algorithm.refit(state.data, new, state.models, streams))
        pairs = zip(state.data, new, strict=True)
        data = [each.replaced_by(block, traits.counts) for each, block in pairs]
        return state.moved(data, algorithm.fit(data, streams))


@dataclass(frozen=True)
class Ensemble(Path):
    """The same rows, fresh randomness of the algorithm (Lakshminarayanan et al., 2017)."""

    method: str = "ensemble"

    def step(self, algorithm: ChunkAlgorithm, state: State) -> State:
        """No steps: the first fits are the draws."""
        return state


@dataclass(frozen=True)
class Bootstrap(Path):
    """Fit rows that are resampled with replacement (bagging; App. A.3 of the paper)."""

    method: str = "bootstrap"

    def start(self, algorithm: ChunkAlgorithm, state: State, first: FirstFits) -> State:
        """Resample rows for every draw and fit them."""
        counts, streams = algorithm.traits.counts, state.streams.at(0)
        places = {number: place for place, number in enumerate(streams.draws)}
        rows = {
            number: state.data[place].resampled(streams[place], counts)
            for number, place in places.items()
        }
        data = [rows[number] for number in streams.draws]
        return state.moved(data, algorithm.fit(data, streams), steps=0)

    def step(self, algorithm: ChunkAlgorithm, state: State) -> State:
        """No steps: the fits to resampled rows are the draws."""
        return state


def imputed(
    algorithm: ChunkAlgorithm,
    inputs: Inputs | None,
    state: State,
    streams: Streams,
    size: int,
    total: float,
) -> Blocks:
    """Impute a block for every draw: inputs, then outcomes (Algorithm 1, step 2a).

    After it there are `total` rows, real and imputed.
    """
    x: Sequence[Rows]
    if inputs is None:
        x = Repeated(Rows.without_inputs(size), len(streams))
    elif _all_at_once(algorithm, inputs, state.data):
        x = inputs.sample_for_draws(state.data[0], size, len(streams), streams.chunk)  # type: ignore[attr-defined]
    else:
        pairs = zip(state.data, streams, strict=True)
        x = [inputs.sample(each, size, rng) for each, rng in pairs]
    return Blocks(x, sampled(algorithm, state, x, streams), total)


def _all_at_once(algorithm: ChunkAlgorithm, inputs: Inputs, data: Sequence[Data]) -> bool:
    """Whether one generator draws the inputs of all draws, as many have the same data."""
    alike = isinstance(data, Repeated) and not algorithm.traits.keeps_rows
    return alike and len(data) >= MANY and type(inputs).sample is Urn.sample


def sampled(
    algorithm: ChunkAlgorithm, state: State, x: Sequence[Rows], streams: Streams
) -> Outcomes:
    """Sample outcomes; a draw with NaN or infinite outcomes has failed."""
    y = algorithm.sample(state.models, x, streams)
    if isinstance(y, np.ndarray) and finite(y):
        return y
    bad = [place for place, each in enumerate(y) if not finite(each)]
    errors = {place: ValueError(NOT_FINITE) for place in bad if place not in state.failed}
    if errors:
        raise DrawsFailedError(errors)
    if bad:  # in places of draws that failed before, any finite outcomes are enough
        return chosen(y, [state.alive[0] if k in bad else k for k in range(len(y))])  # type: ignore[no-any-return]
    return y


def checked_inputs(inputs: Any, data: Data) -> tuple[Inputs | None, Data]:
    """Inputs for data with X, none for data without; and the data prepared for these inputs."""
    if data.table is not None:
        sampler = as_inputs(inputs)
        return sampler, sampler.prepare(data)
    if inputs is not None:
        raise ValueError("inputs must be None for data without X: there is no X to impute.")
    return None, data
