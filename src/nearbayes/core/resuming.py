"""Resuming: a run that was stopped early goes on; draws that are there are not made again.

Draw k has its own seed, whatever else is drawn, so that a run in two parts gives the same draws as
one that was never stopped.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nearbayes.core.executor import Drawn
from nearbayes.core.posterior import Posterior
from nearbayes.core.seeds import Seeds

__all__ = ["check_resumable", "joined", "missing_draws", "numbered", "seconds_per_draw", "seeds_of"]


def missing_draws(n_draws: int, resume: Posterior | None) -> list[int]:
    """Numbers of the draws that are still to be made."""
    done = () if resume is None else resume.provenance.finished
    return sorted(set(range(n_draws)) - set(done))


def seeds_of(random_state: Any, resume: Posterior | None) -> Seeds:
    """Seeds of a run, or those of its earlier part where none is given."""
    if random_state is None and resume is not None:
        return Seeds(resume.provenance.seed)
    return Seeds(random_state)


def check_resumable(resume: Posterior | None, **asked: Any) -> None:
    """Refuse a posterior that is not of the same run: `asked` are fields of its provenance."""
    if resume is None:
        return
    for name, value in asked.items():
        was = getattr(resume.provenance, name)
        if was != value:
            raise ValueError(
                f"resume is a posterior with {name}={was!r}, but this run has {value!r}: resume "
                "with the same data and settings, or start anew with resume=None."
            )
    if len(resume.provenance.finished) != len(resume):
        raise ValueError("resume does not know which draws it has, as after thinning: start anew.")


def numbered(drawn: Drawn, numbers: Sequence[int]) -> Drawn:
    """Outcomes of tasks as those of the draws with these numbers."""
    failed = [replace(each, index=numbers[each.index]) for each in drawn.failed]
    return replace(drawn, index=[numbers[k] for k in drawn.index], failed=failed)


def seconds_per_draw(drawn: Drawn, resume: Posterior | None) -> float:
    """Median time of a draw; that of the earlier part where no draw was left to be made."""
    if drawn.seconds or resume is None:
        return statistics.median(drawn.seconds or [0.0])
    return resume.provenance.seconds["per_draw"]


def joined(drawn: Drawn, resume: Posterior | None) -> Drawn:
    """New draws and those of the earlier part, in the order of their seeds."""
    if resume is None:
        return drawn
    models = dict(zip(resume.provenance.finished, resume.models, strict=True))
    models |= dict(zip(drawn.index, drawn.models, strict=True))
    order = sorted(models)
    return replace(drawn, models=[models[k] for k in order], index=order)
