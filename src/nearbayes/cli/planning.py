"""Planning: how many draws and refits of a model a time budget allows, from trials of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from nearbayes.cli.budget import FEWEST_DRAWS, RESERVE, SHARE_OF_DRAWS, plan_draws
from nearbayes.cli.fit_work import Options, Work
from nearbayes.core.engine import refit_work
from nearbayes.core.paths import Martingale
from nearbayes.core.protocols import Traits
from nearbayes.execution.deadline import end_by
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.execution.progress import in_words
from nearbayes.fits.adapters import fitting_of

__all__ = ["plan_work"]

FITS_OF_TRIAL, SHARE_OF_TRIAL = 6, 0.3  # a trial costs so many fits, and may take such a share
FITS_BEFORE_DRAWS = 10  # noise from ten folds, and the first fit


def plan_work(model: Any, work: Work) -> None:
    """Set the draws and refits of the model that the time allows."""
    options, speed = work.options, _measured(model, work)
    costs = _costs(speed.traits, len(work.y), options)
    left = work.seconds_left - speed.start
    share = SHARE_OF_DRAWS if work.calibrates else 1 - RESERVE
    fewest = FEWEST_DRAWS * speed.refit * costs[0] / options.processes
    if fewest > share * left and options.draws is None and options.refits is None:
        work.say("the time budget allows a first look only: 6 draws with rough intervals")
        model.set_params(n_draws="quick")
    else:
        plan = plan_draws(
            left, speed.refit, options.processes, options.draws, costs, work.calibrates
        )
        work.say(f"one refit takes {speed.refit:.2g} s: {plan.draws} draws of {plan.refits} refits")
        model.set_params(n_draws=plan.draws)
        if options.method == "martingale":
            model.set_params(n_refits=plan.refits)
    if speed.refit * FITS_OF_TRIAL > work.seconds_left:
        work.say(
            "the time budget is too short: two draws alone take about "
            f"{in_words(speed.refit * FITS_OF_TRIAL)}; use a faster --model, such as hist or "
            "linear, or fewer rows"
        )


@dataclass(frozen=True)
class _Speed:
    """Seconds of a refit, and of what comes before the draws: noise, first fit, compiling."""

    refit: float
    start: float
    traits: Traits


def _measured(model: Any, work: Work) -> _Speed:
    """Time a fit and, if it is short enough, a quick posterior of a few draws.

    Only the latter knows what a refit costs: a first fit may tune itself, or be compiled.
    """
    X, y = work.X, work.y
    codes = np.unique(y, return_inverse=True)[1] if y.dtype.kind == "U" else y
    _, per_fit = timed_on_one_thread(lambda: clone(model.estimator).fit(X, codes))
    if FITS_OF_TRIAL * per_fit > SHARE_OF_TRIAL * work.seconds_left:
        traits = fitting_of(model.estimator, {}).traits
        return _Speed(per_fit, FITS_BEFORE_DRAWS * per_fit, traits)
    here: dict[str, Any] = {"n_jobs": None, "executor": None, "checkpoint": None}
    trial = clone(model).set_params(n_draws="quick", n_refits=None, progress=False, **here)
    posterior = _tried(trial, work)
    if posterior.chunks.traits.chunk > 1:  # the first time, programs were compiled
        posterior = _tried(trial, work)
    source, traits = posterior.provenance, posterior.chunks.traits
    cost = refit_work(traits, len(y), Martingale(None, source.blocks)) if source.blocks else 1.0
    refit = source.seconds["per_draw"] / cost
    before = source.seconds["total"] - len(posterior) * source.seconds["per_draw"]
    usual = fitting_of(model.estimator, {}).traits.randomised  # the trial shares its first fit
    return _Speed(refit, before + FITS_BEFORE_DRAWS * refit, replace(traits, randomised=usual))


def _tried(trial: Any, work: Work) -> Any:
    """A first look, ended as soon as two draws are there."""
    with warnings.catch_warnings(), end_by(0.0):
        warnings.simplefilter("ignore")  # the real fit repeats them
        return trial.fit(work.X, work.y).posterior_


def _costs(traits: Traits, n: int, options: Options) -> list[float]:
    """Cost of a draw with 1, 2, ... refits, in units of one refit to the real rows."""
    if options.method != "martingale":
        return [1.0]
    most = len(traits.schedule(options.refits).blocks(n))
    plans = [traits.schedule(refits).blocks(n) for refits in range(1, most + 1)]
    return [refit_work(traits, n, Martingale(None, blocks)) for blocks in plans]
