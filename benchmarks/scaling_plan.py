"""How long a run takes on many workers: ``python -m benchmarks.scaling_plan`` (a simulation).

Figures below are measured on this machine by the commands beside them; the rest follows from
how a run is made. What one process does alone: what is learned before the draws, the first fit,
and handing out tasks. Then draws, one task each, then simulated sets, one task each. Workers
get the data once, straggle, and die; a task that dies begins again from its last saved state.

``python -m benchmarks.scaling_plan measure`` measures fits of XGBoost at several sizes.
"""

from __future__ import annotations

import heapq
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

# measured: python -m benchmarks.executors dask
SECONDS_PER_TASK = 0.003  # of the process that hands them out
# measured: python -m benchmarks.scaling_plan measure (100 trees of depth 6, 20 columns, one thread)
SECONDS_PER_ROW = 7.2e-6
BYTES_OF_A_MODEL = 500e3  # of 100 trees of depth 6, pickled
BYTES_PER_ROW = 20 * 4.0
# assumed of a cluster
BYTES_PER_SECOND = 1.25e9  # of a network card, 10 Gbit/s
BYTES_PER_SECOND_OF_STORE = 100e6
SPREAD = 0.1  # of the logarithm of the time of a fit, from worker to worker and fit to fit
SECONDS_BETWEEN_DEATHS = 7 * 24 * 3600.0  # of one worker
SECONDS_TO_COME_BACK = 120.0
SAVED_EVERY = 60.0  # seconds between two states within a task, at the end of a refit


@dataclass(frozen=True)
class Plan:
    """A run of XGBoost on a cluster.

    Attributes
    ----------
    rows, workers, draws : int
    refits : int
    sets, draws_of_set : int
        Simulated sets of the calibration, and draws of each.
    alone : float
        Fits before the draws in the asking process, the first fit included.
    workers_per_machine : int
        That share one copy of the data; with Dask each has its own.
    """

    rows: int
    workers: int
    draws: int = 50
    refits: int = 4
    sets: int = 6
    draws_of_set: int = 12
    alone: float = 3.0
    workers_per_machine: int = 1

    @property
    def seconds_of_fit(self) -> float:
        """One fit, on one thread."""
        return self.rows * SECONDS_PER_ROW


@dataclass(frozen=True)
class Outcome:
    """What a run took: hours of its parts, share of worker time in use, terabytes, deaths."""

    alone: float
    sending: float
    draws: float
    sets: float
    efficiency: float
    terabytes: float
    deaths: int

    @property
    def hours(self) -> float:
        """In all."""
        return self.alone + self.sending + self.draws + self.sets


def tasks_done(n: int, fits: int, plan: Plan, rng: np.random.Generator) -> tuple[float, float, int]:
    """Seconds until n tasks of so many fits are done, seconds of useful work, and deaths."""
    free = [(0.0, worker) for worker in range(plan.workers)]
    heapq.heapify(free)
    dies = rng.exponential(SECONDS_BETWEEN_DEATHS, plan.workers)
    handed_out = end = useful = 0.0
    deaths, left = 0, [fits] * n
    while left:
        at, worker = heapq.heappop(free)
        handed_out = max(at, handed_out + SECONDS_PER_TASK)
        needed, times = left.pop(), rng.lognormal(0.0, SPREAD, fits) * plan.seconds_of_fit
        ends = handed_out + np.cumsum(times[:needed])
        if ends[-1] <= dies[worker]:
            useful += float(times[:needed].sum())
            end = max(end, float(ends[-1]))
            heapq.heappush(free, (float(ends[-1]), worker))
            continue
        whole = int((ends <= dies[worker]).sum())  # refits that were saved
        saved = whole if plan.seconds_of_fit >= SAVED_EVERY else 0
        useful += float(times[:saved].sum())
        left.append(needed - saved)
        deaths += 1
        back = float(max(dies[worker], handed_out)) + SECONDS_TO_COME_BACK
        dies[worker] = back + rng.exponential(SECONDS_BETWEEN_DEATHS)
        heapq.heappush(free, (back, worker))
    return end, useful, deaths


