"""The protocols: all that the engine knows about algorithms and inputs.

Users write an `Algorithm`: three methods for one draw. The engine knows only `ChunkAlgorithm`: the
same methods for a chunk of draws that advance together. `lifting.as_chunks` converts the first to
the second. What an algorithm declares about itself is in its `Traits`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Block, Blocks, Counts, Data, Rows
from nearbayes.core.schedule import Schedule, captured, usual_schedule
from nearbayes.core.seeds import Streams
from nearbayes.draws.credible import Link
from nearbayes.tables.table import Table

__all__ = ["Algorithm", "ChunkAlgorithm", "DrawsFailedError", "Inputs", "Model", "Rng", "Traits"]

Rng = np.random.Generator
Model = Any
Models = Any  # of a chunk: a sequence, or an array with a draw axis; each family chooses


@dataclass(frozen=True)
class Traits:
    """What an algorithm declares about itself.

    Attributes
    ----------
    counts : False, "labels" or "means"
        Which short form of repeated inputs `refit` takes (see `Data.extend`); False: none. Declare
        it only if the fit equals that of the repeated rows exactly.
    randomised : bool
        Whether the first fit differs from draw to draw (network initialisation, samplers).
    chunk : int
        Number of draws that advance together. Constant for the family, because shapes, and
        therefore bits, depend on it.
    keeps_rows : bool
        Whether `refit` needs the imputed rows of earlier blocks. False if models hold all that
        is needed, so that memory does not grow with the horizon.
    growth : float
        The time of a fit grows with this power of its rows; used to estimate the cost.
    runs_in : "processes" or "threads"
        Where several chunks run in parallel. Compiled programs run in threads.
    link : "identity", "log" or "logit"
        Scale on which predictions are spread to correct for the truncated schedule.
    calibrate : bool
        Whether the learner's bias is too large for uncalibrated intervals to cover; they are then
        calibrated by default.
    own_variance : bool
        Whether the predictive variance of a draw already includes the draw's own uncertainty.
    classes : array of shape (n_classes,), optional
        Names of the last axis of predictions, if these are class probabilities.
    schedule : callable
        ``schedule(n_refits)`` returns the default schedule; with None it chooses the number of
        refits.
    captured : callable
        ``captured(n, blocks)`` is the share of the posterior variance that the blocks capture; by
        default that of one refit per block (App. C).
    packages : tuple of str
        Packages whose versions are recorded in the provenance.
    """

    counts: Counts = False
    randomised: bool = False
    chunk: int = 1
    keeps_rows: bool = True
    growth: float = 1.0
    runs_in: Literal["processes", "threads"] = "processes"
    link: Link = "identity"
    calibrate: bool = False
    own_variance: bool = False
    classes: NDArray[Any] | None = None
    schedule: Callable[[int | None], Schedule] = usual_schedule
    captured: Callable[[float, Sequence[int]], float] = captured
    packages: tuple[str, ...] = ()


class Algorithm(ABC):
    r"""Anything that can fit, refit and sample (the paper's :math:`A_0, A, p_\theta`).

    One draw at a time. `fit` and `sample` are required; by default `refit` calls `fit`, and the
    other methods are optional. Models are values: no method changes the model, the data or the
    algorithm it is given, and all randomness comes from `rng`. An algorithm runs in any executor,
    so it must pickle.
    """

    @property
    def traits(self) -> Traits:
        """What the algorithm declares about itself."""
        return Traits()

    @abstractmethod
    def fit(self, data: Data, rng: Rng) -> Model:
        r"""First fit, :math:`\theta_n = A_0(D_n)` (Algorithm 1, step 1)."""

    def refit(self, data: Data, new: Block, model: Model, rng: Rng) -> Model:
        r"""Fit again, :math:`\theta_{j+1} = A(D_{j+1}; \theta_j)` (step 2b).

        `data` holds all observations, including those of `new`; the fit may start from `model`.
        """
        return self.fit(data, rng)

    @abstractmethod
    def sample(self, model: Model, x: Rows, rng: Rng) -> NDArray[Any]:
        r"""Impute, :math:`\hat y \sim p_\theta(\cdot \mid \hat x)` (step 2a), one per row."""

    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Learn once, from real data, what all draws share (classes, noise)."""
        return self, data

    def coded(self, data: Data) -> Data:
        """Convert the user's rows to the form that `fit` takes (class codes), after `prepare`."""
        return data

    def finish(self, model: Model) -> Model:
        """Return the part of a final model to keep, in the process that made it."""
        return model

    def reveal(self, model: Model) -> Any:
        """Return a model as the user knows it: the fitted estimator."""
        return model

    def predict(self, model: Model, x: Table) -> NDArray[np.float64]:
        """Predict at a table of inputs: (n_rows,), (n_rows, n_outputs) or (n_rows, n_classes)."""
        _refuse(self, "predict")

    def predictive(self, model: Model, x: Table) -> Any:
        """Distribution of y at each row; see `nearbayes.predictives`."""
        _refuse(self, "predictive")

    def simulate(self, outcomes: Callable[[Table], NDArray[Any]], data: Data) -> tuple[Self, Data]:
        """Return the algorithm and data with the real inputs and simulated ``outcomes(inputs)``."""
        return self, replace(data, y=outcomes(data.x))

    def for_method(self, method: str) -> Self:
        """The algorithm in the form for methods that need draws of a prior: "anchored", "ntkgp"."""
        raise TypeError(
            f"method {method!r} needs draws of a prior, which {type(self).__name__} lacks: use "
            "nearbayes.gp.RandomFeatureGP or a network of nearbayes.neural, or another method."
        )


class ChunkAlgorithm(ABC):
    """The same methods for a chunk of draws: all that the engine knows about an algorithm.

    Sequences have one item per draw, and arrays a leading draw axis; there are always
    ``traits.chunk`` draws. ``models[k]`` is draw k, and ``models[index]`` some of them, for a list
    or an array. A method that fails for some of its draws raises `DrawsFailedError`. Methods may
    run in several threads.
    """

    @property
    def traits(self) -> Traits:
        """What the algorithm declares about itself."""
        return Traits()

    @abstractmethod
    def fit(self, data: Sequence[Data], streams: Streams) -> Models:
        """First fit of every draw, to its own data (bootstrap) or to the same (`Repeated`)."""

    @abstractmethod
    def refit(self, data: Sequence[Data], new: Blocks, models: Models, streams: Streams) -> Models:
        """Fit every draw again to its real and imputed rows."""

    @abstractmethod
    def sample(
        self, models: Models, x: Sequence[Rows], streams: Streams
    ) -> Sequence[NDArray[Any]] | NDArray[Any]:
        """Impute a block for every draw, (n_draws, size, ...), or its sufficient statistics."""

    def fit_near(self, data: Sequence[Data], models: Models, streams: Streams) -> Models:
        """First fits to data similar to those of the given models, where a search may start."""
        return self.fit(data, streams)

    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Learn once, from real data, what all draws share."""
        return self, data

    def coded(self, data: Data) -> Data:
        """Convert the user's rows to the form that `fit` takes (class codes), after `prepare`."""
        return data

    def finish(self, models: Models) -> Models:
        """Return the parts of final models to keep, in the process that made them."""
        return models

    def reveal(self, model: Model) -> Any:
        """Return one model as the user knows it."""
        return model

    def predict(self, models: Models, x: Table) -> NDArray[np.float64]:
        """Predict with any number of draws, shape (n_draws, n_rows, ...)."""
        _refuse(self, "predict")

    def predictives(self, models: Models, x: Table) -> list[Any]:
        """Distribution of y at each row, one per draw; see `nearbayes.predictives`."""
        _refuse(self, "predictive")

    def simulate(self, outcomes: Callable[[Table], NDArray[Any]], data: Data) -> tuple[Self, Data]:
        """Return the algorithm and data with the real inputs and simulated ``outcomes(inputs)``."""
        return self, replace(data, y=outcomes(data.x))

    def for_method(self, method: str) -> Self:
        """The algorithm in the form for methods that need draws of a prior: "anchored", "ntkgp"."""
        raise TypeError(
            f"method {method!r} needs draws of a prior, which {type(self).__name__} lacks: use "
            "nearbayes.gp.RandomFeatureGP or a network of nearbayes.neural, or another method."
        )


class DrawsFailedError(Exception):
    """Some draws of a chunk failed: their errors, by place in the chunk.

    The engine removes these draws and repeats the step for the others.
    """

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        super().__init__(f"{len(errors)} draws failed; the first: {next(iter(errors.values()))}")
        self.errors = errors


@runtime_checkable
class Inputs(Protocol):
    r"""Where imputed inputs :math:`\hat x` come from (Remark on supervised learning, section 2)."""

    def prepare(self, data: Data) -> Data:
        """Check that these inputs suit the data; may add unlabelled rows for blocks to refer to."""

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` input rows, given the real and imputed data so far."""


def _refuse(algorithm: object, verb: str) -> NoReturn:
    raise TypeError(
        f"{type(algorithm).__name__} has no {verb}: use posterior.apply(function) on its draws, or "
        f"implement that method."
    )
