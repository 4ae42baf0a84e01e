"""Work: what a fit was asked to do, its training rows, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nearbayes.cli.choices import Method, ModelName, Noise, Task
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Reading
from nearbayes.execution.executors import check_name, executor_of

__all__ = ["Options", "Say", "Work"]

Say = Callable[[str], None]


OF_NETWORKS = ("anchored", "ntkgp")


@dataclass(frozen=True)
class Options:
    """Options of a fit; None lets the library or the time budget choose."""

    target: str
    task: Task | None = None
    model: ModelName = "blend"
    draws: int | None = None
    refits: int | None = None
    method: Method = "martingale"
    holdout: float = 0.2
    seed: int = 0
    jobs: int = 1
    calibration: bool = True
    budget: float | None = None
    noise: Noise | None = None
    reading: Reading = field(default_factory=Reading)
    executor: str | None = None
    quick: bool = False
    checkpoint: str | None = None
    started: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.holdout < 1:
            raise UsageError(f"--holdout must be at least 0 and less than 1, got {self.holdout}.")
        if self.quick and (self.draws or self.refits or self.budget):
            raise UsageError("--quick excludes --draws, --refits and --time-budget: choose one.")
        if self.executor is not None:
            try:
                check_name(self.executor)
            except ValueError as error:
                raise UsageError(f"--{error}") from error  # it begins with "executor"
        if self.method in OF_NETWORKS and self.model != "mlp":
            raise UsageError(
                f"--method {self.method} needs draws of a prior, as --model mlp has, got "
                f"--model {self.model}: use that, or another method."
            )

    @property
    def processes(self) -> int:
        """Number of processes that run at a time."""
        if self.executor is None:
            return int(joblib.effective_n_jobs(self.jobs))
        return executor_of(self.executor, self.jobs).workers

    @property
    def lasting(self) -> dict[str, Any]:
        """Options that must stay the same to resume a stopped fit; jobs and time may differ."""
        names = ("target", "task", "model", "refits", "method", "holdout", "seed", "noise", "quick")
        reading = self.reading
        read = {"drop": list(reading.drop), "keep": list(reading.keep), "id": reading.id}
        split = {"split_by": reading.split_by, "split_as": reading.split_as}
        return {name: getattr(self, name) for name in names} | read | split


@dataclass(frozen=True)
class Work:
    """Training rows, options, and the time that is left."""

    X: pd.DataFrame
    y: NDArray[Any]
    options: Options
    say: Say
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds_left(self) -> float:
        """Seconds until the budget is used up."""
        budget = np.inf if self.options.budget is None else self.options.budget
        return budget - self.seconds_spent

    @property
    def seconds_spent(self) -> float:
        """Seconds since the command began, libraries loaded and file read."""
        began = self.started if self.options.started is None else self.options.started
        return time.perf_counter() - began

    @property
    def calibrates(self) -> bool:
        """Whether the user wants calibrated intervals."""
        return self.options.calibration and not self.options.quick
