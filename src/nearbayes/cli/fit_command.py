"""Fitting: makes a model file from a table, within a time budget; resumes a stopped fit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import nearbayes as nb
from nearbayes.cli.budget import USUAL_DRAWS, plan_draws, plan_simulations
from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile, settings_of
from nearbayes.cli.models import ModelName, make_estimator
from nearbayes.cli.outputs import check_output
from nearbayes.cli.schema import Schema, Task
from nearbayes.core.engine import refit_work
from nearbayes.core.paths import Martingale
from nearbayes.estimators.face import Method
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.execution.progress import in_words
from nearbayes.fits.adapters import fitting_of

__all__ = ["Options", "fit"]

DRAWS_OF_BAGGING = 20
FEWEST_ROWS = 20
Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """Options of a fit; None lets the library or the time budget choose."""

    target: str
    task: Task | None = None
    model: ModelName = "blend"
    draws: int | None = None
    refits: int | None = None
    method: Method = "martingale"
    holdout: float = 0.2
    seed: int = 0
    jobs: int = 1
    calibration: bool = True
    budget: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.holdout < 1:
            raise UsageError(f"--holdout must be at least 0 and less than 1, got {self.holdout}.")

    @property
    def processes(self) -> int:
        """Number of processes that run at a time."""
        return int(joblib.effective_n_jobs(self.jobs))

    @property
    def lasting(self) -> dict[str, Any]:
        """Options that must stay the same to resume a stopped fit; jobs and time may differ."""
        names = ("target", "task", "model", "refits", "method", "holdout", "seed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _Work:
    """Training rows, options, and the time that is left."""

    X: pd.DataFrame
    y: NDArray[Any]
    options: Options
    say: Say
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds_left(self) -> float:
        """Seconds until the budget is used up."""
        budget = np.inf if self.options.budget is None else self.options.budget
        return budget - (time.perf_counter() - self.started)


def fit(
    frame: pd.DataFrame, schema: Schema, options: Options, output: Path, say: Say, progress: Any
) -> ModelFile:
    """Fit a posterior to the rows of a file and write it to `output`.

    If `output` holds a stopped fit of the same data and options, the fit resumes from it.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
    options : Options
    output : Path
    say : callable
        Prints a line for the user.
    progress : bool or None
        Whether to show progress bars; None shows them on a terminal.
    """
    check_output(output)
    train, held_out = _split(frame, schema, options)
    work = _Work(*schema.labelled(train), options, say)
    if len(work.y) < FEWEST_ROWS:
        raise UsageError(f"at least {FEWEST_ROWS} training rows are needed, got {len(work.y)}.")
    settings = {**options.lasting, "data": _fingerprint(train), "rows": len(work.y)}
    model = _posterior(options, schema.task, len(work.y), progress)
    earlier = _earlier(output, settings)
    if earlier is not None:
        _take_up(model, earlier, options)
        say(f"resuming from {len(model.posterior_)} draws in {output}")
    elif options.budget is not None:
        _plan(model, work)
    model.fit(work.X, work.y).set_params(warm_start=False)
    rows = None if held_out is None else schema.labelled(held_out)[0]
    stopped, bagging = _calibrated_and_compared(model, rows, work)
    settings |= {"n_refits": model.n_refits, "stopped": stopped}
    made = ModelFile(model, schema, settings, held_out, bagging)
    made.write(output, simulated=options.budget is None)
    return made


def _split(
    frame: pd.DataFrame, schema: Schema, options: Options
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Split at random into training and held-out rows, with all classes in both."""
    rows = schema.usable(frame)
    if options.holdout == 0:
        return rows, None
    try:
        train, held_out = train_test_split(
            np.arange(len(rows)),
            test_size=options.holdout,
            random_state=options.seed,
            stratify=schema.outcomes(rows) if schema.classes else None,
        )
    except ValueError as error:
        raise UsageError(
            f"--holdout {options.holdout} of {len(rows)} rows leaves too few rows on one side: "
            "choose another share, or 0 to hold out none."
        ) from error
    return rows.iloc[np.sort(train)], rows.iloc[np.sort(held_out)]


def _posterior(options: Options, task: Task, n_rows: int, progress: bool | None) -> Any:
    kind = nb.PosteriorClassifier if task == "classification" else nb.PosteriorRegressor
    return kind(
        make_estimator(options.model, task, n_rows),
        n_draws=USUAL_DRAWS if options.draws is None else options.draws,
        n_refits=options.refits,
        method=options.method,
        calibration=None,  # done later, when the time of a draw is known
        n_jobs=options.jobs,
        random_state=options.seed,
        progress=progress,
    )


