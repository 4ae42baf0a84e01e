"""Processes: tasks in worker processes of this machine, each of which can die or hang alone.

Every worker has its own pool (joblib's loky), so that a dead worker loses only its own item, which
a new worker tries again while the others continue. A worker whose item takes too long is stopped.
Workers are kept for the next run, because starting one takes seconds.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from joblib.externals.loky.process_executor import ProcessPoolExecutor

from nearbayes.execution.executor import Done, Item, Limit, Limits, Lost, Task, in_one_line
from nearbayes.execution.freed_memory import keep_no_large_blocks
from nearbayes.execution.interrupts import hidden_from_workers
from nearbayes.execution.memory import own_memory
from nearbayes.execution.progress import in_words
from nearbayes.execution.spool import forget, spooled
from nearbayes.execution.work import Work

__all__ = ["DIED", "LOOKS_EVERY", "ProcessExecutor", "took_too_long", "took_too_much"]

DIED = "the worker process died, as when memory runs out: lower n_jobs or the data size."
TRIES = 2  # attempts for an item whose worker died
STARTS = 3  # successive workers that may die before any result
LOOKS_EVERY = 0.1  # seconds between two checks of a worker's memory
TAKEN_WITHIN = 5.0  # seconds in which loky's thread takes a submitted task, even on a busy machine
IDLE = 300.0  # seconds after which an unused worker ends
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
Outcome = tuple[Item, Done | Lost]


@dataclass(frozen=True)
class ProcessExecutor:
    """Tasks in worker processes of this machine.

    Attributes
    ----------
    workers : int
        Number of tasks that run at the same time.
    """

    workers: int

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`."""
        if not items:
            return
        with spooled(Work(task, shared)) as handle:
            crew = _Crew(handle, min(self.workers, len(items)), items, limits)
            try:
                yield from crew.outcomes()
            finally:
                crew.dismiss()


class _Worker:
    """One process, and its current item; None while it loads shared data."""

    def __init__(self, handle: Any) -> None:
        self.pool = _borrowed()
        self.item: Item | None = None
        self.loading = True
        self.deadline = self.most = math.inf
        self.future = self._submit(_load, handle)

    def start(self, handle: Any, item: Item, limit: Limit) -> None:
        self.item, self.loading = item, False
        self.deadline = time.monotonic() + limit.seconds
        self.most = limit.memory if math.isinf(limit.memory) else self.memory() + limit.memory
        self.future = self._submit(_outcome, handle, item)

    def memory(self) -> int:
        return sum(own_memory(process) for process in list(self.pool._processes))

    def _submit(self, *call: Any) -> Future[Any]:
        with hidden_from_workers():
            while True:
                try:
                    return self.pool.submit(*call)  # type: ignore[no-any-return]
                except BrokenProcessPool:  # died since it was last used
                    self.pool = _borrowed()

    def end(self) -> None:
        self._wait_until_taken()
        self.pool.shutdown(wait=True, kill_workers=True)

    def _wait_until_taken(self) -> None:
        """Wait until loky's thread took the task; it fails if its worker is killed before that."""
        latest = time.monotonic() + TAKEN_WITHIN
        while not (self.future.running() or self.future.done()) and time.monotonic() < latest:
            time.sleep(0.001)


