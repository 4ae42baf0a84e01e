"""Engine: the paper's Algorithm 1. Knows the protocols, never a model.

`advance` is the loop: a chunk of draws goes along its path. `draw` makes as many chunks as are
asked for, in any executor, and gathers the posterior. Methods are paths through that loop.
"""

from __future__ import annotations

import statistics
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from nearbayes.core.data import Data, Repeated
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Martingale, Path, sampled
from nearbayes.core.posterior import FailedDraw, Posterior, Provenance, installed_versions
from nearbayes.core.protocols import ChunkAlgorithm, Models, Traits
from nearbayes.core.run import Run
from nearbayes.core.seeds import Seeds
from nearbayes.core.state import State, chosen, joined, surviving
from nearbayes.execution.executor import (
    Gathered,
    JoblibExecutor,
    OnError,
    gather,
    in_one_line,
    timed_on_one_thread,
)

__all__ = ["DrawWarning", "Look", "advance", "draw", "refit_work"]

Observer = Callable[[State], None]
Look = Callable[[ChunkAlgorithm, State, Sequence[int]], Any]  # at the draws in some places
ROWS_TRIED = 8  # that a final model is sampled at before it counts as a draw


class DrawWarning(UserWarning):
    """Some draws failed or were not made; the posterior has the others."""


def advance(
    algorithm: ChunkAlgorithm,
    path: Path,
    state: State,
    observe: Observer | None = None,
    save: Observer | None = None,
    on_error: OnError = "report",
) -> State:
    """Take the draws of a chunk along their path (Algorithm 1, step 2).

    Parameters
    ----------
    algorithm : ChunkAlgorithm
    path : Path
    state : State
        After the start, or any later one: the path goes on from there.
    observe, save : callable, optional
        Called with the state at hand, and with that after every step.
    on_error : "report" or "raise"
        Go on without draws that fail, or raise the first error.
    """
    step = partial(path.step, algorithm)
    looks = [look for look in (observe, save) if look is not None]
    _show(state, looks)
    while state.step < path.n_steps and not state.lost:
        before, state = state, surviving(step, state)
        if len(state.failed) > len(before.failed):
            _note_failures(before, state, f"(refit {before.step + 1} of {path.n_steps})", on_error)
        _show(state, looks)
    return state


def _show(state: State, looks: list[Observer]) -> None:
    for look in looks:
        look(state)


def _note_failures(before: State, after: State, where: str, on_error: OnError) -> None:
    """Say in the errors where they were raised; raise the first if that is asked for."""
    new = {place: after.failed[place] for place in after.failed if place not in before.failed}
    for error in {id(error): error for error in new.values()}.values():
        if where:
            error.add_note(where)
    if on_error == "raise" and new:
        place, error = min(new.items())
        number = before.streams.draws[place]
        error.add_note(f"raised in draw {number}; on_error='report' would keep the others.")
        raise error


def draw(
    algorithm: Any, data: Data, path: Path, run: Run, look: Look | None = None
) -> tuple[Posterior, list[list[Any]]]:
    """Make independent draws along a path and gather them (Algorithm 1, step 3).

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data
    path : Path
    run : Run
    look : callable, optional
        ``look(algorithm, state, places)`` gives one value per draw in `places`; it is called with
        every state.

    Returns
    -------
    posterior : Posterior
    seen : list
        What `look` gave, one list per draw.
    """
    started = time.perf_counter()
    seeds, chunks = run.seeds, as_chunks(algorithm)
    run.check_resumable(method=path.method, seed=seeds.entropy, n=data.n)
    (chunks, data), _ = timed_on_one_thread(partial(chunks.prepare, data, seeds.shared()))
    prepared = getattr(chunks, "algorithm", chunks)  # a plain one, as the user knows it
    first, seconds = timed_on_one_thread(partial(_fit_of_first_chunk, chunks, data, seeds))
    chunks = as_chunks(prepared, run.predict_on)
    job = _Job(
        chunks, data, path, seeds, None if first.failed else first.models, look, run.on_error
    )
    found = _made(job, run, seconds * refit_work(chunks.traits, data.n, path))
    drawn = _gathered(found, chunks.traits.chunk, run)
    _warn(drawn, run.n_draws, found.interrupted)
    provenance = Provenance(
        path.method,
        seeds.entropy,
        data.n,
        run.n_draws,
        seconds={
            "first_fit": seconds,
            "per_draw": _seconds_per_draw(found, run),
            "total": time.perf_counter() - started,
        },
        interrupted=found.interrupted,
        finished=tuple(drawn.index),
        versions=installed_versions(*chunks.traits.packages),
    )
    model = first.models[first.alive[0]]
    failed = tuple(drawn.failed)
    return Posterior(prepared, drawn.models, model, provenance, failed, run.predict_on), drawn.seen