def _take_up(model: Any, earlier: ModelFile, options: Options) -> None:
    """Make a model resume from the draws of a stopped fit, with its planned draws and refits."""
    draws = earlier.model.n_draws if options.draws is None else options.draws
    model.set_params(warm_start=True, n_refits=earlier.settings["n_refits"], n_draws=draws)
    model.posterior_ = earlier.model.posterior_


def _plan(model: Any, work: _Work) -> None:
    """Set the draws and refits of the model that the time allows."""
    options = work.options
    codes = np.unique(work.y, return_inverse=True)[1] if work.y.dtype.kind == "U" else work.y
    _, seconds = timed_on_one_thread(lambda: clone(model.estimator).fit(work.X, codes))
    costs = _costs(model.estimator, len(work.y), options)
    plan = plan_draws(
        work.seconds_left, seconds, options.processes, options.draws, costs, options.calibration
    )
    model.set_params(n_draws=plan.draws)
    if options.method == "martingale":
        model.set_params(n_refits=plan.refits)
    work.say(f"one fit takes {seconds:.2g} s: {plan.draws} draws of {plan.refits} refits")
    needed = seconds * plan.draws * costs[plan.refits - 1] / options.processes
    if needed > work.seconds_left:
        work.say(f"the time budget is too short: the draws will take about {in_words(needed)}")


def _costs(estimator: Any, n: int, options: Options) -> list[float]:
    """Cost of a draw with 1, 2, ... refits, in units of the first fit."""
    if options.method != "martingale":
        return [1.0]
    fitting = fitting_of(estimator, {})
    traits = fitting.traits
    most = len(traits.schedule(options.refits).blocks(n))
    plans = [traits.schedule(refits).blocks(n) for refits in range(1, most + 1)]
    return [refit_work(traits, n, Martingale(None, blocks)) for blocks in plans]


def _calibrated_and_compared(
    model: Any, rows: pd.DataFrame | None, work: _Work
) -> tuple[bool, Any]:
    """Calibrate intervals and fit bagging for comparison, unless the user presses Ctrl-C.

    Returns
    -------
    (bool, model or None)
        Whether the user stopped the fit, and the bagging model.
    """
    if model.posterior_.provenance.interrupted:
        return True, None
    try:
        _calibrate(model, work)
        bagging = None if rows is None else _bagging(model, rows, work)
    except KeyboardInterrupt:
        return True, None
    if bagging is not None and bagging.posterior_.provenance.interrupted:
        return True, None
    return False, bagging


def _calibrate(model: Any, work: _Work) -> None:
    """Calibrate intervals if the learner needs it and there is time."""
    posterior = model.posterior_
    flexible = posterior.chunks.traits.calibrate
    if not work.options.calibration or not flexible or len(posterior) < 2:
        return
    sets = None
    if work.options.budget is not None:
        per_draw = posterior.provenance.seconds["per_draw"]
        jobs = work.options.processes
        left = work.seconds_left - _bagging_seconds(model, work) - _writing_seconds(model)
        sets = plan_simulations(left, per_draw, jobs, len(posterior))
    if sets == 0:
        work.say("no time left to calibrate the intervals: they may be too narrow")
        return
    model.calibrate(work.X, work.y, n_sets=sets)


def _bagging(model: Any, rows: pd.DataFrame, work: _Work) -> Any:
    """Bagging of the same model for comparison; None if there is no time for it."""
    if _bagging_seconds(model, work) > work.seconds_left:
        return None
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    bagging = clone(model).set_params(method="bootstrap", n_draws=draws)
    return bagging.fit(work.X, work.y, predict_on=rows)


def _bagging_seconds(model: Any, work: _Work) -> float:
    """Expected seconds of bagging: one fit per draw."""
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    return float(draws * model.posterior_.provenance.seconds["first_fit"] / work.options.processes)


def _writing_seconds(model: Any) -> float:
    """Expected seconds to write the model, measured on two draws."""
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        model.save(Path(folder) / "two.nearbayes", thin=2)
        sets = model.posterior_.truths
        n_models = len(model.posterior_) + (0 if sets is None else sum(map(len, sets.draws)))
        return (time.perf_counter() - started) * n_models / 2


def _earlier(output: Path, settings: dict[str, Any]) -> ModelFile | None:
    """The stopped fit in `output` if it has the same data and options, else None."""
    if not output.exists():
        return None
    try:
        found = settings_of(output)
    except UsageError as error:
        raise UsageError(
            f"--output {output} exists but was not written by nearbayes fit: choose another file."
        ) from error
    same = all(found.get(name) == value for name, value in settings.items())
    return ModelFile.read(output) if found.get("stopped") and same else None


def _fingerprint(frame: pd.DataFrame) -> str:
    rows = pd.util.hash_pandas_object(frame.astype(str), index=False)
    names = "\n".join(frame.columns).encode()
    return hashlib.sha256(names + rows.to_numpy().tobytes()).hexdigest()
