"""The martingale posterior: draws, and a quantity along their paths (Algorithm 1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import as_data
from nearbayes.core.engine import Look, draw
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Martingale, checked_inputs
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm, Inputs
from nearbayes.core.run import Run
from nearbayes.core.schedule import Schedule, inflation_of
from nearbayes.core.state import State
from nearbayes.draws.credible import stack_draws
from nearbayes.draws.functional import Functional
from nearbayes.draws.path_trace import Trace
from nearbayes.execution.executor import OnError
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.methods.tracing import Tracer
from nearbayes.tables.table import Table

__all__ = ["Paths", "martingale_paths", "martingale_posterior"]

Quantity = Callable[[Any], Any]


def martingale_posterior(
    algorithm: Algorithm | ChunkAlgorithm,
    data: Any,
    *,
    n_draws: int = 50,
    schedule: Schedule | None = None,
    inputs: Inputs | str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    on_error: OnError = "report",
    progress: bool | None = None,
    resume: Posterior | None = None,
    predict_on: Table | None = None,
    executor: ExecutorChoice = None,
    checkpoint: str | os.PathLike[str] | None = None,
    draw_timeout: float | None = None,
    draw_memory: float | None = None,
) -> Posterior:
    """Draw from the martingale posterior of an algorithm (Algorithm 1).

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
        Has the methods fit, refit and sample; see `nearbayes.algorithm` for any two functions.
    data : Data, pair (X, y), or array of observations
    schedule : Schedule, optional
        Rows to impute before each refit; default ``Schedule.optimal(refits=8)``, or the
        default of the algorithm.
    inputs : Inputs or str, optional
        Where imputed x come from; default a Polya urn over past inputs.
    n_draws, random_state, n_jobs, on_error, progress, resume, predict_on
        How draws are made; see `Run`.
    executor, checkpoint, draw_timeout, draw_memory
        Where draws run, where finished ones are stored, and the limits of one; see `Run`.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import nearbayes as nb
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> posterior = nb.martingale_posterior(
    ...     coin, np.array([1, 0, 1, 1, 0, 1, 1, 0, 1, 1]), n_draws=2000, random_state=0)
    >>> float(posterior.apply(lambda p: p[0]).mean.round(1))
    0.7
    """
    run = Run(
        n_draws,
        random_state,
        n_jobs,
        on_error,
        progress,
        resume,
        predict_on,
        executor,
        checkpoint,
        draw_timeout,
        draw_memory,
    )
    return _drawn(algorithm, data, schedule, inputs, run)[0]


@dataclass(frozen=True, eq=False)
class Paths:
    """A quantity along the path of every draw.

    Attributes
    ----------
    n_rows : array of shape (n_refits + 1,)
        Number of rows, real and imputed, that each model was fitted to; first the real ones only.
    values : array of shape (n_draws, n_refits + 1, ...)
    inflation : float
        Factor that corrects for a truncated schedule (App. C).
    """

    n_rows: NDArray[np.float64]
    values: NDArray[np.float64]
    inflation: float = 1.0

    @property
    def ends(self) -> Functional:
        """Ends of the paths: the draws, as returned by ``posterior.apply(function)``."""
        return Functional(self.values[:, -1], self.inflation)


def martingale_paths(
    algorithm: Algorithm | ChunkAlgorithm,
    data: Any,
    function: Quantity,
    *,
    schedule: Schedule | None = None,
    inputs: Inputs | str | None = None,
    **run: Any,
) -> Paths:
    """Draw from the martingale posterior and record a quantity after every fit (Algorithm 1).

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data, pair (X, y), or array of observations
    function : callable
        Takes a fitted model, as in `Posterior.apply`; returns a number or an array.
    schedule, inputs, **run
        As in `nearbayes.martingale_posterior`. With the same seed, the paths end in its draws.

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
    if not callable(function):
        raise TypeError(f"function must take a fitted model, got {function!r}.")
    if run.get("resume") is not None:
        raise ValueError("resume must be None: paths of existing draws are not known.")
    posterior, seen = _drawn(algorithm, data, schedule, inputs, Run(**run), _Noting(function))
    source = posterior.provenance
    n_rows = source.n + np.cumsum([0, *source.blocks])
    return Paths(n_rows, stack_draws([stack_draws(each) for each in seen]), source.inflation)


@dataclass(frozen=True)
class _Noting:
    """Records a quantity of every model, in the form that users see."""

    function: Quantity

    def __call__(
        self, algorithm: ChunkAlgorithm, state: State, places: Sequence[int]
    ) -> Mapping[int, NDArray[Any]]:
        # copies: a model may be changed in place later
        models = {place: algorithm.reveal(state.models[place]) for place in places}
        return {place: np.array(self.function(model)) for place, model in models.items()}


def _drawn(
    algorithm: Any, data: Any, schedule: Any, inputs: Any, run: Run, look: Look | None = None
) -> tuple[Posterior, list[list[Any]]]:
    """Draws along martingale paths, with the schedule in their provenance."""
    traits, observed = as_chunks(algorithm).traits, as_data(data)
    plan = traits.schedule(None) if schedule is None else _checked_schedule(schedule)
    sampler, observed = checked_inputs(inputs, observed)
    blocks = plan.blocks(observed.n)
    run.check_resumable(blocks=blocks)
    tracer = Tracer.of(observed, len(blocks))
    looks = tracer if look is None else _Both(tracer, look)
    posterior, seen = draw(algorithm, observed, Martingale(sampler, blocks), run, looks)
    share = traits.captured(observed.n, blocks) if blocks else 0.0
    provenance = replace(
        posterior.provenance,
        schedule=str(plan),
        blocks=blocks,
        captured=share,
        inflation=inflation_of(share),
    )
    n_rows = observed.n + np.cumsum([0, *blocks])
    noted = seen
    if look is not None:
        noted = [[value for value, _ in each if value is not None] for each in seen]
    trace = Trace.gathered(n_rows[list(tracer.steps)].tolist(), noted)
    if run.resume is not None:
        trace = run.resume.trace if trace is None else trace.joined(run.resume.trace)
    posterior = replace(posterior, provenance=provenance, trace=trace)
    return posterior, [] if look is None else [[at[1] for at in each] for each in seen]


@dataclass(frozen=True)
class _Both:
    """What the tracer records, and in addition what the user asked for."""

    tracer: Tracer
    look: Look

    def __call__(
        self, algorithm: ChunkAlgorithm, state: State, places: Sequence[int]
    ) -> Mapping[int, tuple[Any, Any]]:
        noted = self.tracer(algorithm, state, places)
        wanted = self.look(algorithm, state, places)
        return {place: (noted.get(place), value) for place, value in wanted.items()}


def _checked_schedule(schedule: Any) -> Schedule:
    if not isinstance(schedule, Schedule):
        raise TypeError(
            f"schedule must be a Schedule, such as Schedule.optimal(refits=8), got {schedule!r}."
        )
    return schedule
