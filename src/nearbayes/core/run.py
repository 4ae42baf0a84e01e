"""Run: how draws are made, apart from the method; a run may continue an earlier one.

Draw k has its own seed, whatever else is drawn, so a run in two parts gives the same draws as one
that was never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Seeds
from nearbayes.core.tables import Table
from nearbayes.execution.executor import OnError

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
    predict_on : table, optional
        Keep nothing of a draw but its predictions at these rows.
    """

    n_draws: int = 50
    random_state: Any = None
    n_jobs: int | None = None
    on_error: OnError = "report"
    progress: bool | None = None
    resume: Posterior | None = None
    predict_on: Table | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.n_draws) or self.n_draws < 1:
            raise ValueError(f"n_draws must be a whole number, 1 or more, got {self.n_draws!r}.")
        if self.on_error not in ("report", "raise"):
            raise ValueError(f"on_error must be 'report' or 'raise', got {self.on_error!r}.")

    @property
    def seeds(self) -> Seeds:
        """Seeds of the run, or those of its earlier part where none is given."""
        if self.random_state is None and self.resume is not None:
            return Seeds(self.resume.provenance.seed)
        return Seeds(self.random_state)

    @property
    def missing(self) -> list[int]:
        """Numbers of the draws that are still to be made."""
        done = set() if self.resume is None else set(self.resume.provenance.finished)
        return [number for number in range(self.n_draws) if number not in done]

    def check_resumable(self, **asked: Any) -> None:
        """Refuse to resume what is not of the same run: `asked` are fields of its provenance."""
        if self.resume is None:
            return
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