class _Crew:
    """The workers of a run and the items that wait for them."""

    def __init__(self, handle: Any, size: int, items: Sequence[Item], limits: Limits) -> None:
        self.handle, self.limits = handle, limits
        self.waiting = deque(items)
        self.deaths: Counter[Item] = Counter()
        self.failed_starts = 0
        self.workers: list[_Worker] = []
        for _ in range(size):
            self.workers.append(_Worker(handle))

    def outcomes(self) -> Iterator[Outcome]:
        """Process all items; every worker gets its next item before an outcome is yielded."""
        while self.workers:
            wait([worker.future for worker in self.workers], self._pause(), FIRST_COMPLETED)
            found = [self._looked_at(worker) for worker in list(self.workers)]
            yield from (outcome for outcome in found if outcome is not None)
        for item in self.waiting:  # no worker is left to do them
            yield item, Lost(DIED, "Workers died while they loaded the shared data.")

    def _pause(self) -> float | None:
        """Seconds until a worker must be checked, even if none is done."""
        left = min(worker.deadline for worker in self.workers) - time.monotonic()
        if any(worker.most < math.inf for worker in self.workers):
            left = min(left, LOOKS_EVERY)
        return None if math.isinf(left) else max(0.0, left)

    def _looked_at(self, worker: _Worker) -> Outcome | None:
        if worker.future.done():
            return self._ended(worker)
        item, lost = worker.item, None
        if time.monotonic() >= worker.deadline:
            lost = took_too_long(self.limits[item].seconds)
        elif worker.most < math.inf and worker.memory() > worker.most:
            lost = took_too_much(self.limits[item].memory)
        if lost is None:
            return None
        self._replace(worker)
        return item, lost

    def _ended(self, worker: _Worker) -> Outcome | None:
        """Take a worker's result, and give it the next item."""
        item, loading = worker.item, worker.loading
        try:
            result = worker.future.result()
        except BrokenProcessPool as died:
            self._replace(worker)
            return self._died(item, loading, died)
        except Exception as error:  # shared data or a result cannot be sent
            if loading:
                raise
            result = Lost(in_one_line(error), str(error.__cause__ or error), error)
        self.failed_starts = 0
        self._go_on(worker)
        return None if loading else (item, result)

    def _died(self, item: Item | None, loading: bool, died: BrokenProcessPool) -> Outcome | None:
        """Queue the item of a dead worker again, or give it up."""
        if loading:
            self.failed_starts += 1
            return None
        self.deaths[item] += 1
        if self.deaths[item] < TRIES:
            self.waiting.append(item)
            self._add_if_idle()
            return None
        return item, Lost(DIED, str(died))

    def _go_on(self, worker: _Worker) -> None:
        if self.waiting:
            item = self.waiting.popleft()
            worker.start(self.handle, item, self.limits.get(item, Limit()))
        else:
            self.workers.remove(worker)
            _give_back(worker.pool)

    def _replace(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        worker.end()
        if self.waiting and self.failed_starts < STARTS:
            self.workers.append(_Worker(self.handle))

    def _add_if_idle(self) -> None:
        """An item was queued again after the others were assigned."""
        if not any(worker.loading for worker in self.workers):
            self.workers.append(_Worker(self.handle))

    def dismiss(self) -> None:
        """Stop workers that are still busy, for example after Ctrl-C."""
        for worker in self.workers:
            worker.end()


def took_too_long(limit: float) -> Lost:
    """An item whose worker was stopped."""
    said = f"took longer than draw_timeout allows ({in_words(limit)}): its worker was ended."
    return Lost(said, said)


def took_too_much(limit: float) -> Lost:
    """An item whose worker was stopped for its memory."""
    said = f"took more memory than draw_memory allows ({limit / 1e9:.2g} GB): its worker was ended."
    return Lost(said, said)


_idle: dict[int, list[ProcessPoolExecutor]] = {}  # by process, as a fork does not have its parent's
_lock = threading.Lock()


def _borrowed() -> ProcessPoolExecutor:
    """A pool of one process: an idle one, or a new one."""
    with _lock:
        mine = _idle.setdefault(os.getpid(), [])
        if mine:
            return mine.pop()
    return ProcessPoolExecutor(
        max_workers=1,
        timeout=IDLE,
        initializer=_set_up,
        initargs=(os.getpid(),),
        env={name: os.environ.get(name, "1") for name in THREADS},
    )


def _give_back(pool: ProcessPoolExecutor) -> None:
    """Keep a worker for the next run, but not its shared data."""
    with hidden_from_workers():
        try:
            pool.submit(forget)
        except BrokenProcessPool:  # died since
            return
    with _lock:
        _idle.setdefault(os.getpid(), []).append(pool)


def _set_up(parent: int) -> None:
    """In a worker: use little memory, and end with the parent, even if that is killed."""
    keep_no_large_blocks()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _load(handle: Any) -> None:
    """In a worker: load shared data, which does not count as time of an item."""
    handle.value  # noqa: B018


def _outcome(handle: Any, item: Item) -> Done | Lost:
    """In a worker: process one item."""
    return handle.value.outcome(item)  # type: ignore[no-any-return]
