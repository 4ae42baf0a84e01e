"""Diagnostics: failed draws, Monte Carlo error, and whether there are enough draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearbayes.draws.functional import Functional
from nearbayes.metrics import log_score
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.rounding import counted, in_digits, percent, rounded

__all__ = ["about_failures", "about_schedule", "diagnostics", "failures"]

MOST_FAILURES = 10
NOTABLE = 0.01  # relative change of the score between half the draws and all of them


def diagnostics(held: HeldOut) -> dict[str, Any]:
    """Failed draws, Monte Carlo error, captured share, and the score of half the draws."""
    posterior, source = held.posterior, held.posterior.provenance
    n_draws = len(posterior)
    error = Functional(held.draws).mc_error
    halves = _halves(held)
    return {
        "draws": n_draws,
        "asked": source.n_draws,
        "failed": failures(posterior),
        "n_failed": len(posterior.failed),
        "interrupted": source.interrupted,
        "mc_error": {"median": rounded(np.median(error)), "largest": rounded(error.max())},
        "width_error": rounded((2 * (n_draws - 1)) ** -0.5 if n_draws > 1 else np.nan),
        "halves": halves,
        "captured": rounded(source.captured),
        "inflation": rounded(source.inflation),
        "words": [
            about_failures(posterior),
            _about_draws(halves, n_draws),
            about_schedule(posterior),
        ],
    }


def failures(posterior: Any) -> list[dict[str, Any]]:
    """The first draws that failed, with their errors."""
    return [{"draw": each.index, "error": each.error} for each in posterior.failed[:MOST_FAILURES]]


def _halves(held: HeldOut) -> dict[str, Any]:
    """Score of the mean prediction of each half of the draws, and of all."""
    half = len(held.draws) // 2
    if half == 0:
        return {"score": "", "first": None, "second": None, "all": None}
    parts = {"first": held.draws[:half], "second": held.draws[half:], "all": held.draws}
    name = "log score" if held.is_classifier else "root mean squared error"
    return {"score": name} | {key: rounded(_score(held, part)) for key, part in parts.items()}


def _score(held: HeldOut, draws: Any) -> float:
    mean = draws.mean(axis=0)
    if held.is_classifier:
        return log_score(held.y, mean)
    return float(np.sqrt(np.mean((held.y - mean) ** 2)))


def about_failures(posterior: Any) -> str:
    """How many draws finished and failed."""
    source, finished = posterior.provenance, len(posterior)
    stopped = " The work was interrupted." if source.interrupted else ""
    if not posterior.failed:
        return f"{counted(finished, 'draw')} of {source.n_draws} finished; none failed.{stopped}"
    return (
        f"{counted(len(posterior.failed), 'draw')} of {source.n_draws} failed and are left "
        f"out; {finished} are used. If failures depend on the data, the draws left are a biased "
        f"sample.{stopped}"
    )


def _about_draws(halves: dict[str, Any], n_draws: int) -> str:
    if n_draws < 2:
        return "One draw has no spread: use at least 20 draws."
    exact = f"Draws are independent, so the standard error of a mean is sd / √{n_draws}."
    reach = (n_draws - 1) / (n_draws + 1)
    if reach < max(LEVELS):
        exact += (
            f" Quantiles of so few draws reach at most {percent(reach)} coverage. Above that, "
            "intervals that are not calibrated are the range of the draws."
        )
    each = (halves["first"], halves["second"], halves["all"])
    if None in each or not each[2]:
        return exact
    gap = max(abs(each[0] - each[2]), abs(each[1] - each[2])) / abs(each[2])
    enough = "enough for prediction" if gap < NOTABLE else "more draws would still help"
    return (
        f"{exact} With half of the draws the {halves['score']} is {in_digits(each[0], 4)} or "
        f"{in_digits(each[1], 4)}, with all {in_digits(each[2], 4)}: {enough}."
    )


def about_schedule(posterior: Any) -> str:
    """How much of the posterior variance the schedule reaches."""
    source = posterior.provenance
    if not source.blocks:
        return f"The method {source.method.replace('_', ' ')!r} has no schedule of refits."
    return (
        f"With {counted(len(source.blocks), 'refit')} per draw, draws show "
        f"{percent(source.captured)} of the variance of the posterior. Intervals that are not "
        f"calibrated are widened by the factor {in_digits(source.inflation)} to correct for this."
    )
