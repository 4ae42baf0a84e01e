"""Engine: the paper's Algorithm 1. Knows the protocols, not the models.

`advance` is the loop: it takes a chunk of draws along its path. `draw` makes as many chunks as
needed, in any executor, and collects the posterior. Methods are paths through that loop.
"""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from nearbayes.core.data import Data, Repeated, parts_of
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Martingale, Path, sampled
from nearbayes.core.posterior import FailedDraw, Posterior, Provenance, installed_versions
from nearbayes.core.protocols import ChunkAlgorithm, Models, Traits
from nearbayes.core.run import Run
from nearbayes.core.seeds import Seeds
from nearbayes.core.state import State, chosen, joined, surviving
from nearbayes.execution.checkpoint import Checkpoint, made_once, opened
from nearbayes.execution.digest import digest
from nearbayes.execution.executor import (
    Gathered,
    OnError,
    gather,
    in_one_line,
    timed_on_one_thread,
)
from nearbayes.execution.global_random import Watch, warn_of_global_generator
from nearbayes.execution.interrupts import stoppable
from nearbayes.execution.saved_states import SavedState, SavedStates
from nearbayes.telling import warn

__all__ = ["DrawWarning", "Look", "advance", "draw", "refit_work"]

Observer = Callable[[State], None]
# takes draws in some places: what is recorded of each, by its place
Look = Callable[[ChunkAlgorithm, State, Sequence[int]], Mapping[int, Any]]
ROWS_TRIED = 8  # rows at which a final model is sampled before it counts as a draw


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
        After the start, or any later one: the path continues from there.
    observe, save : callable, optional
        Called with the current state, and with the state after every step.
    on_error : "report" or "raise"
        Continue without draws that fail, or raise the first error.
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
    """Add to the errors where they were raised; raise the first if requested."""
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
    """Make independent draws along a path and collect them (Algorithm 1, step 3).

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data
    path : Path
    run : Run
    look : callable, optional
        ``look(algorithm, state, places)`` returns what is recorded of draws in `places`, by place;
        it is called with every state.

    Returns
    -------
    posterior : Posterior
    seen : list
        The results of `look`, one list per draw.
    """
    seeds, chunks = run.seeds, as_chunks(algorithm)
    run.check_resumable(method=path.method, seed=seeds.entropy, n=data.n)
    parts = {} if run.checkpoint is None else _decisive(chunks, data, path, run, seeds, look)
    # after the first Ctrl-C, further ones must not lose the result being built
    with stoppable(), opened(run.checkpoint, parts, _file_of) as kept:
        return _drawn(chunks, data, path, run, seeds, look, kept)


def _decisive(
    chunks: ChunkAlgorithm, data: Data, path: Path, run: Run, seeds: Seeds, look: Look | None
) -> dict[str, Any]:
    """Everything that determines the draws, and that a checkpoint must match."""
    return {
        "data": digest(data),
        "algorithm": digest(chunks),
        "method": path.method,
        "schedule": str(list(getattr(path, "blocks", ()))),
        "inputs": digest(getattr(path, "inputs", None)),
        "seed": str(seeds.entropy),
        "predict_on": digest(run.predict_on),
        "quantity": digest(look),
        "version": installed_versions(*chunks.traits.packages),
    }


def _file_of(task: _Task) -> str:
    """Name of the file of a chunk: its number, and the places of its draws."""
    places = "all" if len(task.places) == task.places[-1] + 1 else digest(task.places)[:8]
    return f"chunk-{task.chunk:06d}-{task.places[-1] + 1}-{places}"


def _drawn(
    chunks: ChunkAlgorithm,
    data: Data,
    path: Path,
    run: Run,
    seeds: Seeds,
    look: Look | None,
    kept: Checkpoint | None,
) -> tuple[Posterior, list[list[Any]]]:
    started = time.perf_counter()
    begun = made_once(kept, "first", partial(_begun, chunks, data, seeds), parts_of(data))
    chunks, data, first, seconds, moves, repeats = begun
    prepared = getattr(chunks, "algorithm", chunks)  # a plain one, as the user passed it
    chunks = as_chunks(prepared, run.predict_on)
    job = _Job(
        chunks,
        data,
        path,
        seeds,
        None if first.failed else first.models,
        look,
        run.on_error,
        None if kept is None else kept.states,
        not moves,
    )
    found = _made(job, run, seconds * refit_work(chunks.traits, data.n, path), kept)
    if not (repeats and all(each.value.repeats for each in found.done.values())):
        warn_of_global_generator()
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
    """A chunk to make: its number, and the places of the draws to keep."""

    chunk: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class _Job:
    """Shared by all chunks of a run; `first` are the first fits of chunk 0, if none failed."""

    algorithm: ChunkAlgorithm
    data: Data
    path: Path
    seeds: Seeds
    first: Models | None
    look: Look | None
    on_error: OnError
    states: SavedStates | None = None
    watched: bool = False  # whether NumPy's global generator was used, in the first chunk

    def saved(self, task: _Task) -> SavedState | None:
        """Where the state of an unfinished chunk is stored."""
        if self.states is None:
            return None
        return self.states.of(_file_of(task), [self.algorithm, *parts_of(self.data)])

    def first_fits(self, state: State) -> Models:
        """First fits of a chunk; the same for all chunks unless the algorithm is random."""
        if self.first is not None and not self.algorithm.traits.randomised:
            return self.first
        if self.first is not None and state.streams.number == 0:
            return chosen(self.first, state.streams.draws)
        return self.algorithm.fit(state.data, state.streams.at(0))


