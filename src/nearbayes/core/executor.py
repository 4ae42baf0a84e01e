"""Executor: makes independent draws on joblib, whatever its backend, and loses none.

Seeds exist before any parallel work and every draw runs on one thread, so results are the same bit
for bit for any `n_jobs` and any backend. A draw that fails is recorded and costs no other draw; so
does a worker process that dies. Ctrl-C keeps what is finished.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Literal

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

# scikit-learn's own, because they hand its configuration (metadata routing) on to the workers
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from nearbayes.core.progress import show_progress

__all__ = ["Drawn", "FailedDraw", "OnError", "make_draws", "one_thread", "timed_on_one_thread"]

OnError = Literal["report", "raise"]
Task = Callable[[], Any]


@dataclass(frozen=True)
class FailedDraw:
    """A draw that raised: which one, what was said, and where."""

    index: int
    error: str
    traceback: str


@dataclass(frozen=True)
class _Finished:
    index: int
    model: Any
    seconds: float


@dataclass(frozen=True)
class Drawn:
    """What came of the draws.

    Attributes
    ----------
    models : list
        One model per finished draw, in the order of their seeds.
    index : list of int
        Which draws these are.
    seconds : list of float
        Time each took, in its process.
    failed : list of FailedDraw
    interrupted : bool
        Whether Ctrl-C stopped the work early.
    """

    models: list[Any]
    index: list[int]
    seconds: list[float]
    failed: list[FailedDraw]
    interrupted: bool


def timed_on_one_thread(task: Task) -> tuple[Any, float]:
    """Run a task with inner threads capped at one; give its result and its seconds.

    Besides speed, this fixes the order of sums: forests add up their trees as threads finish.
    """
    started = time.perf_counter()
    with one_thread(), joblib.parallel_config(backend="sequential"):
        result = task()
    return result, time.perf_counter() - started


@contextmanager
def one_thread() -> Iterator[None]:
    """Context, which threads may share, in which linear algebra and OpenMP have one thread each."""
    pools = _thread_pools(len(sys.modules))
    with pools.select(user_api="openmp").limit(limits=1), _linear_algebra.limited(pools):
        yield


class _LinearAlgebra:
    """Threads of linear algebra, which belong to the whole process, while OpenMP counts by thread.

    The first thread to enter sets the limit and the last to leave lifts it: each on its own would
    take the limit of another for what was there before, and leave it behind.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    @contextmanager
    def limited(self, pools: ThreadpoolController) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limit = pools.select(user_api="blas").limit(limits=1)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


_linear_algebra = _LinearAlgebra()


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Find the thread pools of loaded libraries; again when modules, and so libraries, came."""
    return ThreadpoolController()


def make_draws(
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    on_error: OnError = "report",
    seconds_per_draw: float = 0.0,
    progress: bool | None = None,
    what: str = "draws",
) -> Drawn:
    """Run independent tasks, each making one draw.

    Parameters
    ----------
    tasks : sequence of callables without arguments
        They must pickle, with cloudpickle's help, for backends with processes.
    n_jobs : int, optional
        As in joblib; None honours ``joblib.parallel_config``, else one process.
    on_error : "report" or "raise"
        Record a draw that raises, or raise its error at once.
    seconds_per_draw : float
        Expected cost of one draw, for the estimate shown with the progress bar.
    progress : bool, optional
        None shows a bar on a terminal only.
    what : str
        What the progress bar calls the tasks.

    Examples
    --------
    >>> drawn = make_draws([lambda: 1, lambda: 1 / 0, lambda: 3])
    >>> drawn.models, drawn.index, drawn.failed[0].error
    ([1, 3], [0, 2], 'ZeroDivisionError: division by zero')
    """
    outcomes: dict[int, _Finished | FailedDraw] = {}
    interrupted = False
    estimate = seconds_per_draw * len(tasks) / joblib.effective_n_jobs(n_jobs)
    with show_progress(len(tasks), estimate, progress, what) as advance:
        try:
            for outcome in _outcomes(tasks, outcomes, n_jobs, on_error):
                outcomes[outcome.index] = outcome
                advance()
        except KeyboardInterrupt:
            if not any(isinstance(outcome, _Finished) for outcome in outcomes.values()):
                raise
            interrupted = True
    ordered = [outcomes[index] for index in sorted(outcomes)]
    finished = [outcome for outcome in ordered if isinstance(outcome, _Finished)]
    return Drawn(
        models=[outcome.model for outcome in finished],
        index=[outcome.index for outcome in finished],
        seconds=[outcome.seconds for outcome in finished],
        failed=[outcome for outcome in ordered if isinstance(outcome, FailedDraw)],
        interrupted=interrupted,
    )


def _outcomes(
    tasks: Sequence[Task],
    outcomes: dict[int, _Finished | FailedDraw],
    n_jobs: int | None,
    on_error: OnError,
) -> Iterator[_Finished | FailedDraw]:
    """Yield outcomes as they come; after a worker died, run what is left one draw at a time."""
    jobs = [delayed(_one_draw)(k, task, on_error) for k, task in enumerate(tasks)]
    try:
        yield from _in_parallel(jobs, n_jobs)
    except TerminatedWorkerError:
        for index, job in enumerate(jobs):
            if index not in outcomes:
                yield from _alone(index, job, on_error)


def _in_parallel(jobs: Sequence[Any], n_jobs: int | None) -> Iterator[_Finished | FailedDraw]:
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend that can only return everything at the end
        parallel = Parallel(n_jobs=n_jobs)
    yield from parallel(jobs)


def _alone(index: int, job: Any, on_error: OnError) -> Iterator[_Finished | FailedDraw]:
    """Run one draw in a process of its own, so that its death takes nothing along."""
    try:
        # n_jobs=2 because joblib runs n_jobs=1 in this process, which must survive
        yield from Parallel(n_jobs=2, backend="loky")([job])
    except TerminatedWorkerError as died:
        if on_error == "raise":
            raise
        yield FailedDraw(
            index,
            "the worker process died, as when memory runs out: lower n_jobs or the data size.",
            str(died),
        )


def _one_draw(index: int, task: Task, on_error: OnError) -> _Finished | FailedDraw:
    try:
        model, seconds = timed_on_one_thread(task)
    except Exception as error:
        if on_error == "raise":
            error.add_note(f"raised in draw {index}; on_error='report' would keep the others.")
            raise
        return FailedDraw(index, _in_one_line(error), traceback.format_exc())
    return _Finished(index, model, seconds)


def _in_one_line(error: Exception) -> str:
    notes = " ".join(getattr(error, "__notes__", []))
    return " ".join(f"{type(error).__name__}: {error} {notes}".split())
