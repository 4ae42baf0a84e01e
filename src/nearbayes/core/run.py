"""Run: how draws are made, apart from the method; a run may continue an earlier one.

Draw k has its own seed, whatever else is drawn, so a run in two parts gives the same draws as one
that was never stopped.
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

LONGEST = 1e9  # seconds, some thirty years: clocks end not long after


def _check_limit(name: str, value: Any, unit: str, most: float) -> None:
    """Refuse a limit that is no positive number of its unit."""
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
        As in joblib; None honours ``joblib.parallel_config``.
    executor : str or Dask client, optional
        Where draws are made: "serial", "threads", "processes", "dask", "ray", the address of a
        Dask scheduler or a Dask client. None honours ``joblib.parallel_config``.
    on_error : "report" or "raise"
        Report draws that fail and keep the others, or raise the first error.
    progress : bool, optional
        Show a progress bar; None shows it on a terminal.
    resume : Posterior, optional
        What an earlier, interrupted or shorter run of the same gave: its draws are kept, and only
        those that are missing are made.
    predict_on : table, optional
        Keep nothing of a draw but its predictions at these rows.
    checkpoint : path or str, optional
        A folder, or an address such as s3://bucket/prefix, where every finished chunk of draws is
        kept. The same call, in another process, goes on from there. It holds pickles: as trusted
        as the code that wrote it.
    draw_timeout : float, optional
        Seconds that a draw may take (times its number of draws, for a chunk). The worker of one
        that takes longer is ended, and the draw counts as failed. Draws are then made in
        processes, or on a cluster.
    draw_memory : float, optional
        Bytes by which a worker may grow while it makes a draw (or a chunk of draws, or a simulated
        data set), on Linux. One that takes more is ended, and the draw counts as failed, before the
        machine runs out of memory. Draws are then made in processes, or on a cluster.
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
                "draw_memory needs a system that tells what a process holds (Linux), got "
                f"{self.draw_memory!r}: use draw_memory=None."
            )

    @property
    def seeds(self) -> Seeds:
        """Seeds of the run, or those of its earlier part where none is given."""
        if self.random_state is None and self.resume is not None:
            return Seeds(self.resume.provenance.seed)
        if self.random_state is None and self.checkpoint is not None:
            earlier = recorded(self.checkpoint, "seed")
            return Seeds(None if earlier is None else int(earlier))
        return Seeds(self.random_state)

    def executor_for(self, runs_in: Literal["processes", "threads"]) -> Executor:
        """Where draws are made of an algorithm that prefers processes or threads."""
        return executor_of(self.executor, self.n_jobs, runs_in, self.limit is not None)

    @property
    def limit(self) -> Limit | None:
        """What a draw may take, if there is a limit."""
        return limit_of(self.draw_timeout, self.draw_memory)

    @property
    def missing(self) -> list[int]:
        """Numbers of the draws that are still to be made."""
        done = set() if self.resume is None else set(self.resume.provenance.finished)
        return [number for number in range(self.n_draws) if number not in done]

    def check_resumable(self, **asked: Any) -> None:
        """Refuse to resume what is not of the same run: `asked` are fields of its provenance."""
        if self.resume is None:
            return
        if (self.predict_on is None) != (self.resume.kept_at is None):
            raise ValueError(
                "resume must have what this run keeps of its draws, models or predictions at the "
                "rows of predict_on: start anew with resume=None (warm_start=False)."
            )
        for name, value in asked.items():
            was = getattr(self.resume.provenance, name)
            if was != value:
                raise ValueError(
                    f"resume is a posterior with {name}={was!r}, but this run has {value!r}: "
                    "resume with the same data and settings, or start anew with resume=None."
                )
        if len(self.resume.provenance.finished) != len(self.resume):
            raise ValueError(
                "resume does not know which draws it has, as after thinning: start anew with "
                "resume=None."
            )