def _begun(
    chunks: ChunkAlgorithm, data: Data, seeds: Seeds
) -> tuple[ChunkAlgorithm, Data, State, float, bool, bool]:
    """Common start of all chunks: what is learned once, and the first fits of chunk 0.

    Also the seconds of the first fits, whether they used NumPy's global generator, and whether
    they can be reproduced.
    """
    watch = Watch()
    (chunks, data), _ = timed_on_one_thread(partial(chunks.prepare, data, seeds.shared()))
    of_fit = Watch()
    first, seconds = timed_on_one_thread(partial(_fit_of_first_chunk, chunks, data, seeds))
    moves = of_fit.moved()
    repeats = not watch.moved() or _repeats(chunks, data, seeds, first)
    return chunks, data, first, seconds, moves, repeats


@dataclass(frozen=True)
class _Drawn:
    """Finished draws, their numbers, those that failed, and what was recorded of each."""

    models: Models
    index: list[int]
    failed: list[FailedDraw]
    seen: list[list[Any]]
    repeats: bool = True  # as far as is known


def _fit_of_first_chunk(algorithm: ChunkAlgorithm, data: Data, seeds: Seeds) -> State:
    """First fits of chunk 0. If all fail, the data are the cause: the user gets the plain error."""

    def fit(state: State) -> State:
        return state.moved(state.data, algorithm.fit(state.data, state.streams.at(0)), steps=0)

    every = _Task(0, tuple(range(algorithm.traits.chunk)))
    state = surviving(fit, _before_fit(algorithm, data, seeds, every))
    if state.lost:
        raise state.failed[0]
    return state


def _repeats(algorithm: ChunkAlgorithm, data: Data, seeds: Seeds, first: State) -> bool:
    """Whether repeated first fits with the same seeds give the same outcomes."""
    return _same_outcomes(algorithm, first, _fit_of_first_chunk(algorithm, data, seeds))


def _same_outcomes(algorithm: ChunkAlgorithm, one: State, other: State) -> bool:
    rows = Repeated(one.data[0].rows(), algorithm.traits.chunk)
    outcomes = [
        sampled(algorithm, state, rows, state.streams.at(state.step + 1)) for state in (one, other)
    ]
    return all(map(np.array_equal, *outcomes))


def _before_fit(algorithm: ChunkAlgorithm, data: Data, seeds: Seeds, task: _Task) -> State:
    """A whole chunk, as shapes must not depend on `n_draws`; copies follow the last draw to keep.

    Draws before that are made even if they are not needed: a draw may depend on how many random
    numbers of the chunk's generator the earlier ones have used.
    """
    size, last = algorithm.traits.chunk, max(task.places)
    first = task.chunk * size
    draws = [*range(first, first + last), *repeat(first + last, size - last)]
    return State(seeds.streams(draws, task.chunk), 0, Repeated(data, size))


def _make_chunk(job: _Job, task: _Task) -> _Drawn:
    """Make the draws of a chunk; a shared function, so that tasks are small."""
    saved = job.saved(task)
    earlier = None if saved is None else saved.load()
    if earlier is not None:
        with suppress(Exception):
            state, seen = earlier
            seen = seen[:-1]  # the last state is observed again
            drawn = _drawn_of(job, task, _advanced(job, task, state, seen, saved), seen)
            if len(drawn.failed) == len(state.failed.keys() & set(task.places)):
                return drawn  # otherwise the saved state may be the cause: start again
    watch, seen = Watch(), []
    end = _from_the_start(job, task, seen, saved)
    drawn = _drawn_of(job, task, end, seen)
    if job.watched and task.chunk == 0 and watch.moved() and not end.failed:
        again = _from_the_start(job, task, [], None)
        return replace(drawn, repeats=_same_outcomes(job.algorithm, end, again))
    return drawn


