"""Paths: a quantity after every refit of every draw, to see draws fan out to the posterior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.credible import Functional, stack_draws
from nearbayes.core.data import Block, Counts, Data, Rows
from nearbayes.core.engine import check_algorithm, default_schedule, martingale_posterior
from nearbayes.core.protocols import Algorithm, BatchedAlgorithm, Model, Prepares, Reveals, Rng
from nearbayes.core.schedule import Schedule

__all__ = ["Paths", "martingale_paths"]

Quantity = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Paths:
    """A quantity along the path of every draw.

    Attributes
    ----------
    n_rows : array of shape (n_refits + 1,)
        Rows, real and imputed, that the model had seen: first the real ones alone.
    values : array of shape (n_draws, n_refits + 1, ...)
    inflation : float
        Factor that makes up for a truncated schedule (App. C).
    """

    n_rows: NDArray[np.float64]
    values: NDArray[np.float64]
    inflation: float = 1.0

    @property
    def ends(self) -> Functional:
        """Where the paths end: the draws, as ``posterior.apply(function)`` gives them."""
        return Functional(self.values[:, -1], self.inflation)


def martingale_paths(
    algorithm: Algorithm | BatchedAlgorithm, data: Any, function: Quantity, **run: Any
) -> Paths:
    """Draw from the martingale posterior and note a quantity after every fit (Algorithm 1).

    Parameters
    ----------
    algorithm : Algorithm or BatchedAlgorithm
    data : Data, pair (X, y), or array of observations
    function : callable
        Takes a fitted model, as in `Posterior.apply`; returns a number or an array.
    **run : dict
        As in `nearbayes.martingale_posterior`. With the same seed, paths end in its draws.

    Examples
    --------
    >>> import nearbayes as nb
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> paths = nb.martingale_paths(
    ...     coin, [1, 0, 1, 1], lambda p: p[0], n_draws=100, random_state=0,
    ...     schedule=nb.Schedule.arithmetic(horizon=6, block=2))
    >>> paths.n_rows.tolist(), paths.values.shape
    ([4.0, 6.0, 8.0, 10.0], (100, 4))
    >>> float(paths.values[0, 0])
    0.75
    """
    check_algorithm(algorithm)
    if not callable(function):
        raise TypeError(f"function must take a fitted model, got {function!r}.")
    batched = isinstance(algorithm, BatchedAlgorithm)
    noting = _NotingBatch(algorithm, function) if batched else _Noting(algorithm, function)
    posterior = martingale_posterior(noting, data, **run)
    source = posterior.provenance
    n_rows = source.n + np.cumsum([0, *source.blocks])
    return Paths(n_rows, stack_draws(posterior.models), source.inflation)


@dataclass(frozen=True)
class _Noted:
    """A model, and the quantity after each fit that led to it."""

    model: Model
    notes: tuple[Any, ...]


@dataclass(frozen=True)
class _Noting:
    """An algorithm that notes a quantity of each of its models; draws are kept as their notes."""

    algorithm: Any
    function: Quantity

    @property
    def accepts_counts(self) -> Counts:
        return self.algorithm.accepts_counts  # type: ignore[no-any-return]

    @property
    def randomised(self) -> bool:
        return bool(self.algorithm.randomised)

    def preferred_schedule(self, n_refits: int | None) -> Schedule:
        return default_schedule(self.algorithm, n_refits)

    def prepare(self, data: Data, rng: Rng) -> tuple[_Noting, Data]:
        if not isinstance(self.algorithm, Prepares):
            return self, data
        algorithm, prepared = self.algorithm.prepare(data, rng)
        return replace(self, algorithm=algorithm), prepared

    def fit(self, data: Data, rng: Rng) -> _Noted:
        model = self.algorithm.fit(data, rng)
        return _Noted(model, (_noted(self, model),))

    def refit(self, data: Data, new: Block, model: _Noted, rng: Rng) -> _Noted:
        again = self.algorithm.refit(data, new, model.model, rng)
        return _Noted(again, (*model.notes, _noted(self, again)))

    def sample(self, model: _Noted, x: Rows, rng: Rng) -> NDArray[Any]:
        return np.asarray(self.algorithm.sample(model.model, x, rng))

    def finish(self, model: _Noted) -> NDArray[Any]:
        return stack_draws(model.notes)


@dataclass(frozen=True)
class _NotedBatch(Sequence[Any]):
    """Models of all draws, and the quantity after each fit; item k is the path of draw k."""

    models: Sequence[Model]
    notes: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.models)

    @overload
    def __getitem__(self, item: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, item: slice) -> Sequence[Any]: ...
    def __getitem__(self, item: Any) -> Any:
        return np.stack([note[item] for note in self.notes])


@dataclass(frozen=True)
class _NotingBatch:
    """The same for an algorithm whose draws advance together."""

    algorithm: Any
    function: Quantity

    def preferred_schedule(self, n_refits: int | None) -> Schedule:
        return default_schedule(self.algorithm, n_refits)

    def fit_batch(self, data: Data, n_draws: int, rng: Rng) -> _NotedBatch:
        return self._noted_batch(self.algorithm.fit_batch(data, n_draws, rng), ())

    def refit_batch(self, data: Data, new: Block, models: Any, rng: Rng) -> _NotedBatch:
        again = self.algorithm.refit_batch(data, new, models.models, rng)
        return self._noted_batch(again, models.notes)

    def sample_batch(self, models: Any, x: Rows, rng: Rng) -> NDArray[Any]:
        return np.asarray(self.algorithm.sample_batch(models.models, x, rng))

    def _noted_batch(self, models: Sequence[Model], notes: tuple[NDArray[Any], ...]) -> _NotedBatch:
        return _NotedBatch(models, (*notes, stack_draws([_noted(self, m) for m in models])))


def _noted(noting: _Noting | _NotingBatch, model: Model) -> Any:
    """The quantity of a model, as the user knows the model."""
    algorithm = noting.algorithm
    known = algorithm.reveal(model) if isinstance(algorithm, Reveals) else model
    return np.array(noting.function(known))  # a copy: the model may be changed in place later
