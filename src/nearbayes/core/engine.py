"""Engine: the paper's Algorithm 1. Knows the protocols, never a model.

`martingale_path` is one draw; `martingale_posterior` makes many, one at a time through an executor
or all at once in a batched program. Baselines are other paths through the same `draw_posterior`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nearbayes.core.batches import batched_posterior, paths_posterior
from nearbayes.core.data import Block, Data, Rows, as_data, finite
from nearbayes.core.executor import Drawn, OnError, make_draws, timed_on_one_thread
from nearbayes.core.inputs import as_inputs
from nearbayes.core.posterior import Posterior, Provenance, installed_versions
from nearbayes.core.protocols import (
    Algorithm,
    BatchedAlgorithm,
    BatchedPaths,
    Finishes,
    Inputs,
    Model,
    PrefersSchedule,
    Prepares,
    Rng,
)
from nearbayes.core.resuming import (
    check_resumable,
    joined,
    missing_draws,
    numbered,
    seconds_per_draw,
    seeds_of,
)
from nearbayes.core.run import Run
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import Seeds

__all__ = [
    "DrawWarning",
    "FirstFit",
    "check_algorithm",
    "checked_inputs",
    "default_schedule",
    "draw_posterior",
    "martingale_path",
    "martingale_posterior",
    "refit_work",
]

FirstFit = Callable[[], Model]
Path = Callable[[Algorithm, Data, FirstFit, Rng], Model]


class DrawWarning(UserWarning):
    """Some draws failed or were not made; the posterior has the others."""


def martingale_posterior(
    algorithm: Algorithm | BatchedAlgorithm,
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
) -> Posterior:
    """Draw from the martingale posterior of an algorithm (Algorithm 1).

    Parameters
    ----------
    algorithm : Algorithm or BatchedAlgorithm
        What can fit, refit and sample; see `nearbayes.algorithm` for any two functions.
    data : Data, pair (X, y), or array of observations
    schedule : Schedule, optional
        Rows to impute before each refit; default ``Schedule.optimal(refits=8)``, or what the
        algorithm prefers.
    inputs : Inputs or str, optional
        Where imputed x come from; default a Polya urn over past inputs.
    n_draws, random_state, n_jobs, on_error, progress, resume
        How draws are made; see `Run`.

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
    run = Run(n_draws, random_state, n_jobs, on_error, progress, resume)
    check_algorithm(algorithm)
    observed = as_data(data)
    plan = default_schedule(algorithm) if schedule is None else _checked_schedule(schedule)
    sampler = checked_inputs(inputs, observed)
    blocks = plan.blocks(observed.n)
    if sampler is None and isinstance(algorithm, BatchedAlgorithm):
        posterior = batched_posterior(algorithm, observed, blocks, run)
    elif sampler is not None and isinstance(algorithm, BatchedPaths):
        prepared = sampler.prepare(observed)
        posterior = paths_posterior(algorithm, prepared, sampler, blocks, run)
    else:
        assert isinstance(algorithm, Algorithm)
        check_resumable(resume, blocks=blocks)
        prepared = observed if sampler is None else sampler.prepare(observed)
        path, work = _MartingalePath(sampler, blocks), refit_work(algorithm, prepared.n, blocks)
        posterior = draw_posterior(algorithm, prepared, path, run, method="martingale", work=work)
    return _with_schedule(posterior, plan)


def default_schedule(algorithm: Any, n_refits: int | None = None) -> Schedule:
    """The schedule that an algorithm prefers, else the optimal one with 8 refits or `n_refits`."""
    if isinstance(algorithm, PrefersSchedule):
        return algorithm.preferred_schedule(n_refits)
    return Schedule.optimal(8 if n_refits is None else n_refits)


def _with_schedule(posterior: Posterior, schedule: Schedule) -> Posterior:
    """Note in the provenance how the rows were imputed."""
    n = posterior.provenance.n
    provenance = replace(
        posterior.provenance,
        schedule=str(schedule),
        blocks=schedule.blocks(n),
        captured=schedule.captured(n),
        inflation=schedule.inflation(n),
    )
    return replace(posterior, provenance=provenance)


def martingale_path(
    algorithm: Algorithm,
    data: Data,
    model: Model,
    blocks: Sequence[int],
    inputs: Inputs | None,
    rng: Rng,
) -> Model:
    r"""Make one draw: impute, refit, repeat (Algorithm 1, step 2).

    Parameters
    ----------
    algorithm : Algorithm
    data : Data
        The real rows :math:`D_n`.
    model : object
        The first fit :math:`\theta_n`.
    blocks : sequence of int
        Rows to impute before each refit.
    inputs : Inputs or None
        Where imputed x come from; None for data without inputs.
    rng : numpy.random.Generator
    """
    for step, size in enumerate(blocks):
        try:
            x = Rows.without_inputs(size) if inputs is None else inputs.sample(data, size, rng)
            y = finite(algorithm.sample(model, x, rng))
            new = Block(x, y, total=data.size + size)
            data = data.extend(new, algorithm.accepts_counts)
            model = algorithm.refit(data, new, model, rng)
        except Exception as error:
            error.add_note(f"(refit {step + 1} of {len(blocks)})")
            raise
    return model


