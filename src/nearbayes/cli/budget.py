"""Budget: how many draws, refits and simulated data sets fit into a time limit.

The draws are planned from the time of the first fit and leave a share of the time for simulated
data sets. Those are planned from the time that the draws took.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearbayes.cli.errors import UsageError

__all__ = [
    "FEWEST_DRAWS",
    "RESERVE",
    "SHARE_OF_DRAWS",
    "USUAL_DRAWS",
    "Plan",
    "plan_draws",
    "plan_simulations",
    "seconds_of",
]

SHARE_OF_DRAWS = 0.4  # share of the time; the rest is for simulated data sets
RESERVE = 0.12  # for scoring and writing
USUAL_DRAWS, FEWEST_DRAWS = 50, 10
# Simulated sets use the time that is left. Six are enough; more make the calibration factor more
# precise, up to the point where the error of the draws themselves dominates.
MOST_SETS, DRAWS_PER_SET = 24, 12
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Plan:
    """Number of draws, and of refits per draw."""

    draws: int
    refits: int


def seconds_of(text: str) -> float:
    """Parse a duration into seconds.

    Examples
    --------
    >>> seconds_of("90"), seconds_of("5m"), seconds_of("1.5 h")
    (90.0, 300.0, 5400.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|)\s*", text)
    seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f"--time-budget must be a time such as 90s, 5m or 1h, got {text!r}.")
    return seconds


def plan_draws(
    left: float,
    per_fit: float,
    jobs: int,
    asked: int | None,
    costs: Sequence[float],
    calibrated: bool,
) -> Plan:
    """Plan as many refits per draw as the time allows, then as many draws.

    Parameters
    ----------
    left : float
        Seconds left.
    per_fit : float
        Seconds that the first fit took.
    jobs : int
        Number of processes.
    asked : int, optional
        Draws that the user asked for. None lets the plan choose, up to 50.
    costs : sequence of float
        Cost of a draw with 1, 2, ... refits, in units of the first fit.
    calibrated : bool
        Whether simulated data sets will follow.

    Examples
    --------
    >>> plan_draws(300, per_fit=1.0, jobs=2, asked=50, costs=[1, 2, 3, 4], calibrated=True)
    Plan(draws=50, refits=4)
    >>> plan_draws(60, per_fit=1.0, jobs=1, asked=None, costs=[1, 2], calibrated=True)
    Plan(draws=21, refits=1)
    """
    share = SHARE_OF_DRAWS if calibrated else 1.0
    fits = left * (1 - RESERVE) * share * jobs / max(per_fit, 1e-6)
    draws = USUAL_DRAWS if asked is None else asked
    possible = [number for number, cost in enumerate(costs, 1) if draws * cost <= fits]
    if possible:
        return Plan(draws, possible[-1])
    return Plan(draws if asked is not None else max(FEWEST_DRAWS, int(fits / costs[0])), 1)


def plan_simulations(
    left: float, per_draw: float, jobs: int, draws: int, start: float = 0.0
) -> int:
    """Number of simulated data sets that the time allows: 2 to 24, or 0 if fewer than 2.

    Each takes `start` seconds before its draws, as the real data did.

    Examples
    --------
    >>> plan_simulations(100, per_draw=1.0, jobs=2, draws=50)
    14
    >>> plan_simulations(100, per_draw=10.0, jobs=2, draws=50)
    0
    """
    per_set = max(start + per_draw * min(DRAWS_PER_SET, draws), 1e-6)
    in_turn = int(max(left, 0.0) * (1 - RESERVE) / per_set)  # sets that one process has time for
    sets = min(MOST_SETS, in_turn * jobs)
    return sets if sets >= 2 else 0
