"""Clusters: tasks on Dask or Ray, through their own interfaces.

Shared data are sent to every worker once, not with every task. A worker that dies loses its current
items; the cluster tries them again elsewhere. Neither library is imported before it is requested.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from asyncio import CancelledError
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from nearbayes.execution.executor import Done, Item, Limit, Limits, Lost, Task, in_one_line
from nearbayes.execution.memory import own_memory
from nearbayes.execution.processes import DIED, LOOKS_EVERY, took_too_long, took_too_much
from nearbayes.execution.spool import Packed, packed
from nearbayes.execution.work import Work

__all__ = ["DaskExecutor", "RayExecutor", "dask_client", "started_ray"]

SENDS = 5  # attempts to send shared data, if workers die meanwhile
RETRIES = 2  # attempts for an item whose worker died
WORKERS_WITHIN = 60.0  # seconds to wait for the first worker of a cluster
IN_FLIGHT = 4  # items that Ray holds per worker, so that no worker waits for the next
GRACE = 5.0  # seconds for an overlong task to stop, before its worker is stopped
GRACE_OF_MEMORY = 1.0  # checked often, before the machine runs out of it
Outcome = tuple[Item, Done | Lost]
_clients: dict[str, Any] = {}  # by the address of their scheduler


@dataclass(frozen=True)
class DaskExecutor:
    """Tasks on the workers of a Dask client.

    Attributes
    ----------
    client : distributed.Client
    """

    client: Any

    @property
    def workers(self) -> int:
        """How many tasks run at a time: threads of all workers."""
        return int(sum(self.client.nthreads().values()))

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`.

        Dask attributes a death to all tasks of the worker. Tasks that it gives up, or whose data
        were lost with all workers that had them, run again together, as long as some of them
        finish. Then they run one at a time, so that only the task that caused the death is blamed.
        """
        if not items:
            return
        work, left = packed(Work(task, shared)), dict.fromkeys(items)
        try:
            for item, outcome in self._outcomes(work, left, limits):
                left.pop(item, None)
                yield item, outcome
        except OSError as error:  # finished tasks are not lost with the cluster
            for item in left:
                yield item, Lost(f"the cluster is gone ({in_one_line(error)})", str(error))

    def _outcomes(self, work: Packed, items: Iterable[Item], limits: Limits) -> Iterator[Outcome]:
        left = dict.fromkeys(items)
        n_before, tries = len(left) + 1, 0
        while left and (len(left) < n_before or tries < 2):
            n_before, tries = len(left), tries + 1
            for item, outcome in self._tried(work, list(left), limits):
                if outcome is not None:
                    del left[item]
                    yield item, outcome
        for item in left:
            for _, outcome in self._tried(work, [item], limits):
                yield item, outcome or Lost(_why_died(limits), DIED)

    def _scattered(self, work: Packed) -> Any:
        """Send shared data to every worker; again if a worker dies meanwhile."""
        for left in reversed(range(SENDS)):
            self.client.wait_for_workers(1, timeout=WORKERS_WITHIN)
            try:
                return self.client.scatter(work, broadcast=True, hash=False)
            except (OSError, KeyError) as error:  # Dask raises KeyError for a lost worker
                if not left:
                    raise OSError(in_one_line(error)) from error
                time.sleep(1.0)
        raise AssertionError("SENDS is positive")

    def _tried(
        self, work: Packed, items: list[Item], limits: Limits
    ) -> Iterator[tuple[Item, Done | Lost | None]]:
        """Outcomes, None for items that were lost with their workers."""
        if not items:
            return
        from distributed import as_completed

        handle = self._scattered(work)
        futures = {
            self.client.submit(
                _outcome, handle, item, limits.get(item), pure=False, retries=RETRIES
            ): item
            for item in items
        }
        try:
            for future in as_completed(list(futures), loop=self.client.loop):
                item = futures.pop(future)
                yield item, _of_dask(future)
                future.release()
        finally:
            if futures:
                self.client.cancel(list(futures), force=True)
            handle.release()


def _of_dask(future: Any) -> Done | Lost | None:
    """The outcome of a future; None if its worker, or its data, were lost."""
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        try:
            return future.result()  # type: ignore[no-any-return]
        except (Exception, CancelledError):  # the worker died before it returned its result
            return None
    error = future.exception() if future.status == "error" else None
    if error is None or isinstance(error, KilledWorker):
        return None
    return Lost(in_one_line(error), in_one_line(error), error)


