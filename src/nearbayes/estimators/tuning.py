"""Tuning: choose a schedule by held-out log score, on real rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.model_selection import train_test_split

from nearbayes.core.data import Data
from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import Seeds, integer_seed
from nearbayes.execution.digest import digest
from nearbayes.execution.stores import within
from nearbayes.methods.martingale import martingale_posterior

__all__ = ["ScheduleChoice", "candidate_schedules", "choose_schedule", "log_score_of_mixture"]

HELD_OUT = 0.25
TRIAL_DRAWS = 16
LONGEST = 8
SMALLEST = 1e-12


@dataclass(frozen=True)
class ScheduleChoice:
    """The chosen schedule and the score of every candidate.

    Attributes
    ----------
    schedule : Schedule
    scores : dict
        Mean negative log score on held-out rows by schedule; lower is better.
    """

    schedule: Schedule
    scores: dict[str, float]


def candidate_schedules(n_refits: int | None) -> list[Schedule]:
    """A few candidates: boosted trees prefer short horizons, smooth models long ones."""
    n_refits = LONGEST if n_refits is None else n_refits
    candidates = [
        Schedule.arithmetic(horizon=1.0, block=1.0),
        Schedule.arithmetic(horizon=1.0, block=0.25),
        Schedule.optimal(max(1, n_refits // 2)),
        Schedule.optimal(n_refits),
    ]
    return list(dict.fromkeys(candidates))


def choose_schedule(
    algorithm: Any, data: Data, n_refits: int | None, inputs: Any, run: dict[str, Any]
) -> ScheduleChoice:
    """Try each candidate on three quarters of the rows; score the posterior mean on the rest.

    Parameters
    ----------
    algorithm : Algorithm
        One whose models have a predictive distribution.
    data : Data
    n_refits : int, optional
        Refits of the longest candidate; default 8.
    inputs : Inputs or str
    run : dict
        Arguments of `nearbayes.martingale_posterior`; trials use at most 16 draws.
    """
    seed = integer_seed(Seeds(run["random_state"]).shared())
    train, held_out = _split(data, seed)
    trial = {**run, "n_draws": min(TRIAL_DRAWS, run["n_draws"]), "random_state": seed}
    scores: dict[Schedule, float] = {}
    for schedule in candidate_schedules(n_refits):
        if run.get("checkpoint") is not None and run["random_state"] is None:
            raise ValueError("checkpoint with schedule='auto' needs a random_state, got None.")
        kept = within(run.get("checkpoint"), f"trial-{digest(str(schedule))[:8]}")
        posterior = martingale_posterior(
            algorithm, train, schedule=schedule, inputs=inputs, **{**trial, "checkpoint": kept}
        )
        densities = log_score_of_mixture(posterior, held_out)
        scores[schedule] = -float(np.average(densities, weights=held_out.counts))
    best = min(scores, key=scores.__getitem__)
    return ScheduleChoice(best, {str(schedule): score for schedule, score in scores.items()})


def log_score_of_mixture(posterior: Posterior, data: Data) -> NDArray[np.float64]:
    """Log density of each row under the posterior predictive: the average over draws."""
    classes = posterior.chunks.traits.classes
    y = data.y if classes is None else np.searchsorted(classes, data.y)
    predictives = posterior.predictives(data.x)
    if not hasattr(predictives[0], "log_density"):
        raise ValueError(
            "schedule='auto' needs a predictive density, but a noise function only samples: "
            "pass a Schedule, or another noise."
        )
    logs = [predictive.log_density(y) for predictive in predictives]
    mixture = logsumexp(logs, axis=0) - np.log(len(logs))
    return np.asarray(
        np.maximum(mixture, np.log(SMALLEST))
    )  # one impossible row must not decide the choice


def _split(data: Data, seed: int) -> tuple[Data, Data]:
    """Split real rows; every class keeps a training row."""
    rows = np.arange(len(data.y))
    train, held_out = train_test_split(rows, test_size=HELD_OUT, random_state=seed)
    if data.y.ndim == 1 and data.y.dtype.kind != "f":
        unseen = ~np.isin(data.y[held_out], data.y[train])
        train = np.concatenate([train, held_out[unseen]])
        held_out = held_out[~unseen]
    return data.select(train), data.select(held_out)
