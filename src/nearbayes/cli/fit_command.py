"""Fitting: makes a model file from a table, within a time budget; resumes a stopped fit."""

from __future__ import annotations

import hashlib
import time
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from sklearn.base import clone

import nearbayes as nb
from nearbayes.cli.budget import (
    RESERVE,
    SHARE_OF_DRAWS,
    USUAL_DRAWS,
    plan_simulations,
)
from nearbayes.cli.errors import UsageError
from nearbayes.cli.fit_verdict import diagnosis_of_fit
from nearbayes.cli.fit_work import Options, Say, Work
from nearbayes.cli.kept_beside import KeptBeside, kept_beside
from nearbayes.cli.modelfile import ModelFile, settings_of
from nearbayes.cli.models import for_model, make_estimator
from nearbayes.cli.outputs import check_output, writing
from nearbayes.cli.planning import plan_work
from nearbayes.cli.schema import Schema
from nearbayes.cli.splitting import split_rows
from nearbayes.estimators.calibration import simulation_plan
from nearbayes.execution.deadline import end_by
from nearbayes.execution.interrupts import Stop, stoppable
from nearbayes.execution.progress import followed_by
from nearbayes.execution.stores import within

__all__ = ["fingerprint", "fit"]

DRAWS_OF_BAGGING = 20
FEWEST_ROWS = 20


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
    train, held_out, words = split_rows(frame, schema, options.holdout, options.seed)
    if words:
        say(words)
    schema = for_model(schema, options.model, train)
    work = Work(*schema.labelled(train), options, say)
    if len(work.y) < FEWEST_ROWS:
        more = ", or hold out none with --holdout 0" if held_out is not None else ""
        raise UsageError(
            f"the file must have at least {FEWEST_ROWS} training rows, got {len(work.y)}: add rows"
            f"{more}."
        )
    settings = {**options.lasting, "data": fingerprint(train), "rows": len(work.y)}
    model = _posterior(options, schema, len(work.y), progress)
    rows = None if held_out is None else schema.labelled(held_out)[0]
    with stoppable() as stop, kept_beside(output, settings, say, options.checkpoint) as kept:
        _begin(model, work, output, settings, kept)
        _draw(model, work)
        stopped, bagging = _calibrated_and_compared(model, rows, work, stop)
        diagnosis = None
        if not stopped and not options.quick:
            diagnosis = diagnosis_of_fit(model, work.X, work.y, work.seconds_left, say)
        seconds = {"all": work.seconds_spent}
        settings |= {
            "n_refits": model.n_refits,
            "stopped": stopped,
            "seconds": seconds,
            "held_out": words.removeprefix("held out: "),
            **_source(frame),
        }
        made = ModelFile(model, schema, settings, held_out, bagging, diagnosis)
        with writing(output, kept.words):
            made.write(output, simulated=options.budget is None)
        if not stopped:
            kept.clear()
    return made


def _begin(
    model: Any, work: Work, output: Path, settings: dict[str, Any], kept: KeptBeside
) -> None:
    """Resume a fit that was stopped or killed, or plan a new one."""
    model.set_params(checkpoint=kept.place)
    earlier, plan = _earlier(output, settings), kept.plan()
    if plan is not None:
        draws = plan["n_draws"] if work.options.draws is None else work.options.draws
        model.set_params(n_draws=draws, n_refits=plan["n_refits"])
    if earlier is not None:
        _take_up(model, earlier, work.options)
        work.say(f"resuming from {len(model.posterior_)} draws in {output}")
    elif plan is not None:
        work.say(f"resuming from what is kept in {kept.place}")
    elif work.options.budget is not None:
        plan_work(model, work)
    kept.note_plan({"n_draws": model.n_draws, "n_refits": model.n_refits})


def _posterior(options: Options, schema: Schema, n_rows: int, progress: bool | None) -> Any:
    settings: dict[str, Any] = {
        "n_draws": "quick" if options.quick else options.draws or USUAL_DRAWS,
        "n_refits": options.refits,
        "method": options.method,
        "calibration": None,  # done later, when the time of a draw is known
        "n_jobs": options.jobs,
        "executor": options.executor,
        "random_state": options.seed,
        "progress": progress,
    }
    estimator = make_estimator(options.model, schema.task, n_rows, schema.outcome)
    if schema.task == "classification":
        if options.noise is not None:
            raise UsageError("--noise is for numeric targets, but the target holds classes.")
        return nb.PosteriorClassifier(estimator, **settings)
    return nb.PosteriorRegressor(estimator, noise=options.noise or "auto", **settings)