class _Task(NamedTuple):
    """A chunk to make: its number, and the places in it of the draws that are wanted."""

    chunk: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class _Job:
    """What all chunks of a run share; `first` are the first fits of chunk 0, if none failed."""

    algorithm: ChunkAlgorithm
    data: Data
    path: Path
    seeds: Seeds
    first: Models | None
    look: Look | None
    on_error: OnError

    def first_fits(self, state: State) -> Models:
        """First fits of a chunk; the same for all chunks unless the algorithm is random."""
        if self.first is not None and not self.algorithm.traits.randomised:
            return self.first
        if self.first is not None and state.streams.number == 0:
            return chosen(self.first, state.streams.draws)
        return self.algorithm.fit(state.data, state.streams.at(0))


@dataclass(frozen=True)
class _Drawn:
    """Draws that were made, their numbers, those that failed, and what was seen of each."""

    models: Models
    index: list[int]
    failed: list[FailedDraw]
    seen: list[list[Any]]


def _fit_of_first_chunk(algorithm: ChunkAlgorithm, data: Data, seeds: Seeds) -> State:
    """First fits of chunk 0. If all fail, it is the data: the user gets the error as it is."""

    def fit(state: State) -> State:
        return state.moved(state.data, algorithm.fit(state.data, state.streams.at(0)), steps=0)

    every = _Task(0, tuple(range(algorithm.traits.chunk)))
    state = surviving(fit, _before_fit(algorithm, data, seeds, every))
    if state.lost:
        raise state.failed[0]
    return state


def _before_fit(algorithm: ChunkAlgorithm, data: Data, seeds: Seeds, task: _Task) -> State:
    """A whole chunk, as shapes must not depend on `n_draws`; copies follow the last wanted draw.

    Draws before that are made even if nobody wants them again: a draw may depend on how many random
    numbers of the chunk's generator those before it have used.
    """
    size, last = algorithm.traits.chunk, max(task.places)
    first = task.chunk * size
    draws = [*range(first, first + last), *repeat(first + last, size - last)]
    return State(seeds.streams(draws, task.chunk), 0, Repeated(data, size))


def _make_chunk(job: _Job, task: _Task) -> _Drawn:
    """Make the draws of a chunk; a shared function, so that tasks are small."""
    algorithm, path = job.algorithm, job.path
    seen: list[Any] = []
    before = _before_fit(algorithm, job.data, job.seeds, task)
    start = partial(path.start, algorithm, first=job.first_fits)
    state = surviving(start, before)
    _note_failures(before, state, "", job.on_error)
    observe = None if job.look is None else partial(_note, seen, job.look, algorithm, task.places)
    state = advance(algorithm, path, state, observe, on_error=job.on_error)
    final = surviving(partial(_finished, algorithm), state)
    _note_failures(state, final, "", job.on_error)
    kept = {place: k for k, place in enumerate(task.places) if place not in final.failed}
    failed = sorted(final.failed.keys() & set(task.places))
    numbers = before.streams.draws
    return _Drawn(
        chosen(final.models, list(kept)),
        [numbers[place] for place in kept],
        [_failed_draw(numbers[place], final.failed[place]) for place in failed],
        [[at[k] for at in seen] for k in kept.values()] if seen else [[]] * len(kept),
    )


