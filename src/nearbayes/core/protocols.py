"""The protocols: what the engine knows of an algorithm and of inputs, and nothing more.

People write an `Algorithm`: three verbs for one draw. The engine knows only `ChunkAlgorithm`: the
same verbs for a chunk of draws that advance together. `lifting.as_chunks` makes the second of the
first. What an algorithm declares about itself is in its `Traits`.
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
Models = Any  # of a chunk: a sequence, or an array with a draw axis, as the family likes


@dataclass(frozen=True)
class Traits:
    """What an algorithm declares about itself.

    Attributes
    ----------
    counts : False, "labels" or "means"
        Which short form of repeated inputs `refit` takes (see `Data.extend`); False: none. Declare
        it only if the fit is exactly that of the repeated rows.
    randomised : bool
        Whether the first fit differs from draw to draw (network initialisation, samplers).
    chunk : int
        Draws that advance together. A constant of the family: it decides shapes, and so bits.
    keeps_rows : bool
        Whether `refit` needs the imputed rows of earlier blocks. False where models hold all that
        is needed, so that memory does not grow with the horizon.
    growth : float
        The time of a fit grows with this power of its rows; for the estimate of the cost.
    runs_in : "processes" or "threads"
        Where several chunks run side by side. Compiled programs run in threads.
    link : "identity", "log" or "logit"
        Scale on which predictions are spread for what the schedule leaves out.
    calibrate : bool
        Whether the learner's bias is too large for intervals of the draws alone to cover, so that
        they are calibrated by default.
    own_variance : bool
        Whether the predictive variance of a draw already holds what the draw does not know.
    classes : array of shape (n_classes,), optional
        Names of the last axis of predictions, where these are class probabilities.
    schedule : callable
        ``schedule(n_refits)`` gives the default schedule; None leaves the number of refits open.
    captured : callable
        ``captured(n, blocks)`` is the share of the posterior variance that blocks reach; by default
        that of one refit per block (App. C).
    packages : tuple of str
        Packages whose versions belong in the provenance.
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

    One draw at a time. `fit` and `sample` must be written; `refit` fits again unless it is written,
    and the other verbs are optional. Models are values: no verb changes the model, the data or the
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

        `data` holds all observations, those of `new` included; `model` is there to start from.
        """
        return self.fit(data, rng)

    @abstractmethod
    def sample(self, model: Model, x: Rows, rng: Rng) -> NDArray[Any]:
        r"""Impute, :math:`\hat y \sim p_\theta(\cdot \mid \hat x)` (step 2a), one per row."""

    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Learn once, from real data, what all draws share (classes, noise)."""
        return self, data

    def coded(self, data: Data) -> Data:
        """Rows of the user as `fit` takes them, after `prepare` has learned how (class codes)."""
        return data

    def finish(self, model: Model) -> Model:
        """Give what is kept of a final model, in the process that made it."""
        return model

    def reveal(self, model: Model) -> Any:
        """Give what the user knows of a model: the fitted estimator."""
        return model

    def predict(self, model: Model, x: Table) -> NDArray[np.float64]:
        """Predict at a table of inputs: (n_rows,), (n_rows, n_outputs) or (n_rows, n_classes)."""
        _refuse(self, "predict")

    def predictive(self, model: Model, x: Table) -> Any:
        """Distribution of y at each row; see `nearbayes.predictives`."""
        _refuse(self, "predictive")

    def simulate(self, outcomes: Callable[[Table], NDArray[Any]], data: Data) -> tuple[Self, Data]:
        """Real inputs with other outcomes, a function of the inputs, and how to fit them."""
        return self, replace(data, y=outcomes(data.x))

    def for_method(self, method: str) -> Self:
        """The algorithm as a method that needs draws of a prior takes it: "anchored", "ntkgp"."""
        raise TypeError(
            f"method {method!r} needs draws of a prior, which {type(self).__name__} has not: use "
            "nearbayes.gp.RandomFeatureGP or a network of nearbayes.neural, or another method."
        )


class ChunkAlgorithm(ABC):
    """The same verbs for a chunk of draws: all that the engine knows of an algorithm.

    Sequences have one item per draw, and arrays a leading draw axis; there are always
    ``traits.chunk`` draws. ``models[k]`` is draw k, and ``models[index]`` some of them, for a list
    or an array. A verb that fails for some of its draws raises `DrawsFailedError`. Verbs may run in
    several threads.
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
        """First fits to data much like those of given models, where a search may start."""
        return self.fit(data, streams)

    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Learn once, from real data, what all draws share."""
        return self, data

    def coded(self, data: Data) -> Data:
        """Rows of the user as `fit` takes them, after `prepare` has learned how (class codes)."""
        return data

    def finish(self, models: Models) -> Models:
        """Give what is kept of final models, in the process that made them."""
        return models

    def reveal(self, model: Model) -> Any:
        """Give what the user knows of one model."""
        return model

    def predict(self, models: Models, x: Table) -> NDArray[np.float64]:
        """Predict with any number of draws, shape (n_draws, n_rows, ...)."""
        _refuse(self, "predict")

    def predictives(self, models: Models, x: Table) -> list[Any]:
        """Distribution of y at each row, one per draw; see `nearbayes.predictives`."""
        _refuse(self, "predictive")

    def simulate(self, outcomes: Callable[[Table], NDArray[Any]], data: Data) -> tuple[Self, Data]:
        """Real inputs with other outcomes, a function of the inputs, and how to fit them."""
        return self, replace(data, y=outcomes(data.x))

    def for_method(self, method: str) -> Self:
        """The algorithm as a method that needs draws of a prior takes it: "anchored", "ntkgp"."""
        raise TypeError(
            f"method {method!r} needs draws of a prior, which {type(self).__name__} has not: use "
            "nearbayes.gp.RandomFeatureGP or a network of nearbayes.neural, or another method."
        )


class DrawsFailedError(Exception):
    """Some draws of a chunk failed: their errors, by place in the chunk.

    The engine takes these draws out and repeats the step for the others.
    """

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        super().__init__(f"{len(errors)} draws failed; the first: {next(iter(errors.values()))}")
        self.errors = errors


@runtime_checkable
class Inputs(Protocol):
    r"""Where imputed inputs :math:`\hat x` come from (Remark on supervised learning, section 2)."""

    def prepare(self, data: Data) -> Data:
        """Check that these inputs suit the data; may add unlabelled rows to refer to."""

    def sample(self, data: Data, size: int, rng: Rng) -> Rows:
        """Draw `size` input rows, given the real and imputed data so far."""


def _refuse(algorithm: object, verb: str) -> NoReturn:
    raise TypeError(
        f"{type(algorithm).__name__} has no {verb}: use posterior.apply(function) on its draws, or "
        f"write that verb."
    )