def _take_up(model: Any, earlier: ModelFile, options: Options) -> None:
    """Make a model resume from the draws of a stopped fit, with its planned draws and refits."""
    draws = earlier.model.n_draws if options.draws is None else options.draws
    model.set_params(warm_start=True, n_refits=earlier.settings["n_refits"], n_draws=draws)
    model.posterior_ = earlier.model.posterior_


def _draw(model: Any, work: Work) -> None:
    """Make the draws; with a time budget, those that it allows."""
    share = SHARE_OF_DRAWS if work.calibrates else 1 - RESERVE
    sets, draws = simulation_plan(50)
    follows = sets * draws / 50 if work.calibrates else 0.0
    with end_by(share * work.seconds_left), followed_by("calibration", follows):
        model.fit(work.X, work.y).set_params(warm_start=False)
    source = model.posterior_.provenance
    made = len(model.posterior_) + len(model.posterior_.failed)
    if made < source.n_draws and not source.interrupted:
        work.say(f"the time budget allowed {made} of {source.n_draws} draws")


def _calibrated_and_compared(
    model: Any, rows: pd.DataFrame | None, work: Work, stop: Stop
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
        needless = rows is None or stop.asked or work.options.quick
        bagging = None if needless else _bagging(model, rows, work)
    except KeyboardInterrupt:
        stop.shield()  # the file is written before anything else is heard
        return True, None
    if stop.asked:
        return True, None
    if bagging is not None and bagging.posterior_.provenance.interrupted:
        return True, None
    return False, bagging


def _calibrate(model: Any, work: Work) -> None:
    """Calibrate intervals if the learner needs it and there is time."""
    posterior = model.posterior_
    flexible = posterior.chunks.traits.calibrate
    if not work.calibrates or not flexible or len(posterior) < 2:
        return
    sets, left = None, 0.0
    if work.options.budget is not None:
        per_draw = posterior.provenance.seconds["per_draw"]
        jobs = work.options.processes
        left = work.seconds_left - _bagging_seconds(model, work) - _writing_seconds(model)
        in_turn = per_draw * len(posterior) / jobs
        start = max(posterior.provenance.seconds["total"] - in_turn, 0.0)
        sets = plan_simulations(left, per_draw, jobs, len(posterior), start)
    if sets == 0:
        work.say("no time left to calibrate the intervals: they may be too narrow")
        return
    with end_by(left if sets else None):
        model.calibrate(work.X, work.y, n_sets=sets)


def _bagging(model: Any, rows: pd.DataFrame, work: Work) -> Any:
    """Bagging of the same model for comparison; None if there is no time for it."""
    reserve = RESERVE * (work.options.budget or 0.0)
    if _bagging_seconds(model, work) > work.seconds_left - reserve:
        return None
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    bagging = clone(model).set_params(
        method="bootstrap", n_draws=draws, checkpoint=within(model.checkpoint, "bagging")
    )
    return bagging.fit(work.X, work.y, predict_on=rows)


def _bagging_seconds(model: Any, work: Work) -> float:
    """Expected seconds of bagging: one fit per draw."""
    draws = min(DRAWS_OF_BAGGING, len(model.posterior_))
    return float(draws * model.posterior_.provenance.seconds["first_fit"] / work.options.processes)


def _writing_seconds(model: Any) -> float:
    """Expected seconds to write the model, measured on two draws and on four."""

    def seconds(draws: int) -> float:
        with TemporaryDirectory() as folder:
            started = time.perf_counter()
            model.save(Path(folder) / "some.nearbayes", thin=draws)
            return time.perf_counter() - started

    seconds(2)  # the first time, libraries are loaded
    two, four = seconds(2), seconds(4)
    sets = model.posterior_.truths
    n_models = len(model.posterior_) + (0 if sets is None else sum(map(len, sets.draws)))
    return two + max(four - two, 0.0) / 2 * n_models


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


def _source(frame: pd.DataFrame) -> dict[str, Any]:
    """Where rows came from and when, for reports."""
    known = {name: frame.attrs[name] for name in ("file", "has_lines") if name in frame.attrs}
    return {**known, "date": date.today().isoformat()}


def fingerprint(frame: pd.DataFrame) -> str:
    """Hash of the rows of a file, as they were read."""
    rows = pd.util.hash_pandas_object(frame.astype(str), index=False)
    names = "\n".join(frame.columns).encode()
    return hashlib.sha256(names + rows.to_numpy().tobytes()).hexdigest()
