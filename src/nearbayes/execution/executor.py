"""Executor: where independent tasks run, and how failures are handled.

Every task runs on one thread, so results are the same bit for bit for any `n_jobs` and any
executor (`executors.py`). Tasks that raise and worker processes that die are recorded; neither
loses the results of other tasks. Ctrl-C keeps finished tasks.
"""

from __future__ import annotations

import math
import pickle
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock
from typing import Any, Literal, Protocol

import joblib
from threadpoolctl import ThreadpoolController

from nearbayes.execution.deadline import end_by, moment_to_end
from nearbayes.execution.interrupts import stoppable
from nearbayes.execution.progress import show_progress

__all__ = [
    "Done",
    "Executor",
    "Gathered",
    "Item",
    "Kept",
    "Limit",
    "Limits",
    "Lost",
    "OnError",
    "Task",
    "gather",
    "in_one_line",
    "limit_of",
    "one_thread",
    "timed_on_one_thread",
]

OnError = Literal["report", "raise"]
Item = Hashable
Task = Callable[[Any, Any], Any]  # of shared data, and of an item


@dataclass(frozen=True)
class Limit:
    """Limits of an item.

    Attributes
    ----------
    seconds : float
    memory : float
        Number of bytes by which its process may grow.
    """

    seconds: float = math.inf
    memory: float = math.inf


Limits = Mapping[Any, Limit]


@dataclass(frozen=True)
class Done:
    """The result of a task, its seconds in its process, and whether that process wrote it."""

    value: Any
    seconds: float
    kept: bool = False


@dataclass(frozen=True)
class Lost:
    """A task without a result: message, place, and the error (or its pickle) if known."""

    error: str
    traceback: str
    raised: Any = None

    def exception(self) -> Exception:
        """The error to raise in this process."""
        found = pickle.loads(self.raised) if isinstance(self.raised, bytes) else self.raised
        if isinstance(found, Exception):
            return found
        return RuntimeError(f"{self.error}\n{self.traceback}")


class Executor(Protocol):
    """Where tasks run. Shared data are sent to each worker once, not with every task."""

    @property
    def workers(self) -> int:
        """Number of tasks that run at the same time."""

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[tuple[Item, Done | Lost]]:
        """Do ``task(shared, item)`` for every item; yield outcomes as they come, in any order.

        A worker that dies loses only its own item, which is tried again in a new worker before it
        counts as lost. If an item has a limit in `limits`, its worker is stopped when the limit is
        reached.
        """


@dataclass
class Gathered:
    """Results of some tasks.

    Attributes
    ----------
    done : dict of item to Done
    lost : dict of item to Lost
    interrupted : bool
        Whether Ctrl-C or SIGTERM stopped the work early.
    """

    done: dict[Any, Done] = field(default_factory=dict)
    lost: dict[Any, Lost] = field(default_factory=dict)
    interrupted: bool = False


class Keeps(Protocol):
    """Reads and writes finished tasks in workers; see `keeping`."""

    def found(self, item: Item) -> Done | None:
        """A task that was finished in the meantime, if known. Never fails."""

    def keep(self, item: Item, done: Done) -> bool:
        """Write a finished item; whether that worked. Never fails."""


class Kept(Protocol):
    """Stored finished tasks, of this run or an earlier one; see `checkpoint`."""

    @property
    def keeper(self) -> Keeps | None:
        """Writes tasks in workers, after `load`; None if workers do not write."""

    def load(self, items: Sequence[Item]) -> dict[Any, Done]:
        """Stored items among these."""

    def save(self, item: Item, done: Done) -> None:
        """Keep a finished item."""


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
    limit: Limit | None = None,
    kept: Kept | None = None,
) -> Gathered:
    """Do all tasks with a progress bar; Ctrl-C and `end_by` keep finished tasks.

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
        Number of units (such as draws) in each task; default 1.
    limit : Limit, optional
        Time limit of each unit in seconds, and memory limit of a task, on executors that can stop a
        worker.
    kept : Kept, optional
        Where finished tasks are stored; existing ones are not done again.

    Examples
    --------
    >>> from nearbayes.execution.executors import SerialExecutor
    >>> found = gather(SerialExecutor(), lambda shared, k: shared // k, 6, [1, 0, 3])
    >>> {k: done.value for k, done in found.done.items()}, found.lost[0].error
    ({1: 6, 3: 2}, 'ZeroDivisionError: integer division or modulo by zero')
    """
    weight = dict(zip(items, sizes or [1] * len(items), strict=True))
    found = Gathered({} if kept is None else kept.load(items))
    left = [item for item in items if item not in found.done]
    keeper = None if kept is None else kept.keeper
    # if items have a limit, the time to write must not count
    asked = task if keeper is None or limit is not None else _Keeping(task, keeper)
    limits = {} if limit is None else {item: _times(limit, weight[item]) for item in left}
    estimate = seconds_per_item * len(left) / max(executor.workers, 1)
    clock = _Clock(moment_to_end(), max(executor.workers, 1))
    with (
        end_by(None),  # nested tasks are always completed
        stoppable() as stop,
        show_progress(sum(weight.values()), estimate, progress, what) as advance,
    ):
        advance(sum(weight[item] for item in found.done))
        try:
            with closing(executor.run(asked, shared, left, limits)) as outcomes:  # type: ignore[type-var]
                for item, outcome in outcomes:
                    _note(found, item, outcome, on_error, kept)
                    advance(weight[item])
                    if clock.has_no_time_after(len(found.done)) and _enough(found, weight):
                        break
        except KeyboardInterrupt:
            if not found.done:
                raise
            stop.shield()
            found.interrupted = True
    return found