def simulated(plan: Plan, seed: int = 0) -> Outcome:
    """One run."""
    rng = np.random.default_rng(seed)
    machines = -(-plan.workers // plan.workers_per_machine)
    sent = plan.rows * BYTES_PER_ROW * machines
    # broadcast as a tree: every machine that has the data hands it on
    sending = plan.rows * BYTES_PER_ROW / BYTES_PER_SECOND * np.ceil(np.log2(machines + 1))
    draws, useful, deaths = tasks_done(plan.draws, plan.refits, plan, rng)
    stored = plan.draws * BYTES_OF_A_MODEL / BYTES_PER_SECOND_OF_STORE
    draws = max(draws, stored)  # the asking process writes checkpoints while workers go on
    # a set has a first fit and what is learned before it
    fits = round(plan.alone) + plan.draws_of_set * plan.refits
    sets, useful_of_sets, more = tasks_done(plan.sets, fits, plan, rng)
    alone = plan.alone * plan.seconds_of_fit
    seconds = alone + sending + draws + sets
    return Outcome(
        alone / 3600,
        float(sending) / 3600,
        draws / 3600,
        sets / 3600,
        (useful + useful_of_sets + alone) / (seconds * plan.workers),
        sent / 1e12,
        deaths + more,
    )


PLANS = {
    "a laptop of 2 cores, 50 draws": Plan(10**6, 2),
    "64 workers, 50 draws": Plan(10**7, 64),
    "64 workers, 64 draws, no calibration": Plan(10**7, 64, draws=64, sets=0),
    "1,000 workers, 50 draws": Plan(10**9, 1000, workers_per_machine=8),
    "1,000 workers, 1,000 draws": Plan(10**9, 1000, draws=1000, workers_per_machine=8),
    "the same, no calibration": Plan(10**9, 1000, draws=1000, sets=0, workers_per_machine=8),
    "the same, 10 million rows": Plan(10**7, 1000, draws=1000, sets=0, workers_per_machine=8),
    "50 workers, 50 draws, no calibration": Plan(10**9, 50, sets=0, workers_per_machine=8),
}


def show() -> None:
    print("| rows | run | hours: alone, sending, draws, sets | in all | in use | sent | deaths |")
    print("|---|---|---|---|---|---|---|")
    for name, plan in PLANS.items():
        runs = [simulated(plan, seed) for seed in range(5)]
        found = sorted(runs, key=lambda each: each.hours)[2]
        hours = (found.alone, found.sending, found.draws, found.sets)
        print(
            f"| {plan.rows:.0e} | {name} | {', '.join(f'{each:.2f}' for each in hours)} | "
            f"{found.hours:.2f} h | {found.efficiency:.0%} | {found.terabytes:.2g} TB | "
            f"{found.deaths} |"
        )


def measure() -> None:
    from xgboost import XGBRegressor

    rng = np.random.default_rng(0)
    for rows in (10_000, 100_000, 1_000_000):
        X = rng.normal(size=(rows, 20)).astype(np.float32)
        y = X[:, 0] + rng.normal(size=rows)
        started = time.perf_counter()
        XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1).fit(X, y)
        seconds = time.perf_counter() - started
        print(f"{rows} rows: {seconds:.2f} s, {seconds / rows:.2e} s per row", flush=True)


def check() -> None:
    """The simulation against what is known: no deaths, no spread, one worker."""
    plan = Plan(10**6, 1, draws=4)
    end, useful, _ = tasks_done(4, 4, replace(plan, workers=4), np.random.default_rng(0))
    assert 0.7 < end / (4 * plan.seconds_of_fit) < 1.6
    assert useful <= 4 * end


if __name__ == "__main__":
    check()
    measure() if sys.argv[1:] == ["measure"] else show()
