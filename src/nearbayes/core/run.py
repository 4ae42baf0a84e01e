"""Run: how draws are made, apart from the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearbayes.core.executor import OnError
from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import is_whole

__all__ = ["Run"]


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
    on_error : "report" or "raise"
        Report draws that fail and keep the others, or raise the first error.
    progress : bool, optional
        Show a progress bar; None shows it on a terminal.
    resume : Posterior, optional
        What an earlier, interrupted or shorter run of the same gave: its draws are kept, and only
        those that are missing are made.
    """

    n_draws: int = 50
    random_state: Any = None
    n_jobs: int | None = None
    on_error: OnError = "report"
    progress: bool | None = None
    resume: Posterior | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.n_draws) or self.n_draws < 1:
            raise ValueError(f"n_draws must be a whole number, 1 or more, got {self.n_draws!r}.")
        if self.on_error not in ("report", "raise"):
            raise ValueError(f"on_error must be 'report' or 'raise', got {self.on_error!r}.")