@dataclass(frozen=True)
class _Keeping:
    """A task whose results are written by the worker before it starts another.

    A cluster repeats a task whose result was lost with its worker; written results are not lost.
    """

    task: Task
    keeper: Keeps

    def __call__(self, shared: Any, item: Item) -> Done:
        found = self.keeper.found(item)
        if found is not None:
            return replace(found, kept=True)
        started = time.perf_counter()
        done = Done(self.task(shared, item), time.perf_counter() - started)
        return replace(done, kept=self.keeper.keep(item, done))


class _Clock:
    """Whether the next task would end after the deadline of `end_by`."""

    def __init__(self, ends: float | None, workers: int) -> None:
        self.ends, self.workers, self.started = ends, workers, time.monotonic()

    def has_no_time_after(self, n_done: int) -> bool:
        """Estimate from the pace of the tasks so far."""
        now = time.monotonic()
        usual = (now - self.started) * self.workers / max(n_done, 1)
        return self.ends is not None and now + usual > self.ends


def limit_of(seconds: float | None, memory: float | None) -> Limit | None:
    """The limit of a draw; None if there is none."""
    if seconds is None and memory is None:
        return None
    found = (math.inf if each is None else float(each) for each in (seconds, memory))
    return Limit(*found)


def _times(limit: Limit, size: int) -> Limit:
    """The limit of a task with several units; they are in memory together."""
    return replace(limit, seconds=limit.seconds * size)


def _enough(found: Gathered, weight: Mapping[Any, int]) -> bool:
    """Whether two are finished; with fewer there is no spread."""
    return sum(weight[item] for item in found.done) > 1


def _note(
    found: Gathered, item: Item, outcome: Done | Lost, on_error: OnError, kept: Kept | None
) -> None:
    """Add an outcome; finished tasks are stored before anything else happens."""
    if isinstance(outcome, Lost):
        if on_error == "raise":
            raise outcome.exception()
        found.lost[item] = outcome
        return
    if isinstance(outcome.value, Done):  # of a worker that may have stored it
        outcome = outcome.value
    found.done[item] = outcome
    if kept is not None:
        kept.save(item, outcome)


def timed_on_one_thread(task: Callable[[], Any]) -> tuple[Any, float]:
    """Run a task with inner threads limited to one; return its result and its seconds.

    Besides speed, this fixes the order of sums: forests add up their trees as threads finish.
    """
    started = time.perf_counter()
    with one_thread(), joblib.parallel_config(backend="sequential"):
        result = task()
    return result, time.perf_counter() - started


@contextmanager
def one_thread() -> Iterator[None]:
    """Context, shared by threads, in which linear algebra and OpenMP have one thread each."""
    pools = _thread_pools(len(sys.modules))
    with pools.select(user_api="openmp").limit(limits=1), _linear_algebra.limited(pools):
        yield


class _LinearAlgebra:
    """Threads of linear algebra belong to the whole process, while OpenMP counts by thread.

    The first thread to enter sets the limit and the last to leave restores it. Otherwise a thread
    could take the limit of another for the original value, and restore that.
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
    """Find the thread pools of loaded libraries; again if new modules were loaded."""
    return ThreadpoolController()


def in_one_line(error: BaseException) -> str:
    """Message of an error, with its notes, in one line."""
    notes = " ".join(getattr(error, "__notes__", []))
    return " ".join(f"{type(error).__name__}: {error} {notes}".split())
