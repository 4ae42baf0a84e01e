r"""Calibration: intervals with their nominal coverage, by simulation (docs/design.md).

A posterior centred on a regularised fit misses the fit's bias, so its intervals cover too little.
Choose a plausible truth :math:`f^*` for the real data (`truth.py`), simulate data sets from it at
the real inputs, run the same method on each, and compare its posterior with the known truth: at the
real inputs for intervals of predictions (`nearbayes.draws.calibration`), and by any function of the
draws for functionals (`nearbayes.draws.pivots`). Log-odds are smoothed by half an effective
observation, :math:`n_{eff} = \sum p(1 - p) / \sum \mathrm{var}(p)`. The only assumption about the
method and the estimator is that errors on similar data are similar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.algorithms.estimators import ClassifierAlgorithm, RegressorAlgorithm
from nearbayes.core.data import Data, parts_of
from nearbayes.core.engine import DrawWarning
from nearbayes.core.lifting import as_chunks
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import ChunkAlgorithm, Rng
from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Seeds, integer_seed
from nearbayes.draws.calibration import Calibration, ratios
from nearbayes.draws.credible import SMALLEST, on_link_scale
from nearbayes.estimators.simulated import MOST_BYTES, SimulatedSets, pickled_size
from nearbayes.estimators.truth import Truth, likely_truth
from nearbayes.execution.checkpoint import made_once, opened
from nearbayes.execution.digest import digest
from nearbayes.execution.executor import (
    Gathered,
    OnError,
    gather,
    in_one_line,
    limit_of,
    timed_on_one_thread,
)
from nearbayes.execution.executors import ExecutorChoice, executor_of
from nearbayes.execution.stores import within
from nearbayes.tables.table import Table
from nearbayes.telling import warn

__all__ = ["CalibrationError", "calibrated", "differ", "simulation_plan"]

Array = NDArray[np.float64]
Draw = Callable[..., Posterior]

MOST_SETS = 6
MOST_DRAWS = 12  # per simulated set
MOST_POINTS = 1_000
MOST_TRIES = 50
MOST_TIMES, MANY_ROWS = 10, 20_000  # outcomes of the truth, relative to n, for learning it


def simulation_plan(n_draws: int) -> tuple[int, int]:
    """Simulated sets, and draws of each: together at most twice the draws of the posterior.

    Examples
    --------
    >>> simulation_plan(50), simulation_plan(200), simulation_plan(10)
    ((6, 12), (6, 12), (2, 10))
    """
    draws = max(2, min(MOST_DRAWS, n_draws))
    return max(2, min(MOST_SETS, 2 * n_draws // draws)), draws


def differ(posterior: Posterior, data: Data, known: Table | None = None) -> bool:
    """Whether draws differ; if not, there is nothing to scale (an ensemble of equal fits).

    `known` is the table of the kept predictions, if draws have no others.
    """
    few = data.select(np.arange(min(len(data.y), 50))).x if known is None else known
    return bool(np.ptp(posterior.predict(few), axis=0).any())


def calibrated(
    posterior: Posterior,
    data: Data,
    draw: Draw,
    *,
    n_sets: int | None = None,
    n_jobs: int | None = None,
    on_error: OnError = "report",
    progress: bool | None = None,
    most_bytes: float = MOST_BYTES,
    executor: ExecutorChoice = None,
    checkpoint: Any = None,
    draw_timeout: float | None = None,
    draw_memory: float | None = None,
) -> Posterior:
    """Simulate data sets from a plausible truth, and compare the posterior of each with it.

    Returns the posterior with its `calibration`, and with `truths`: the draws of the simulated
    sets, if these are small enough to keep.

    Parameters
    ----------
    posterior : Posterior
        Of the real data.
    data : Data
        The real data.
    draw : callable
        ``draw(algorithm, data, **run)`` runs the method.
    n_sets : int, optional
        Number of simulated data sets, two or more; by default they take about 1.4 times as long as
        the draws.
    n_jobs, on_error, progress, executor, checkpoint, draw_timeout, draw_memory
        As in `nearbayes.martingale_posterior`; simulated sets run in parallel, and are stored one
        by one.
    most_bytes : float
        Keep the draws of simulated sets if their total pickled size is not larger; 0 keeps none.
    """
    usual, n_draws = simulation_plan(len(posterior))
    n_sets = usual if n_sets is None else _checked_sets(n_sets)
    rng = Seeds(posterior.provenance.seed).calibration()
    seeds = [integer_seed(rng) for _ in range(n_sets)]
    chunks, points = as_chunks(posterior.algorithm), _points(data, rng)
    # a simulated set needs a first fit, the learning before it, and its draws
    limit = limit_of(None if draw_timeout is None else draw_timeout * (n_draws + 2), draw_memory)
    most_bytes /= n_sets
    known = (draw, n_draws, most_bytes)
    parts = {} if checkpoint is None else _decisive(posterior, data, points, *known)
    # other draws, as after a larger n_draws, have their own simulated sets
    place = within(checkpoint, digest(parts)[:12])
    with opened(place, parts, "set-{}".format) as kept:
        find = partial(_truth, chunks, posterior, points, data, rng)
        truth, start, spent, rng = made_once(kept, "truth", find, parts_of(data))
        found = gather(
            executor_of(executor, n_jobs, chunks.traits.runs_in, limit is not None),
            _simulated,
            _Simulation(chunks, truth, data, points, *known, start),
            seeds,
            on_error=on_error,
            seconds_per_item=posterior.provenance.seconds["per_draw"] * n_draws,
            progress=progress,
            what="simulated data sets to calibrate intervals",
            limit=limit,
            kept=kept,
        )
        seen = _seen(found, seeds)
        calibration = _compared(posterior, seen, truth, start, n_draws)
        spent += sum(each.seconds for each in found.done.values())
        draws = tuple(each.draws for each in seen if each.draws is not None)
        if len(draws) < len(seen):
            return replace(posterior, calibration=replace(calibration, seconds=spent), truths=None)
        plain = getattr(chunks, "algorithm", chunks)
        learn = partial(timed_on_one_thread, partial(_learned, plain, truth, data, rng))
        learned, spent_after = made_once(kept, "learned", learn, parts_of(data))
    calibration = replace(calibration, seconds=spent + spent_after)
    known_truth = truth.as_estimator(getattr(plain, "labels", None))
    sets = SimulatedSets(draws, known_truth, learned, calibration)
    return replace(posterior, calibration=calibration, truths=sets)


def _truth(
    chunks: ChunkAlgorithm, posterior: Posterior, points: Table, data: Data, rng: Rng
) -> tuple[Truth, float, float, Rng]:
    """A plausible truth, the smoothing of log-odds, their seconds, and the generator afterwards."""
    truth, spent = timed_on_one_thread(lambda: likely_truth(chunks, posterior.first, data, rng))
    return truth, _start(posterior, points), spent, rng


def _seen(found: Gathered, seeds: list[int]) -> list[_Seen]:
    """Usable simulated sets; a warning if some are not usable."""
    lost = list(found.lost.values())
    if not found.done:
        raise CalibrationError(lost[0].error)
    if len(found.done) < len(seeds):
        why = f"; the first said: {lost[0].error}" if lost else ""
        warn(
            f"intervals are calibrated on {len(found.done)} of {len(seeds)} simulated data sets"
            f"{why}",
            DrawWarning,
        )
    return [found.done[seed].value for seed in seeds if seed in found.done]


def _compared(
    posterior: Posterior, seen: list[_Seen], truth: Truth, start: float, n_draws: int
) -> Calibration:
    """Calibration of the posterior by simulated sets; `seconds` are added later."""
    pooled = np.mean([each.variance.mean(axis=0) for each in seen], axis=0)
    if posterior.link == "logit":  # classes have one scale
        pooled = pooled.mean()
    return Calibration(
        tuple(ratios(each.error, each.variance, pooled) for each in seen),
        posterior.link,
        n_draws,
        # if draws start at random, the correction for truncation is conservative (App. C)
        1.0 if posterior.chunks.traits.randomised else posterior.inflation,
        0.0,
        pooled,
        start,
        truth.words,
    )


def _decisive(
    posterior: Posterior, data: Data, points: Table, draw: Draw, n_draws: int, most_bytes: float
) -> dict[str, Any]:
    """Everything that determines the simulated sets; the draws represent all that made them."""
    few = points if posterior.kept_at is None else posterior.kept_at
    return {
        "data": digest(data),
        "draws": digest(posterior.predict(few)),
        "method": digest(draw),
        "seed": str(posterior.provenance.seed),
        "n_draws": n_draws,
        "most_bytes": str(most_bytes),
        "version": posterior.provenance.versions,
    }


def _learned(algorithm: Any, truth: Truth, data: Data, rng: Rng) -> Any:
    """The user's estimator fitted to many outcomes of the truth; None if that is not possible."""
    if not isinstance(algorithm, ClassifierAlgorithm | RegressorAlgorithm):
        return None
    n, classes = len(data.y), getattr(algorithm, "classes", None)
    times = max(1, min(MOST_TIMES, MANY_ROWS // n))
    again, many = algorithm.simulate(
        lambda x: truth.sample(x, rng), data.select(np.tile(np.arange(n), times))
    )
    if classes is not None:  # evaluation sets have class labels again
        fitting, labels = again.fitting.for_classes(classes)
        again = replace(again, fitting=fitting, labels=labels)  # type: ignore[arg-type]
        many = replace(many, y=np.searchsorted(classes, many.y))
    try:
        return again.reveal(again.fit(many, rng))
    except Exception as error:
        warn(
            "intervals of functionals that need a fitted estimator, such as importances, are not "
            f"calibrated, as a fit to many simulated rows failed: {in_one_line(error)}",
            DrawWarning,
        )
        return None


def _start(posterior: Posterior, points: Table) -> float:
    """Half an effective observation, for log-odds; see the top of this file."""
    if posterior.link != "logit":
        return SMALLEST
    draws = posterior.predict(points if posterior.kept_at is None else posterior.kept_at)
    mean, spread = draws.mean(axis=0), draws.var(axis=0, ddof=1).sum()
    if spread == 0:
        return posterior.start
    effective = np.clip(np.sum(mean * (1 - mean)) / spread, 1.0, posterior.provenance.n)
    return float(0.5 / effective)


def _checked_sets(n_sets: Any) -> int:
    if not is_whole(n_sets) or n_sets < 2:
        raise ValueError(f"n_sets must be a whole number, 2 or more, got {n_sets!r}.")
    return int(n_sets)


class CalibrationError(RuntimeError):
    """No simulated data set could be used."""


@dataclass(frozen=True)
class _Simulation:
    """Shared by all simulated data sets."""

    algorithm: ChunkAlgorithm
    truth: Truth
    data: Data
    points: Table
    draw: Draw
    n_draws: int
    most_bytes: float
    start: float

    def data_set(self, rng: Rng) -> tuple[Any, Data]:
        """Outcomes of the truth at the real inputs, with at least two classes."""
        for _ in range(MOST_TRIES):
            again, simulated = self.algorithm.simulate(
                lambda x: self.truth.sample(x, rng), self.data
            )
            if len(np.unique(simulated.y)) > 1:
                return again, simulated
        raise ValueError(
            f"{MOST_TRIES} simulated data sets had one class only: the others are too rare. Add "
            "rows of the rare classes."
        )


@dataclass(frozen=True)
class _Seen:
    """One simulated set: errors of the mean, variances of the draws, and the draws if small."""

    error: Array
    variance: Array
    draws: list[Any] | None


def _simulated(simulation: _Simulation, seed: int) -> _Seen:
    """Draw the posterior of a simulated data set, and compare it with the truth at the points."""
    rng = np.random.default_rng(seed)
    again, simulated = simulation.data_set(rng)
    posterior = simulation.draw(
        again,
        simulated,
        n_draws=simulation.n_draws,
        random_state=integer_seed(rng),
        on_error="raise",
        progress=False,
    )
    link, start = posterior.link, simulation.start
    values = posterior.predict(simulation.points)
    truth = on_link_scale(simulation.truth.values(simulation.points), link, start)
    error = np.abs(truth - on_link_scale(values.mean(axis=0), link, start))
    variance = on_link_scale(values, link, start).var(axis=0, ddof=1)
    draws = list(posterior.draws)
    keeps = simulation.most_bytes > 0 and pickled_size(draws) <= simulation.most_bytes
    return _Seen(error, variance, draws if keeps else None)


def _points(data: Data, rng: Rng) -> Table:
    """Real input rows to compare at: all, or a thousand at random."""
    if len(data.y) <= MOST_POINTS:
        return data.x
    return data.select(np.sort(rng.choice(len(data.y), MOST_POINTS, replace=False))).x
