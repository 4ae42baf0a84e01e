"""Executor: where chunks of draws run. Joblib's backends: here, threads, processes.

Tasks are independent, and every one runs on one thread, so results are the same bit for bit for any
`n_jobs` and any backend. A task that raises is recorded, and so is a worker process that dies;
neither loses the results of other tasks. Ctrl-C keeps what is finished.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Literal, Protocol

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

# scikit-learn's own, because they hand its configuration (metadata routing) on to the workers
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from nearbayes.execution.progress import show_progress
from nearbayes.execution.spool import Handle, spooled

__all__ = [
    "Done",
    "Executor",
    "Gathered",
    "JoblibExecutor",
    "Lost",
    "OnError",
    "gather",
    "in_one_line",
    "one_thread",
    "timed_on_one_thread",
]

OnError = Literal["report", "raise"]
Item = Hashable
Task = Callable[[Any, Any], Any]  # of what is shared, and of an item
SAME_MACHINE = ("LokyBackend", "MultiprocessingBackend")
DIED = "the worker process died, as when memory runs out: lower n_jobs or the data size."


@dataclass(frozen=True)
class Done:
    """The result of a task, and the seconds that it took in its process."""

    value: Any
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A task without a result: what was said, and where."""

    error: str
    traceback: str


class Executor(Protocol):
    """Where tasks run. What they share is handed to each worker once, not with every task."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], on_error: OnError
    ) -> Iterator[tuple[Item, Done | Lost]]:
        """Do ``task(shared, item)`` for every item; yield outcomes as they come, in any order."""


@dataclass(frozen=True)
class JoblibExecutor:
    """Tasks on joblib's backends.

    Attributes
    ----------
    n_jobs : int, optional
        As in joblib; None honours ``joblib.parallel_config``, else one process.
    runs_in : "processes" or "threads"
        Threads for programs that release Python's lock; otherwise what joblib is configured to.
    """

    n_jobs: int | None = None
    runs_in: Literal["processes", "threads"] = "processes"

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return int(joblib.effective_n_jobs(self.n_jobs))

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], on_error: OnError
    ) -> Iterator[tuple[Item, Done | Lost]]:
        """See `Executor.run`. After a worker died, what is left runs one task at a time."""
        finished: set[Item] = set()
        with self._handed_over(shared) as handle:
            jobs = {item: delayed(_outcome)(task, handle, item, on_error) for item in items}
            try:
                for item, outcome in self._in_parallel(list(jobs.values())):
                    finished.add(item)
                    yield item, outcome
            except TerminatedWorkerError:
                for item in items:
                    if item not in finished:
                        yield item, _alone(jobs[item], on_error)

    def _handed_over(self, shared: Any) -> Any:
        """What tasks carry instead of what they share: for processes, where to find it."""
        backend, _ = joblib.parallel.get_active_backend(**self._options)
        if self.workers > 1 and type(backend).__name__ in SAME_MACHINE:
            return spooled(shared)
        return nullcontext(Handle(shared))

    @property
    def _options(self) -> dict[str, str]:
        return {"require": "sharedmem"} if self.runs_in == "threads" else {}

    def _in_parallel(self, jobs: Sequence[Any]) -> Iterator[tuple[Item, Done | Lost]]:
        try:
            parallel = Parallel(
                n_jobs=self.n_jobs, return_as="generator_unordered", **self._options
            )
        except ValueError:  # a backend that can only return everything at the end
            parallel = Parallel(n_jobs=self.n_jobs, **self._options)
        yield from parallel(jobs)


def _alone(job: Any, on_error: OnError) -> Done | Lost:
    """Run one task in a process of its own, so that its death takes nothing along."""
    try:
        # n_jobs=2 because joblib runs n_jobs=1 in this process, which must survive
        ((_, outcome),) = Parallel(n_jobs=2, backend="loky")([job])
    except TerminatedWorkerError as died:
        if on_error == "raise":
            raise
        return Lost(DIED, str(died))
    return outcome  # type: ignore[no-any-return]


def _outcome(task: Task, handle: Handle, item: Item, on_error: OnError) -> Any:
    try:
        value, seconds = timed_on_one_thread(lambda: task(handle.value, item))
    except Exception as error:
        if on_error == "raise":
            raise
        return item, Lost(in_one_line(error), traceback.format_exc())
    return item, Done(value, seconds)


@dataclass
class Gathered:
    """What came of some tasks.

    Attributes
    ----------
    done : dict of item to Done
    lost : dict of item to Lost
    interrupted : bool
        Whether Ctrl-C stopped the work early.
    """

    done: dict[Any, Done] = field(default_factory=dict)
    lost: dict[Any, Lost] = field(default_factory=dict)
    interrupted: bool = False


def gather(
    executor: Executor,
    task: Task,
    shared: Any,
    items: Sequence[Item],
    *,
    on_error: OnError = "report",
    seconds_per_item: float = 0.0,
    progress: bool | None = None,
    what: str = "draws",
    sizes: Sequence[int] | None = None,
) -> Gathered:
    """Do all tasks with a progress bar; Ctrl-C keeps what is finished.

    Parameters
    ----------
    executor : Executor
    task : callable
        ``task(shared, item)``; must pickle, with cloudpickle's help, for processes.
    shared : object
    items : sequence
    on_error : "report" or "raise"
        Record a task that raises, or raise its error at once.
    seconds_per_item : float
        Expected cost of one task, for the estimate shown with the progress bar.
    progress : bool, optional
        None shows a bar on a terminal only.
    what : str
        What the progress bar counts.
    sizes : sequence of int, optional
        How many of these each task stands for; default 1.

    Examples
    --------
    >>> found = gather(JoblibExecutor(), lambda shared, k: shared // k, 6, [1, 0, 3])
    >>> {k: done.value for k, done in found.done.items()}, found.lost[0].error
    ({1: 6, 3: 2}, 'ZeroDivisionError: integer division or modulo by zero')
    """
    found = Gathered()
    weight = dict(zip(items, sizes or [1] * len(items), strict=True))
    estimate = seconds_per_item * len(items) / executor.workers
    with show_progress(sum(weight.values()), estimate, progress, what) as advance:
        try:
            for item, outcome in executor.run(task, shared, items, on_error):
                if isinstance(outcome, Done):
                    found.done[item] = outcome
                else:
                    found.lost[item] = outcome
                advance(weight[item])
        except KeyboardInterrupt:
            if not found.done:
                raise
            found.interrupted = True
    return found


def timed_on_one_thread(task: Callable[[], Any]) -> tuple[Any, float]:
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


def in_one_line(error: BaseException) -> str:
    """What an error says, with its notes, in one line."""
    notes = " ".join(getattr(error, "__notes__", []))
    return " ".join(f"{type(error).__name__}: {error} {notes}".split())