def _from_the_start(job: _Job, task: _Task, seen: list[Any], saved: SavedState | None) -> State:
    before = _before_fit(job.algorithm, job.data, job.seeds, task)
    state = surviving(partial(job.path.start, job.algorithm, first=job.first_fits), before)
    _note_failures(before, state, "", job.on_error)
    return _advanced(job, task, state, seen, saved)


def _advanced(
    job: _Job, task: _Task, state: State, seen: list[Any], saved: SavedState | None
) -> State:
    """Take a chunk from a state to the end of its path."""
    observe = (
        None if job.look is None else partial(_note, seen, job.look, job.algorithm, task.places)
    )
    save = None if saved is None else lambda state: saved.save((state, seen))
    return advance(job.algorithm, job.path, state, observe, save, job.on_error)


def _drawn_of(job: _Job, task: _Task, state: State, seen: list[Any]) -> _Drawn:
    """Results of a chunk at the end of its path."""
    first = task.chunk * job.algorithm.traits.chunk  # number of the draw in the first place
    final = surviving(partial(_finished, job.algorithm), state)
    _note_failures(state, final, "", job.on_error)
    kept = [place for place in task.places if place not in final.failed]
    failed = sorted(final.failed.keys() & set(task.places))
    noted: set[int] = set().union(*seen)  # of a few draws, if there are many
    return _Drawn(
        chosen(final.models, kept),
        [first + place for place in kept],
        [_failed_draw(first + place, final.failed[place]) for place in failed],
        [[at[place] for at in seen if place in at] if place in noted else [] for place in kept],
    )


def _note(
    seen: list[Mapping[int, Any]],
    look: Look,
    algorithm: ChunkAlgorithm,
    places: Sequence[int],
    state: State,
) -> None:
    seen.append(look(algorithm, state, places))


def _finished(algorithm: ChunkAlgorithm, state: State) -> State:
    """Finished final models; a model that cannot be sampled from is not a draw."""
    rows = Repeated(state.data[0].rows().head(ROWS_TRIED), len(state.streams))
    sampled(algorithm, state, rows, state.streams.at(state.step + 1))
    return state.moved(state.data, algorithm.finish(state.models), steps=0)


def _failed_draw(number: int, error: Exception) -> FailedDraw:
    return FailedDraw(number, in_one_line(error), "".join(traceback.format_exception(error)))


def _made(job: _Job, run: Run, seconds_per_chunk: float, kept: Checkpoint | None) -> Gathered:
    """Make the chunks that contain missing draws, in any executor."""
    traits = job.algorithm.traits
    places: dict[int, list[int]] = {}
    for number in run.missing:
        places.setdefault(number // traits.chunk, []).append(number % traits.chunk)
    tasks = [_Task(chunk, tuple(inside)) for chunk, inside in places.items()]
    return gather(
        run.executor_for(traits.runs_in),
        _make_chunk,
        job,
        tasks,
        on_error=run.on_error,
        seconds_per_item=seconds_per_chunk,
        progress=run.progress,
        sizes=[len(task.places) for task in tasks],
        limit=run.limit,
        kept=kept,
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
    """Median time of a draw; that of the earlier part if no draw was missing."""
    times = [done.seconds / len(task.places) for task, done in found.done.items()]
    if times or run.resume is None:
        return statistics.median(times or [0.0])
    return run.resume.provenance.seconds["per_draw"]


def refit_work(traits: Traits, n: float, path: Path) -> float:
    """Cost of a path in first fits to n rows: a refit costs one with counts, else by its rows."""
    fits = 1.0 if traits.randomised or path.n_steps == 0 else 0.0
    if traits.counts or not traits.keeps_rows or not isinstance(path, Martingale):
        return fits + path.n_steps
    return fits + float(np.sum((1 + np.cumsum(path.blocks) / n) ** traits.growth))


class _WhereError(Exception):
    """Where a draw failed, in another process: shown above the error it caused."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _warn(drawn: _Drawn, n_draws: int, interrupted: bool) -> None:
    failed = drawn.failed
    if not len(drawn.models):
        said = f"all {n_draws} draws failed; the first said: {failed[0].error}"
        raise RuntimeError(said) from _WhereError(failed[0].traceback)
    if failed:
        warn(
            f"{len(failed)} of {n_draws} draws failed and are left out; the first said: "
            f"{failed[0].error.rstrip('.')}. See posterior.failed, or use on_error='raise'.",
            DrawWarning,
        )
    if interrupted:
        warn(
            f"interrupted: {len(drawn.models)} of {n_draws} draws are finished and kept.",
            DrawWarning,
        )