def _note(
    seen: list[Any], look: Look, algorithm: ChunkAlgorithm, places: Sequence[int], state: State
) -> None:
    seen.append(look(algorithm, state, places))


def _finished(algorithm: ChunkAlgorithm, state: State) -> State:
    """What is kept of final models; one that cannot be sampled from is no draw."""
    rows = Repeated(state.data[0].rows().head(ROWS_TRIED), len(state.streams))
    sampled(algorithm, state, rows, state.streams.at(state.step + 1))
    return state.moved(state.data, algorithm.finish(state.models), steps=0)


def _failed_draw(number: int, error: Exception) -> FailedDraw:
    return FailedDraw(number, in_one_line(error), "".join(traceback.format_exception(error)))


def _made(job: _Job, run: Run, seconds_per_chunk: float) -> Gathered:
    """Make the chunks that hold missing draws, wherever they run."""
    traits = job.algorithm.traits
    places: dict[int, list[int]] = {}
    for number in run.missing:
        places.setdefault(number // traits.chunk, []).append(number % traits.chunk)
    tasks = [_Task(chunk, tuple(inside)) for chunk, inside in places.items()]
    return gather(
        JoblibExecutor(run.n_jobs, traits.runs_in),
        _make_chunk,
        job,
        tasks,
        on_error=run.on_error,
        seconds_per_item=seconds_per_chunk,
        progress=run.progress,
        sizes=[len(task.places) for task in tasks],
    )


def _gathered(found: Gathered, chunk: int, run: Run) -> _Drawn:
    """Draws of all chunks and of the earlier part of the run, in the order of their numbers."""
    parts = [found.done[task].value for task in sorted(found.done)]
    if run.resume is not None:
        numbers = list(run.resume.provenance.finished)
        parts.append(_Drawn(run.resume.models, numbers, [], [[] for _ in numbers]))
    index = [number for part in parts for number in part.index]
    seen = [values for part in parts for values in part.seen]
    failed = [each for part in parts for each in part.failed]
    failed += [
        FailedDraw(task.chunk * chunk + place, lost.error, lost.traceback)
        for task, lost in found.lost.items()
        for place in task.places
    ]
    order = np.argsort(index).tolist()
    models = joined([part.models for part in parts if len(part.models)])
    return _Drawn(
        models if order == list(range(len(order))) else chosen(models, order),
        [index[place] for place in order],
        sorted(failed, key=lambda each: each.index),
        [seen[place] for place in order],
    )


def _seconds_per_draw(found: Gathered, run: Run) -> float:
    """Median time of a draw; that of the earlier part where no draw was left to be made."""
    times = [done.seconds / len(task.places) for task, done in found.done.items()]
    if times or run.resume is None:
        return statistics.median(times or [0.0])
    return run.resume.provenance.seconds["per_draw"]


def refit_work(traits: Traits, n: float, path: Path) -> float:
    """Cost of a path in first fits to n rows: a refit costs one on counts, else by its rows."""
    fits = 1.0 if traits.randomised or path.n_steps == 0 else 0.0
    if traits.counts or not traits.keeps_rows or not isinstance(path, Martingale):
        return fits + path.n_steps
    return fits + float(np.sum(n + np.cumsum(path.blocks)) / n)


def _warn(drawn: _Drawn, n_draws: int, interrupted: bool) -> None:
    failed = drawn.failed
    if not len(drawn.models):
        raise RuntimeError(
            f"all {n_draws} draws failed; the first said: {failed[0].error}\n{failed[0].traceback}"
        )
    if failed:
        warnings.warn(
            f"{len(failed)} of {n_draws} draws failed and are left out; the first said: "
            f"{failed[0].error} See posterior.failed, or use on_error='raise'.",
            DrawWarning,
            stacklevel=4,
        )
    if interrupted:
        warnings.warn(
            f"interrupted: {len(drawn.models)} of {n_draws} draws are finished and kept.",
            DrawWarning,
            stacklevel=4,
        )
