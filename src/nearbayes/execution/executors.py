"""Executors: in this process, in threads, or on a joblib backend; and the choice among all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Literal

import joblib

from nearbayes.execution.clusters import DaskExecutor, RayExecutor, dask_client, started_ray
from nearbayes.execution.executor import (
    Done,
    Executor,
    Item,
    Limits,
    Lost,
    Task,
    in_one_line,
)
from nearbayes.execution.processes import DIED, ProcessExecutor
from nearbayes.execution.work import Work
from nearbayes.telling import warn

__all__ = [
    "ExecutorChoice",
    "JoblibExecutor",
    "SerialExecutor",
    "ThreadExecutor",
    "check_name",
    "executor_of",
]

ExecutorChoice = Any  # None, a name, an address, or a Dask client
NAMES = ("serial", "threads", "processes", "dask", "ray")
ADDRESSES = ("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://")
SAME_MACHINE = ("LokyBackend", "MultiprocessingBackend")
Outcome = tuple[Item, Done | Lost]


@dataclass(frozen=True)
class SerialExecutor:
    """Tasks in this process, one after another."""

    workers: int = 1

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`; tasks in this process cannot be stopped, so there are no limits."""
        work = Work(task, shared)
        for item in items:
            yield item, work.outcome(item)


@dataclass(frozen=True)
class ThreadExecutor:
    """Tasks in threads of this process, for programs that release Python's lock."""

    workers: int

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`; threads cannot be stopped, so there are no limits."""
        work, pool = Work(task, shared), ThreadPoolExecutor(self.workers)
        try:
            futures = {pool.submit(work.outcome, item): item for item in items}
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class JoblibExecutor:
    """Tasks on a backend that was registered with joblib."""

    n_jobs: int | None = None

    @property
    def workers(self) -> int:
        """Number of tasks that run at the same time."""
        return int(joblib.effective_n_jobs(self.n_jobs))

    def run(
        self, task: Task, shared: Any, items: Sequence[Item], limits: Limits
    ) -> Iterator[Outcome]:
        """See `Executor.run`.

        Tasks do not raise, so an error comes from the backend, for example if a worker died. The
        remaining tasks run again in parallel and, if that also ends in an error, one at a time.
        """
        work, left = Work(task, shared), dict.fromkeys(items)
        for _ in range(2):
            try:
                for item, outcome in self._in_parallel(work, list(left)):
                    del left[item]
                    yield item, outcome
            except Exception:  # of any library
                continue
            return
        for item in left:
            try:
                yield from self._in_parallel(work, [item])
            except Exception as error:
                yield item, Lost(f"{DIED} ({in_one_line(error)})", in_one_line(error), error)

    def _in_parallel(self, work: Work, items: list[Item]) -> Iterator[Outcome]:
        try:
            parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        except ValueError:  # a backend that can only return everything at the end
            parallel = joblib.Parallel(n_jobs=self.n_jobs)
        yield from parallel(joblib.delayed(_named_outcome)(work, item) for item in items)


def _named_outcome(work: Work, item: Item) -> Outcome:
    return item, work.outcome(item)


def check_name(choice: str) -> None:
    """Reject anything that is not the name of an executor or an address."""
    if choice not in NAMES and not choice.startswith(ADDRESSES):
        raise ValueError(
            f"executor must be None, one of {', '.join(NAMES)}, the address of a Dask scheduler "
            f"(tcp://host:8786) or a Dask client, got {choice!r}."
        )


def executor_of(
    choice: ExecutorChoice = None,
    n_jobs: int | None = None,
    runs_in: Literal["processes", "threads"] = "processes",
    limited: bool = False,
) -> Executor:
    """Where tasks run.

    Parameters
    ----------
    choice : str or Dask client, optional
        "serial", "threads", "processes" (of this machine, `n_jobs` of them), "dask" (the current
        client, or the scheduler that Dask is configured with), the address of a Dask scheduler
        such as "tcp://host:8786", a Dask client, or "ray" (initialised, or the cluster at
        RAY_ADDRESS). None: what `joblib.parallel_config` says, else `n_jobs` processes here.
    n_jobs : int, optional
        As in joblib.
    runs_in : "processes" or "threads"
        Preference of the tasks on one machine.
    limited : bool
        Whether tasks have a limit, so that they need processes, which can be stopped.

    Examples
    --------
    >>> executor_of("processes", n_jobs=3), executor_of(), executor_of(limited=True)
    (ProcessExecutor(workers=3), SerialExecutor(workers=1), ProcessExecutor(workers=1))
    """
    if choice is None:
        return _configured(n_jobs, runs_in, limited)
    if not isinstance(choice, str):
        return DaskExecutor(dask_client(choice))
    if choice == "dask" or choice.startswith(ADDRESSES):
        return DaskExecutor(dask_client(choice))
    if choice == "ray":
        started_ray()
        return RayExecutor()
    check_name(choice)
    if limited and choice != "processes":
        raise ValueError(
            "draw_timeout and draw_memory need workers that can be stopped, got "
            f"executor={choice!r}: use 'processes', 'dask' or 'ray', or leave them out."
        )
    if choice == "serial":
        return SerialExecutor()
    workers = max(1, int(joblib.effective_n_jobs(n_jobs)))
    return ThreadExecutor(workers) if choice == "threads" else ProcessExecutor(workers)


def _configured(
    n_jobs: int | None, runs_in: Literal["processes", "threads"], limited: bool
) -> Executor:
    """The executor configured in joblib, through Dask's and Ray's own interfaces if possible."""
    backend, _ = joblib.parallel.get_active_backend()
    kind, workers = type(backend).__name__, int(joblib.effective_n_jobs(n_jobs))
    if kind == "DaskDistributedBackend":
        return _warned(DaskExecutor(backend.client), kind)
    if kind == "RayBackend":
        return _warned(RayExecutor(), kind)
    if kind == "SequentialBackend" or (
        workers <= 1 and kind in (*SAME_MACHINE, "ThreadingBackend")
    ):
        # within one of our tasks, which has the limit
        return ProcessExecutor(1) if limited and kind != "SequentialBackend" else SerialExecutor()
    if kind in SAME_MACHINE and (runs_in == "processes" or limited):
        return ProcessExecutor(workers)
    if kind in (*SAME_MACHINE, "ThreadingBackend") or runs_in == "threads":
        return ThreadExecutor(workers)
    return _warned(JoblibExecutor(n_jobs), kind)


def _warned(executor: Executor, backend: str) -> Executor:
    """Warn about a cluster with only one worker."""
    if executor.workers <= 1:
        warn(
            f"joblib's backend {backend} resolves to one worker, so draws are made one at a time: "
            "set n_jobs (-1 for all workers), or add workers to the cluster.",
            UserWarning,
        )
    return executor
