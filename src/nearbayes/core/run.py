"""Run: how draws are made, apart from the method; a run may continue an earlier one.

Draw k has its own seed, independent of all other draws, so a run in two parts gives the same draws
as an uninterrupted run.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Literal

from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import is_number, is_whole
from nearbayes.core.seeds import Seeds
from nearbayes.execution.checkpoint import recorded
from nearbayes.execution.executor import Executor, Limit, OnError, limit_of
from nearbayes.execution.executors import ExecutorChoice, executor_of
from nearbayes.execution.memory import can_measure
from nearbayes.tables.table import Table

__all__ = ["Run"]

LONGEST = 1e9  # seconds, some thirty years: larger values overflow clocks


def _check_limit(name: str, value: Any, unit: str, most: float) -> None:
    """Reject a limit that is not a positive number."""
    if value is not None and not (is_number(value) and 0 < value <= most):
        raise ValueError(f"{name} must be None or a positive number of {unit}, got {value!r}.")


@dataclass(frozen=True)
class Run:
    """How draws are made, apart from the method.

    Attributes
    ----------
    n_draws : int
        Number of draws (the paper's K).
    random_state : None, int, numpy Generator, RandomState or SeedSequence
    n_jobs : int, optional
        As in joblib; None uses the setting of ``joblib.parallel_config``.
    executor : str or Dask client, optional
        Where draws are made: "serial", "threads", "processes", "dask", "ray", the address of a
        Dask scheduler or a Dask client. None uses the setting of ``joblib.parallel_config``.
    on_error : "report" or "raise"
        Report draws that fail and keep the others, or raise the first error.
    progress : bool, optional
        Show a progress bar; None shows it on a terminal.
    resume : Posterior, optional
        The posterior of an earlier run with the same settings, interrupted or shorter: its draws
        are kept, and only missing ones are made.
    predict_on : table, optional
        Keep only the predictions of a draw at these rows.
    checkpoint : path or str, optional
        A folder, or an address such as s3://bucket/prefix, where every finished chunk of draws is
        stored. The same call, in another process, continues from there. It contains pickles, so
        trust it only as much as the code that wrote it.
    draw_timeout : float, optional
        Time limit per draw in seconds (for a chunk, times its number of draws). If a draw takes
        longer, its worker is stopped and the draw counts as failed. Draws then run in processes,
        or on a cluster.
    draw_memory : float, optional
        Memory limit in bytes: how much a worker may grow during a draw (or a chunk of draws, or a
        simulated data set), on Linux. A worker that exceeds it is stopped and the draw counts as
        failed, before the machine runs out of memory. Draws then run in processes, or on a
        cluster.
    """

    n_draws: int = 50
    random_state: Any = None
    n_jobs: int | None = None
    on_error: OnError = "report"
    progress: bool | None = None
    resume: Posterior | None = None
    predict_on: Table | None = None
    executor: ExecutorChoice = None
    checkpoint: str | os.PathLike[str] | None = None
    draw_timeout: float | None = None
    draw_memory: float | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.n_draws) or self.n_draws < 1:
            raise ValueError(f"n_draws must be a whole number, 1 or more, got {self.n_draws!r}.")
        if self.on_error not in ("report", "raise"):
            raise ValueError(f"on_error must be 'report' or 'raise', got {self.on_error!r}.")
        _check_limit("draw_timeout", self.draw_timeout, "seconds", LONGEST)
        _check_limit("draw_memory", self.draw_memory, "bytes", math.inf)
        if self.draw_memory is not None and not can_measure():
            raise ValueError(
                "draw_memory needs a system that reports the memory of a process (Linux), got "
                f"{self.draw_memory!r}: use draw_memory=None."
            )

    @property
    def seeds(self) -> Seeds:
        """Seeds of the run, or those of its earlier part if none is given."""
        if self.random_state is None and self.resume is not None:
            return Seeds(self.resume.provenance.seed)
        if self.random_state is None and self.checkpoint is not None:
            earlier = recorded(self.checkpoint, "seed")
            return Seeds(None if earlier is None else int(earlier))
        return Seeds(self.random_state)

    def executor_for(self, runs_in: Literal["processes", "threads"]) -> Executor:
        """The executor for an algorithm that prefers processes or threads."""
        return executor_of(self.executor, self.n_jobs, runs_in, self.limit is not None)

    @property
    def limit(self) -> Limit | None:
        """Limits of a draw, if there are any."""
        return limit_of(self.draw_timeout, self.draw_memory)

    @property
    def missing(self) -> list[int]:
        """Numbers of the draws that are still missing."""
        done = set() if self.resume is None else set(self.resume.provenance.finished)
        return [number for number in range(self.n_draws) if number not in done]

    def check_resumable(self, **asked: Any) -> None:
        """Refuse to resume a different run: `asked` are fields of its provenance."""
        if self.resume is None:
            return
        if (self.predict_on is None) != (self.resume.kept_at is None):
            raise ValueError(
                "resume must keep the same parts of its draws as this run, models or predictions "
                "at the rows of predict_on: start again with resume=None (warm_start=False)."
            )
        for name, value in asked.items():
            was = getattr(self.resume.provenance, name)
            if was != value:
                raise ValueError(
                    f"resume is a posterior with {name}={was!r}, but this run has {value!r}: "
                    "resume with the same data and settings, or start again with resume=None."
                )
        if len(self.resume.provenance.finished) != len(self.resume):
            raise ValueError(
                "resume does not know which draws it has, as after thinning: start again with "
                "resume=None."
            )
