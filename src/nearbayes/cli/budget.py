"""Budget: draws, refits and simulated data sets that fit into a given time.

The first fit is timed; draws are planned from it, with a share of the time left for simulated data
sets, which are planned from the draws as they were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearbayes.cli.errors import UsageError

__all__ = ["USUAL_DRAWS", "Plan", "plan_draws", "plan_simulations", "seconds_of"]

SHARE_OF_DRAWS = 0.4  # of the time; the rest is for simulated data sets
RESERVE = 0.08  # for reading, scoring and writing
USUAL_DRAWS, FEWEST_DRAWS = 50, 10
# Simulated sets share out what is left: six will do, more make the factor surer, until the draws
# themselves are what is unsure.
MOST_SETS, DRAWS_PER_SET = 24, 12
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Plan:
    """Draws, and refits of each."""

    draws: int
    refits: int


def seconds_of(text: str) -> float:
    """Read a duration.

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
    """As many refits per draw as there is time for, then as many draws.

    Parameters
    ----------
    left : float
        Seconds until the end.
    per_fit : float
        Seconds that the first fit took.
    jobs : int
        Processes.
    asked : int, optional
        Draws that the user wants; None leaves them to the plan, up to 50.
    costs : sequence of float
        Cost of a draw with 1, 2, ... refits, in first fits.
    calibrated : bool
        Whether simulated data sets are to follow.

    Examples
    --------
    >>> plan_draws(300, per_fit=1.0, jobs=2, asked=50, costs=[1, 2, 3, 4], calibrated=True)
    Plan(draws=50, refits=4)
    >>> plan_draws(60, per_fit=1.0, jobs=1, asked=None, costs=[1, 2], calibrated=True)
    Plan(draws=22, refits=1)
    """
    share = SHARE_OF_DRAWS if calibrated else 1.0
    fits = left * (1 - RESERVE) * share * jobs / max(per_fit, 1e-6)
    draws = USUAL_DRAWS if asked is None else asked
    possible = [number for number, cost in enumerate(costs, 1) if draws * cost <= fits]
    if possible:
        return Plan(draws, possible[-1])
    return Plan(draws if asked is not None else max(FEWEST_DRAWS, int(fits / costs[0])), 1)


def plan_simulations(left: float, per_draw: float, jobs: int, draws: int) -> int:
    """Simulated data sets that there is time for, 2 to 24; 0 if not even for two.

    Examples
    --------
    >>> plan_simulations(100, per_draw=1.0, jobs=2, draws=50)
    14
    >>> plan_simulations(100, per_draw=10.0, jobs=2, draws=50)
    0
    """
    per_set = max(per_draw * min(DRAWS_PER_SET, draws), 1e-6)
    in_turn = int(max(left, 0.0) * (1 - RESERVE) / per_set)  # sets that one process can do
    sets = min(MOST_SETS, in_turn * jobs)
    return sets if sets >= 2 else 0