def draw_posterior(
    algorithm: Algorithm, data: Data, path: Path, run: Run, *, method: str, work: float = 1.0
) -> Posterior:
    """Make independent draws along a path and gather them (Algorithm 1, step 3).

    Parameters
    ----------
    algorithm : Algorithm
    data : Data
    path : callable
        ``path(algorithm, data, first, rng)`` gives the final model of one draw; ``first()`` gives
        that draw's first fit.
    run : Run
    method : str
        Name of the method, for the provenance.
    work : float
        Cost of one draw in first fits, for the estimate.
    """
    check_algorithm(algorithm)
    started = time.perf_counter()
    seeds = seeds_of(run.random_state, run.resume)
    check_resumable(run.resume, method=method, seed=seeds.entropy, n=data.n)
    if isinstance(algorithm, Prepares):
        preparing = partial(algorithm.prepare, data, seeds.shared())
        (algorithm, data), _ = timed_on_one_thread(preparing)
    # An error here is about the real data, so it is the user's to see as it is.
    first, seconds = timed_on_one_thread(partial(algorithm.fit, data, seeds.first_fit(0)))
    numbers = missing_draws(run.n_draws, run.resume)
    tasks = [
        _Draw(path, algorithm, data, _shared_fit(algorithm, first, k), k, seeds) for k in numbers
    ]
    drawn = make_draws(
        tasks,
        n_jobs=run.n_jobs,
        on_error=run.on_error,
        seconds_per_draw=seconds * work,
        progress=run.progress,
    )
    drawn = joined(numbered(drawn, numbers), run.resume)
    _report(drawn, run.n_draws)
    provenance = Provenance(
        method,
        seeds.entropy,
        data.n,
        run.n_draws,
        seconds={
            "first_fit": seconds,
            "per_draw": seconds_per_draw(drawn, run.resume),
            "total": time.perf_counter() - started,
        },
        interrupted=drawn.interrupted,
        finished=tuple(drawn.index),
        versions=installed_versions(*getattr(algorithm, "packages", ())),
    )
    return Posterior(algorithm, drawn.models, first, provenance, tuple(drawn.failed))


@dataclass(frozen=True)
class _MartingalePath:
    inputs: Inputs | None
    blocks: tuple[int, ...]

    def __call__(self, algorithm: Algorithm, data: Data, first: FirstFit, rng: Rng) -> Model:
        return martingale_path(algorithm, data, first(), self.blocks, self.inputs, rng)


@dataclass(frozen=True)
class _Draw:
    """One draw as a task for the executor."""

    path: Path
    algorithm: Algorithm
    data: Data
    shared: tuple[Model, ...]
    index: int
    seeds: Seeds

    def __call__(self) -> Model:
        rng = self.seeds.draw(self.index)
        model = self.path(self.algorithm, self.data, self._first_fit, rng)
        # A model that cannot be sampled from is no draw: find out now, not at prediction.
        finite(self.algorithm.sample(model, self.data.rows().head(8), rng))
        return self.algorithm.finish(model) if isinstance(self.algorithm, Finishes) else model

    def _first_fit(self) -> Model:
        if self.shared:
            return self.shared[0]
        return self.algorithm.fit(self.data, self.seeds.first_fit(self.index))


def _shared_fit(algorithm: Algorithm, first: Model, index: int) -> tuple[Model, ...]:
    """The first fit, where it serves this draw: always, or for draw 0 of a random algorithm."""
    return () if algorithm.randomised and index > 0 else (first,)


def refit_work(algorithm: Any, n: float, blocks: Sequence[int]) -> float:
    """Cost of one draw in first fits to n rows: a refit costs one on counts, else by its rows."""
    fits = 1.0 if algorithm.randomised else 0.0
    if algorithm.accepts_counts:
        return fits + len(blocks)
    return fits + float(np.sum(n + np.cumsum(blocks)) / n)


def _report(drawn: Drawn, n_draws: int) -> None:
    if not drawn.models:
        raise RuntimeError(
            f"all {n_draws} draws failed; the first said: {drawn.failed[0].error}\n"
            f"{drawn.failed[0].traceback}"
        )
    if drawn.failed:
        warnings.warn(
            f"{len(drawn.failed)} of {n_draws} draws failed and are left out; the first said: "
            f"{drawn.failed[0].error} See posterior.failed, or use on_error='raise'.",
            DrawWarning,
            stacklevel=4,
        )
    if drawn.interrupted:
        warnings.warn(
            f"interrupted: {len(drawn.models)} of {n_draws} draws are finished and kept.",
            DrawWarning,
            stacklevel=4,
        )


def check_algorithm(algorithm: Any) -> None:
    """Refuse what is no algorithm, and say how to make one of it."""
    if isinstance(algorithm, type) or not isinstance(algorithm, Algorithm | BatchedAlgorithm):
        raise TypeError(
            f"algorithm must have fit, refit, sample, accepts_counts and randomised, got "
            f"{algorithm!r}: wrap two functions with nearbayes.algorithm(fit, sample), or give an "
            "estimator to PosteriorClassifier or PosteriorRegressor."
        )


def _checked_schedule(schedule: Any) -> Schedule:
    if not isinstance(schedule, Schedule):
        raise TypeError(
            f"schedule must be a Schedule, such as Schedule.optimal(refits=8), got {schedule!r}."
        )
    return schedule


def checked_inputs(inputs: Any, data: Data) -> Inputs | None:
    """Take inputs for data with X, and none for data without."""
    if data.table is not None:
        return as_inputs(inputs)
    if inputs is not None:
        raise ValueError("inputs must be None for data without X: nothing to impute them for.")
    return None
