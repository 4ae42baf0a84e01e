"""Fitting: from a table to a model file, within a time budget, and on from where it was stopped."""

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
    """What the user asked for; None leaves it to the library or to the time budget."""

    target: str
    task: Task | None = None
    model: ModelName = "hist"
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
            raise UsageError(
                f"--holdout must be a share from 0 to less than 1, got {self.holdout}."
            )

    @property
    def processes(self) -> int:
        """Processes that work at a time."""
        return int(joblib.effective_n_jobs(self.jobs))

    @property
    def lasting(self) -> dict[str, Any]:
        """What must be the same for a stopped fit to go on: jobs and time may differ."""
        names = ("target", "task", "model", "refits", "method", "holdout", "seed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _Work:
    """Rows to learn from, with what was asked and the time there is."""

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

    A file at `output` that was stopped early, of the same data and options, is taken up again.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
    options : Options
    output : Path
    say : callable
        Takes a line for the user.
    progress : bool or None
        Whether to show bars; None shows them on a terminal.
    """
    check_output(output)
    train, held_out = _split(frame, schema, options)
    work = _Work(*schema.labelled(train), options, say)
    if len(work.y) < FEWEST_ROWS:
        raise UsageError(f"{len(work.y)} rows are too few to learn from: {FEWEST_ROWS} or more.")
    settings = {**options.lasting, "data": _fingerprint(train), "rows": len(work.y)}
    model = _posterior(options, schema.task, len(work.y), progress)
    earlier = _earlier(output, settings)
    if earlier is not None:
        _take_up(model, earlier, options)
        say(f"going on with {len(model.posterior_)} draws of {output}")
    elif options.budget is not None:
        _plan(model, work)
    model.fit(work.X, work.y).set_params(warm_start=False)
    rows = None if held_out is None else schema.labelled(held_out)[0]
    stopped, bagging = _calibrated_and_compared(model, rows, work)
    settings |= {"n_refits": model.n_refits, "stopped": stopped}
    made = ModelFile(model, schema, settings, held_out, bagging)
    made.write(output)
    return made


def _split(
    frame: pd.DataFrame, schema: Schema, options: Options
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Rows to learn from, and rows held out at random, with all classes in both."""
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
            "choose another share, or 0 for none."
        ) from error
    return rows.iloc[np.sort(train)], rows.iloc[np.sort(held_out)]


def _posterior(options: Options, task: Task, n_rows: int, progress: bool | None) -> Any:
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


def _take_up(model: Any, earlier: ModelFile, options: Options) -> None:
    """Let a model go on from the draws of a stopped fit, as that had planned."""
    draws = earlier.model.n_draws if options.draws is None else options.draws
    model.set_params(warm_start=True, n_refits=earlier.settings["n_refits"], n_draws=draws)
    model.posterior_ = earlier.model.posterior_


def _plan(model: Any, work: _Work) -> None:
    """Set draws and refits of the model to what there is time for."""
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
        work.say(f"the time budget is too short: these draws take about {in_words(needed)}")


def _costs(estimator: Any, n: int, options: Options) -> list[float]:
    """Cost of a draw with 1, 2, ... refits, up to those asked for or usual, in first fits."""
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
    """Calibrate intervals and make bagging to compare with; Ctrl-C leaves that for another time.

    Returns
    -------
    (bool, model or None)
        Whether the user stopped the fit, and bagging.
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
    """Calibrate intervals, where the learner needs it and there is time."""
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
        work.say("no time is left to calibrate intervals: they may cover too little")
        return
    model.calibrate(work.X, work.y, n_sets=sets)


def _bagging(model: Any, rows: pd.DataFrame, work: _Work) -> Any:
    """Bagging of the same model, to compare with; if there is no time for it, None."""
    if _bagging_seconds(model, work) > work.seconds_left:
        return None
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    bagging = clone(model).set_params(method="bootstrap", n_draws=draws)
    return bagging.fit(work.X, work.y, predict_on=rows)


def _bagging_seconds(model: Any, work: _Work) -> float:
    """What bagging will take: one fit for each draw."""
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    return float(draws * model.posterior_.provenance.seconds["first_fit"] / work.options.processes)


def _writing_seconds(model: Any) -> float:
    """What writing the model will take, from two draws of it."""
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        model.save(Path(folder) / "two.nearbayes", thin=2)
        return (time.perf_counter() - started) * len(model.posterior_) / 2


def _earlier(output: Path, settings: dict[str, Any]) -> ModelFile | None:
    """A stopped fit of the same data and options, if `output` is one."""
    if not output.exists():
        return None
    try:
        found = settings_of(output)
    except UsageError as error:
        raise UsageError(
            f"--output {output} is there, and nearbayes fit did not write it: name another file."
        ) from error
    same = all(found.get(name) == value for name, value in settings.items())
    return ModelFile.read(output) if found.get("stopped") and same else None


def _fingerprint(frame: pd.DataFrame) -> str:
    rows = pd.util.hash_pandas_object(frame.astype(str), index=False)
    names = "\n".join(frame.columns).encode()
    return hashlib.sha256(names + rows.to_numpy().tobytes()).hexdigest()