def dask_client(choice: Any) -> Any:
    """The Dask client for a name, an address or a client."""
    if not isinstance(choice, str) and not _is_of_dask(choice):
        raise TypeError(f"executor must be a name, an address or a Dask client, got {choice!r}.")
    try:
        import distributed
    except ImportError as missing:
        raise ImportError(
            f"executor={choice!r} needs Dask: pip install 'nearbayes[dask]'."
        ) from missing
    if not isinstance(choice, str):
        return choice
    if choice != "dask":
        return _connected(choice)
    try:
        return distributed.get_client()
    except ValueError as none:
        address = distributed.client.dask.config.get("scheduler-address", None)
        if address is not None:
            return _connected(address)
        raise ValueError(
            "executor='dask' found no client: make one with distributed.Client(address), set "
            "DASK_SCHEDULER_ADDRESS, or pass the address (tcp://host:8786)."
        ) from none


def _is_of_dask(choice: Any) -> bool:
    """Whether this is a Dask client, also of a derived class, without importing Dask."""
    kinds = {(kind.__module__, kind.__name__) for kind in type(choice).__mro__}
    return ("distributed.client", "Client") in kinds


def _connected(address: str) -> Any:
    """A client of a scheduler; the existing one of this process, if it still works."""
    import distributed

    client = _clients.get(address)
    if client is None or client.status != "running":
        client = _clients[address] = distributed.Client(address, set_as_default=False)
    return client


@dataclass(frozen=True)
class RayExecutor:
    """Tasks on the Ray cluster that this process is connected to."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time: CPUs of the cluster."""
        import ray

        return int(ray.cluster_resources().get("CPU", 1))

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`; Ray itself retries an item whose worker died."""
        if not items:
            return
        import ray

        work = ray.put(packed(Work(task, shared)))
        submit = ray.remote(num_cpus=1, max_retries=RETRIES)(_outcome).remote
        waiting, running = iter(items), dict[Any, Item]()
        try:
            while True:
                for item in islice(waiting, IN_FLIGHT * self.workers - len(running)):
                    running[submit(work, item, limits.get(item))] = item
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1)
                yield running.pop(ready[0]), _of_ray(ready[0], limits)
        finally:
            for each in running:
                ray.cancel(each, force=True)


def _of_ray(reference: Any, limits: Limits) -> Done | Lost:
    """The outcome of a task; Ray raises errors if it, or its data, were lost."""
    import ray

    try:
        return ray.get(reference)  # type: ignore[no-any-return]
    except ray.exceptions.RayTaskError as error:  # shared data cannot be loaded there
        return Lost(in_one_line(error), str(error), error)
    except ray.exceptions.RayError as error:
        return Lost(_why_died(limits), in_one_line(error))


def started_ray() -> None:
    """Connect to Ray at RAY_ADDRESS, unless already connected; never starts a cluster."""
    try:
        import ray
    except ImportError as missing:
        raise ImportError("executor='ray' needs Ray: pip install 'nearbayes[ray]'.") from missing
    if ray.is_initialized():
        return
    if "RAY_ADDRESS" not in os.environ:
        raise ValueError(
            "executor='ray' found no Ray: call ray.init() first, or set RAY_ADDRESS (auto for a "
            "cluster on this machine)."
        )
    ray.init(log_to_driver=False)


def _why_died(limits: Limits) -> str:
    ended = " Or it was stopped because a draw took longer than draw_timeout, or more memory than "
    return f"{DIED}{ended}draw_memory." if limits else DIED


def _outcome(work: Packed, item: Item, limit: Limit | None) -> Done | Lost:
    """In a worker: process one item, within a limit if there is one."""
    shared = work.value
    if limit is None:
        return shared.outcome(item)  # type: ignore[no-any-return]
    try:
        with _limited(limit):
            return shared.outcome(item)  # type: ignore[no-any-return]
    except _TooLongError:
        return took_too_long(limit.seconds)
    except _TooMuchError:
        return took_too_much(limit.memory)


class _TooLongError(BaseException):
    """Raised in a thread whose task takes too long; not caught by `except Exception`."""


class _TooMuchError(BaseException):
    """The same for a task that takes too much memory."""


@contextmanager
def _limited(limit: Limit) -> Iterator[None]:
    """Raise in this thread when the limit is reached; if it does not react, end the process.

    A thread in compiled code does not react, and there is no other way to stop it.
    """
    done, thread = threading.Event(), threading.get_ident()
    watched = partial(_watch, limit, done, thread)
    threading.Thread(target=watched, daemon=True, name="limits").start()
    try:
        yield
    finally:
        done.set()


def _watch(limit: Limit, done: threading.Event, thread: int) -> None:
    deadline = time.monotonic() + limit.seconds
    bounded = not math.isinf(limit.memory)
    most = own_memory("self") + limit.memory if bounded else math.inf
    pause = LOOKS_EVERY if bounded else math.inf
    while not done.wait(min(deadline - time.monotonic(), pause)):
        too_much = bounded and own_memory("self") > most
        if not too_much and time.monotonic() < deadline:
            continue
        kind = _TooMuchError if too_much else _TooLongError
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
        if not done.wait(GRACE_OF_MEMORY if too_much else GRACE):
            os._exit(1)
        return
