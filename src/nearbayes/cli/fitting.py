"""Fitting: from a table to a model file, within a time budget, and on from where it was stopped."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import nearbayes as nb
from nearbayes.algorithms.adapters import fitting_of
from nearbayes.cli.budget import plan_draws, plan_simulations
from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.models import make_estimator
from nearbayes.cli.schema import Schema, Task
from nearbayes.core.executor import timed_on_one_thread

__all__ = ["Options", "fit"]

USUAL_DRAWS = 50
DRAWS_OF_BAGGING = 20
FEWEST_ROWS = 20
Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What the user asked for; None leaves it to the library or to the time budget."""

    target: str
    task: Task | None = None
    model: str = "hist"
    draws: int | None = None
    refits: int | None = None
    method: str = "martingale"
    holdout: float = 0.2
    seed: int = 0
    jobs: int = 1
    calibration: bool = True
    budget: float | None = None

    @property
    def lasting(self) -> dict[str, Any]:
        """What must be the same for a stopped fit to go on: jobs and time may differ."""
        names = ("target", "task", "model", "refits", "method", "holdout", "seed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _Clock:
    budget: float | None
    started: float = field(default_factory=time.perf_counter)

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        used = time.perf_counter() - self.started
        return np.inf if self.budget is None else self.budget - used


def fit(frame: pd.DataFrame, options: Options, output: Path, say: Say, progress: bool) -> ModelFile:
    """Fit a posterior to the rows of a file and write it to `output`.

    A file at `output` that was stopped early, of the same data and options, is taken up again.
    """
    clock = _Clock(options.budget)
    schema = Schema.found(frame, options.target, options.task)
    train, held_out = _split(frame, schema, options)
    X, y = schema.labelled(train)
    if len(y) < FEWEST_ROWS:
        raise UsageError(f"{len(y)} rows are too few to learn from: {FEWEST_ROWS} or more.")
    model = _posterior(options, schema.task, len(y), progress)
    settings = {**options.lasting, "data": _fingerprint(train), "rows": len(y)}
    earlier = _earlier(output, settings)
    if earlier is not None:
        model.set_params(warm_start=True, n_refits=earlier.settings["n_refits"])
        model.posterior_ = earlier.model.posterior_
        say(f"going on with {len(earlier.model.posterior_)} draws of {output}")
    elif options.budget is not None:
        _plan(model, X, y, options, clock, say)
    model.fit(X, y)
    settings["n_refits"] = model.n_refits
    if not model.posterior_.provenance.interrupted:
        _calibrate(model, X, y, options, clock, say)
    bagging = _bagging(model, X, y, schema, held_out, options, clock)
    made = ModelFile(model, schema, settings, held_out, bagging)
    made.write(output)
    return made


def _split(
    frame: pd.DataFrame, schema: Schema, options: Options
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Rows to learn from, and rows held out at random, with all classes in both."""
    if not 0 <= options.holdout < 1:
        raise UsageError(f"--holdout must be a share from 0 to less than 1, got {options.holdout}.")
    if options.holdout == 0:
        return frame, None
    rows = schema.usable(frame)
    train, held_out = train_test_split(
        np.arange(len(rows)),
        test_size=options.holdout,
        random_state=options.seed,
        stratify=schema.outcomes(rows) if schema.task == "classification" else None,
    )
    return rows.iloc[np.sort(train)], rows.iloc[np.sort(held_out)]


def _posterior(options: Options, task: Task, n_rows: int, progress: bool) -> Any:
    kind = nb.PosteriorClassifier if task == "classification" else nb.PosteriorRegressor
    return kind(
        make_estimator(options.model, task, n_rows),
        n_draws=USUAL_DRAWS if options.draws is None else options.draws,
        n_refits=options.refits,
        method=options.method,
        calibration=None,  # afterwards, when it is known how long a draw takes
        n_jobs=options.jobs,
        random_state=options.seed,
        progress=progress,
    )


def _plan(
    model: Any, X: pd.DataFrame, y: NDArray[Any], options: Options, clock: _Clock, say: Say
) -> None:
    """Set draws and refits of the model to what there is time for."""
    codes = np.unique(y, return_inverse=True)[1] if y.dtype.kind in "UO" else y
    _, seconds = timed_on_one_thread(lambda: clone(model.estimator).fit(X, codes))
    usual = fitting_of(model.estimator, {}).preferred_schedule(options.refits)
    refits = len(usual.blocks(len(y))) if options.method == "martingale" else 1
    jobs = joblib.effective_n_jobs(options.jobs)
    calibrated = options.calibration
    plan = plan_draws(clock.left, seconds, jobs, options.draws, refits, calibrated)
    model.set_params(n_draws=plan.draws)
    if options.method == "martingale":
        model.set_params(n_refits=plan.refits)
    say(f"one fit takes {seconds:.2g} s: {plan.draws} draws of {plan.refits} refits")


def _calibrate(
    model: Any, X: pd.DataFrame, y: NDArray[Any], options: Options, clock: _Clock, say: Say
) -> None:
    """Calibrate intervals, where the learner needs it and there is time."""
    flexible = model.posterior_.algorithm.fitting.is_flexible
    if not options.calibration or not flexible or len(model.posterior_) < 2:
        return
    per_draw = model.posterior_.provenance.seconds["per_draw"]
    jobs = joblib.effective_n_jobs(options.jobs)
    sets = plan_simulations(clock.left, per_draw, jobs, len(model.posterior_))
    if sets == 0:
        say("no time is left to calibrate intervals: they may cover too little")
        return
    model.calibrate(X, y, n_sets=sets)


def _bagging(
    model: Any,
    X: pd.DataFrame,
    y: NDArray[Any],
    schema: Schema,
    held_out: pd.DataFrame | None,
    options: Options,
    clock: _Clock,
) -> Any:
    """Bagging of the same model, to compare with; if there is no time for it, None."""
    source = model.posterior_.provenance
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    refits = max(1, len(source.blocks))
    needed = draws * source.seconds["per_draw"] / refits / joblib.effective_n_jobs(options.jobs)
    if held_out is None or source.interrupted or needed > clock.left:
        return None
    rows, _ = schema.labelled(held_out)
    other = clone(model).set_params(method="bootstrap", n_draws=draws, warm_start=False)
    return other.fit(X, y, predict_on=rows)


def _earlier(output: Path, settings: dict[str, Any]) -> ModelFile | None:
    """A stopped fit of the same data and options, if `output` is one."""
    if not output.is_file():
        return None
    found = ModelFile.read(output)
    stopped = found.model.posterior_.provenance.interrupted
    same = all(found.settings.get(name) == value for name, value in settings.items())
    return found if stopped and same else None


def _fingerprint(frame: pd.DataFrame) -> str:
    rows = pd.util.hash_pandas_object(frame.astype(str), index=False)
    return hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()
