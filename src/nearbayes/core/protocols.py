"""The protocols: what the engine knows of an algorithm and of inputs, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Block, Counts, Data, Rows
from nearbayes.core.schedule import Schedule
from nearbayes.core.tables import Table

__all__ = [
    "Algorithm",
    "BatchedAlgorithm",
    "BatchedPaths",
    "Finishes",
    "Inputs",
    "Predicts",
    "PrefersSchedule",
    "Prepares",
    "Reveals",
]

Rng = np.random.Generator
Model = Any


@runtime_checkable
class Algorithm(Protocol):
    r"""Anything that can fit, refit and sample (the paper's :math:`A_0, A, p_\theta`).

    One draw at a time; runs in any executor, so it must pickle. Models are values: no verb changes
    the model, the data or the algorithm it is given, and all randomness comes from `rng`.
    """

    @property
    def accepts_counts(self) -> Counts:
        """Which short form of repeated inputs `refit` takes (see `Data.extend`); False: none."""

    @property
    def randomised(self) -> bool:
        """Whether the first fit differs from draw to draw (network initialisation, samplers)."""

    def fit(self, data: Data, rng: Rng) -> Model:
        r"""First fit, :math:`\theta_n = A_0(D_n)` (Algorithm 1, step 1)."""

    def refit(self, data: Data, new: Block, model: Model, rng: Rng) -> Model:
        r"""Fit again, :math:`\theta_{j+1} = A(D_{j+1}; \theta_j)` (step 2b).

        `data` holds all observations, those of `new` too; `model` is there to start from.
        """

    def sample(self, model: Model, x: Rows, rng: Rng) -> NDArray[Any]:
        r"""Impute, :math:`\hat y \sim p_\theta(\cdot \mid \hat x)` (step 2a), one per row."""


@runtime_checkable
class BatchedAlgorithm(Protocol):
    """The same three verbs for all draws at once: every model array has a leading draw axis.

    The engine keeps no imputed rows: what an algorithm needs of them it keeps in its models, so
    memory does not grow with the horizon. ``models[k]`` is draw k.
    """

    def fit_batch(self, data: Data, n_draws: int, rng: Rng) -> Sequence[Model]:
        """First fit of every draw."""

    def refit_batch(
        self, data: Data, new: Block, models: Sequence[Model], rng: Rng
    ) -> Sequence[Model]:
        """Fit every draw again. `data` holds the real observations; `new.total` counts all."""

    def sample_batch(self, models: Sequence[Model], x: Rows, rng: Rng) -> NDArray[Any]:
        """Impute a block for every draw: rows, or sufficient statistics of them."""


@runtime_checkable
class BatchedPaths(Protocol):
    """The same three verbs for all draws at once, each with imputed inputs of its own.

    Every draw has its own random numbers, so that draw k is the same for any number of draws.
    ``models[k]`` is draw k, ``models[j:k]`` some of them. Verbs may run in several threads.
    """

    @property
    def accepts_counts(self) -> Counts:
        """As in `Algorithm`."""

    def fit_paths(self, data: Data, rngs: Sequence[Rng]) -> Sequence[Model]:
        """First fit of every draw to the real rows."""

    def sample_paths(
        self, models: Sequence[Model], x: Sequence[Rows], rngs: Sequence[Rng]
    ) -> NDArray[Any]:
        """Impute a block for every draw, shape (n_draws, size, ...)."""

    def refit_paths(
        self,
        data: Sequence[Data],
        new: Sequence[Block],
        models: Sequence[Model],
        rngs: Sequence[Rng],
    ) -> Sequence[Model]:
        """Fit every draw again to its real and imputed rows."""


@runtime_checkable
class Prepares(Protocol):
    """An algorithm that learns once, from real data, what all draws share (classes, noise)."""

    def prepare(self, data: Data, rng: Rng) -> tuple[Algorithm, Data]:
        """Give the algorithm and the data that the draws will use."""


@runtime_checkable
class Finishes(Protocol):
    """An algorithm that may keep less of a draw than its final model."""

    def finish(self, model: Model) -> Model:
        """Give what is kept of a final model, in the process that made it."""


@runtime_checkable
class PrefersSchedule(Protocol):
    """An algorithm for which measurement showed another default schedule to be better."""

    def preferred_schedule(self, n_refits: int | None) -> Schedule:
        """The default schedule with so many refits; None leaves their number open, too."""


@runtime_checkable
class Predicts(Protocol):
    """An algorithm whose models predict."""

    def predict(self, model: Model, x: Table) -> NDArray[np.float64]:
        """Predict at a table of inputs: (n_rows,), (n_rows, n_outputs) or (n_rows, n_classes)."""


@runtime_checkable
class Reveals(Protocol):
    """An algorithm whose models wrap what the user knows (the fitted estimator)."""

    def reveal(self, model: Model) -> Any:
        """Give what the user handed over, fitted."""


@runtime_checkable
class Inputs(Protocol):
    r"""Where imputed inputs :math:`\hat x` come from (Remark on supervised learning, section 2)."""

    def prepare(self, data: Data) -> Data:
        """Check that these inputs suit the data; may add unlabelled rows to refer to."""

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` input rows, given the real and imputed data so far."""
