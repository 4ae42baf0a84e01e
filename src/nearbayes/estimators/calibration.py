r"""Calibration: intervals that cover what they say, by simulation (docs/design.md).

A posterior centred on a regularised fit misses the fit's bias, so its intervals cover too little.
Take a truth :math:`f^*` that data like the real ones may come from (`truth.py`), simulate data sets
from it at the real inputs, run the same method on each, and see how far the posterior mean
:math:`m_s(x)` is from the known truth in units of the posterior's standard deviation
:math:`s_s(x)`, on the scale of the link l:

.. math:: r_s(x) = |l(f^*(x)) - l(m_s(x))| / s_s(x)

The interval of coverage c is then :math:`l(m) \pm q_c\, s` of the real draws, where :math:`q_c` is
the c-quantile of all :math:`r_s(x)`. A fifth of each variance is the mean variance over all points
and simulated sets: where draws agree by chance, or share an error, their own says too little.
Log-odds are started with half an effective observation, :math:`n_{eff} = \sum p(1 - p) / \sum
\mathrm{var}(p)`. Nothing is assumed of the method or the estimator but that its errors on data
like the real ones are alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data
from nearbayes.core.engine import DrawWarning
from nearbayes.core.lifting import as_chunks
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import ChunkAlgorithm, Rng
from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Seeds, integer_seed
from nearbayes.core.tables import Table
from nearbayes.draws.credible import (
    SMALLEST,
    Link,
    as_levels,
    centred_interval,
    inflate,
    on_link_scale,
    reach_of,
)
from nearbayes.estimators.truth import Truth, likely_truth
from nearbayes.execution.executor import JoblibExecutor, OnError, gather, timed_on_one_thread

__all__ = ["Calibration", "CalibrationError", "calibrate", "differ"]

Array = NDArray[np.float64]
Draw = Callable[..., Posterior]

MOST_SETS = 6
MOST_DRAWS = 12  # per simulated set
MOST_POINTS = 1_000
MOST_TRIES = 50
SHARE = 0.2  # of a variance that is pooled over points
LARGEST_RATIO = 1e12  # where draws agree on something else than the truth


@dataclass(frozen=True)
class Calibration:
    """Errors of the posterior mean on simulated data sets, in posterior standard deviations.

    Attributes
    ----------
    ratios : tuple of arrays
        Of every simulated data set, |truth - mean| / sd at its points, sorted.
    link : "identity", "log" or "logit"
        Scale of mean and sd.
    n_draws : int
        Draws per simulated data set.
    inflation : float
        What intervals are widened by without calibration (App. C).
    seconds : float
        What the simulation took.
    pooled : array of shape () or (n_outputs,)
        Mean variance of draws over all points and simulated sets.
    start : float
        What log-odds are started with.
    truth : str
        Where the simulated data sets came from, in a few words.

    Examples
    --------
    >>> calibration = Calibration((np.array([0.5, 1.0, 3.0]), np.array([1.0, 2.0, 2.5])))
    >>> calibration.factor(0.5)
    1.5
    """

    ratios: tuple[Array, ...]
    link: Link = "identity"
    n_draws: int = MOST_DRAWS
    inflation: float = 1.0
    seconds: float = 0.0
    pooled: Array | float = 0.0
    start: float = SMALLEST
    truth: str = "the first fit"

    def factor(self, coverage: float, n_draws: int | None = None) -> float:
        """Standard deviations on either side of the mean that cover the truth so often.

        A standard deviation of few draws is itself uncertain, which makes ratios large now and
        then; as with Student's t, that is taken out for a posterior of `n_draws` draws. Never
        less than without calibration.
        """
        draws = self.n_draws if n_draws is None else n_draws
        ours, theirs = reach_of(coverage, draws), reach_of(coverage, self.n_draws)
        seen = np.quantile(np.concatenate(self.ratios), coverage) * np.sqrt(ours / theirs)
        return float(max(seen, ours * self.inflation))

    def error(self, coverage: float) -> float:
        """Standard error of `factor`, from its spread over simulated data sets."""
        if len(self.ratios) < 2:
            return float("nan")
        factors = [np.quantile(ratio, coverage) for ratio in self.ratios]
        return float(np.std(factors, ddof=1) / np.sqrt(len(factors)))

    def interval(self, values: Array, coverage: float | Sequence[float] = 0.9) -> Array:
        """Interval of draws, shape (..., 2), or (..., 2, n_levels) for several levels.

        Parameters
        ----------
        values : array of shape (n_draws, ...)
        coverage : float or sequence of float
        """
        reaches = [self.factor(level, len(values)) for level in as_levels(coverage)]
        bounds = centred_interval(values, reaches, self.link, self.start, self.pooled, SHARE)
        return np.asarray(bounds[..., 0] if np.ndim(coverage) == 0 else bounds)

    def spread(self, values: Array) -> Array:
        """Draws spread around their mean as far as calibrated 90 % intervals reach."""
        factor = self.factor(0.9, len(values)) / reach_of(0.9, len(values))
        return inflate(values, factor, self.link, self.start)

    def __str__(self) -> str:
        return (
            f"{len(self.ratios)} simulated data sets of {self.n_draws} draws, simulated from "
            f"{self.truth}: 90 % intervals reach {self.factor(0.9):.2f} sd (standard error "
            f"{self.error(0.9):.2f}; a normal one 1.64)"
        )


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
    """Whether draws differ at all; else there is nothing to scale (an ensemble of equal fits).

    `known` is where predictions are, if draws have no others.
    """
    few = data.select(np.arange(min(len(data.y), 50))).x if known is None else known
    return bool(np.ptp(posterior.predict(few), axis=0).any())


def calibrate(
    posterior: Posterior,
    data: Data,
    draw: Draw,
    *,
    n_sets: int | None = None,
    n_jobs: int | None = None,
    on_error: OnError = "report",
    progress: bool | None = None,
) -> Calibration:
    """Simulate data sets from a likely truth, and compare the posterior of each with it.

    Parameters
    ----------
    posterior : Posterior
        Of the real data.
    data : Data
        The real data.
    draw : callable
        ``draw(algorithm, data, **run)`` runs the method.
    n_sets : int, optional
        Simulated data sets, two or more; default as many as cost about 1.4 times the draws.
    n_jobs, on_error, progress
        As in `nearbayes.martingale_posterior`; simulated sets are taken in parallel.
    """
    usual, n_draws = simulation_plan(len(posterior))
    n_sets = usual if n_sets is None else _checked_sets(n_sets)
    rng = Seeds(posterior.provenance.seed).calibration()
    seeds = [integer_seed(rng) for _ in range(n_sets)]
    chunks, points = as_chunks(posterior.algorithm), _points(data, rng)
    (truth, start), spent = timed_on_one_thread(
        lambda: (likely_truth(chunks, posterior.first, data, rng), _start(posterior, points))
    )
    found = gather(
        JoblibExecutor(n_jobs, chunks.traits.runs_in),
        _simulated,
        _Simulation(chunks, truth, data, points, draw, n_draws, start),
        seeds,
        on_error=on_error,
        seconds_per_item=posterior.provenance.seconds["per_draw"] * n_draws,
        progress=progress,
        what="simulated data sets to calibrate intervals",
    )
    done, lost = list(found.done.values()), list(found.lost.values())
    if not done:
        raise CalibrationError(lost[0].error)
    if len(done) < n_sets:
        why = f"; the first said: {lost[0].error}" if lost else ""
        warnings.warn(
            f"intervals are calibrated on {len(done)} of {n_sets} simulated data sets{why}",
            DrawWarning,
            stacklevel=4,
        )
    seen = [found.done[seed].value for seed in seeds if seed in found.done]
    pooled = np.mean([variance.mean(axis=0) for _, variance in seen], axis=0)
    if posterior.link == "logit":  # classes have one scale
        pooled = pooled.mean()
    return Calibration(
        tuple(ratios(error, variance, pooled) for error, variance in seen),
        posterior.link,
        n_draws,
        posterior.inflation,
        spent + sum(each.seconds for each in done),
        pooled,
        start,
        truth.words,
    )


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
    """What all simulated data sets share."""

    algorithm: ChunkAlgorithm
    truth: Truth
    data: Data
    points: Table
    draw: Draw
    n_draws: int
    start: float

    def data_set(self, rng: Rng) -> tuple[Any, Data]:
        """Outcomes of the truth at the real inputs, of two classes at least."""
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


def _simulated(simulation: _Simulation, seed: int) -> tuple[Array, Array]:
    """Error of the mean and variance of the draws, at the points of one simulated data set."""
    rng = np.random.default_rng(seed)
    again, simulated = simulation.data_set(rng)
    draws = simulation.draw(
        again,
        simulated,
        n_draws=simulation.n_draws,
        random_state=integer_seed(rng),
        on_error="raise",
        progress=False,
    )
    link, start = draws.link, simulation.start
    values = draws.predict(simulation.points)
    truth = on_link_scale(simulation.truth.values(simulation.points), link, start)
    error = np.abs(truth - on_link_scale(values.mean(axis=0), link, start))
    return error, on_link_scale(values, link, start).var(axis=0, ddof=1)


def _points(data: Data, rng: Rng) -> Table:
    """Real input rows to compare at: all, or a thousand at random."""
    if len(data.y) <= MOST_POINTS:
        return data.x
    return data.select(np.sort(rng.choice(len(data.y), MOST_POINTS, replace=False))).x


def ratios(error: Array, variance: Array, pooled: Any) -> Array:
    """Errors in standard deviations, a fifth of whose squares is pooled, sorted.

    Examples
    --------
    >>> ratios(np.array([2.0, 0.0]), np.array([1.0, 1.0]), 1.0).tolist()
    [0.0, 2.0]
    """
    sd = np.sqrt((1 - SHARE) * variance + SHARE * pooled)
    # draws that all agree with the truth are no reason for a wide interval
    apart = np.where(error > 0, LARGEST_RATIO, 0.0)
    return np.sort(np.divide(error, sd, out=apart, where=sd > 0), axis=None)
