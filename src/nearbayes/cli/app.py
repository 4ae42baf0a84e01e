"""App: the commands, their options, and the exit codes.

What does the work is imported when a command runs, so that help and completion come at once.
"""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearbayes import __version__
from nearbayes.cli.budget import seconds_of
from nearbayes.cli.causal_app import causal
from nearbayes.cli.choices import Method, Noise
from nearbayes.cli.console import Speaker
from nearbayes.cli.errors import FAILED, MISUSED, Stopped, UsageError, missing
from nearbayes.cli.outputs import ReportFormat, check_apart, report_path
from nearbayes.cli.parameters import (
    Checkpoint,
    DataFile,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Executor,
    Id,
    Jobs,
    Keep,
    Model,
    ModelPath,
    NoHeader,
    Rows,
    Seed,
    Sheet,
    SplitBy,
    SplitWay,
    Target,
    TaskName,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["app", "run"]

app = typer.Typer(
    help="Bayesian uncertainty for any machine-learning algorithm, from a data file.",
    epilog="Start with: nearbayes demo. --json, --quiet and --debug may also follow the command.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(causal, name="causal")
CTRL_C = 130  # typer's return value for Ctrl-C
ANYWHERE = ("--json", "--quiet", "-q", "--debug")


@dataclass
class Session:
    """Output settings of one run, set by the global options and read by every command."""

    speaker: Speaker
    debug: bool = False
    started: float = field(default_factory=time.perf_counter)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"nearbayes {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Store the global options."""
    context.obj.speaker, context.obj.debug = Speaker(json, quiet), debug


@app.command()
def fit(
    context: typer.Context,
    data: DataFile,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file.")] = Path(
        "model.nearbayes"
    ),
    task: TaskName = None,
    model: Model = "blend",
    draws: Annotated[int | None, typer.Option(min=2, help="Posterior draws. Default: 50.")] = None,
    refits: Annotated[int | None, typer.Option(min=1, help="Refits per draw.")] = None,
    method: Annotated[Method, typer.Option(help="Method that makes the draws.")] = "martingale",
    jobs: Jobs = 1,
    seed: Seed = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: few draws, rough intervals.")
    ] = False,
    time_budget: Annotated[
        str | None, typer.Option(help="Time limit, such as 90s, 5m, 1h.")
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of rows held out for the report.")] = 0.2,
    calibration: Annotated[bool, typer.Option(help="Calibrate intervals by simulation.")] = True,
    noise: Annotated[
        Noise | None, typer.Option(help="Distribution of a numeric target. Default: found from it.")
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
    id_column: Id = "",
    split_by: SplitBy = "",
    split_as: SplitWay = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    no_header: NoHeader = False,
    executor: Executor = None,
    checkpoint: Checkpoint = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Fit a posterior and save it. After Ctrl-C or a crash, the same command resumes.

    Finished draws are kept in OUTPUT.checkpoint, or in --checkpoint, until the fit is complete.
    """
    from nearbayes.cli import commands
    from nearbayes.cli.fit_work import Options
    from nearbayes.cli.schema import Reading

    budget = None if time_budget is None else seconds_of(time_budget)
    reading = Reading(tuple(drop or ()), tuple(keep or ()), id_column, decimal, split_by, split_as)
    asked = Options(
        target,
        task,
        model,
        draws,
        refits,
        method,
        holdout,
        seed,
        jobs,
        calibration,
        budget,
        noise,
        reading,
        executor,
        quick,
        checkpoint,
        context.obj.started,
    )
    frame = _rows_of(data, delimiter, encoding, sheet, no_header)
    found = commands.fit(frame, asked, output, context.obj.speaker)
    context.obj.speaker.result(found)
    commands.stop_if_stopped(found)


@app.command()
def predict(
    context: typer.Context,
    model: ModelPath,
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV, Parquet or Feather file.")],
    coverage: Annotated[float, typer.Option(help="Interval coverage, between 0 and 1.")] = 0.9,
    sheet: Sheet = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Predict the rows of a file: point prediction, interval and share of epistemic uncertainty.

    CSV, Parquet and Feather files may be larger than memory.
    """
    from nearbayes.cli import commands
    from nearbayes.cli.table_files import table_pieces

    style: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "header": not no_header,
    }
    pieces = partial(table_pieces, data, **style)
    speaker = context.obj.speaker
    check_apart(output, model, data)
    speaker.result(commands.predict(model, pieces, coverage, output, speaker))


@app.command()
def diagnose(
    context: typer.Context,
    model: ModelPath,
    data: Annotated[
        Path | None,
        typer.Argument(help="The file that the model was fitted to. Default: what the fit found."),
    ] = None,
    checks: Annotated[
        str, typer.Option(help="default, all, or names with commas, such as noise,stability.")
    ] = "default",
    at: Annotated[
        str, typer.Option(help="Where to forecast: rows such as 5000, or multiples such as 4x.")
    ] = "2x,5x,10x",
    sheet: Sheet = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Say whether the intervals of a model can be trusted, and if not, why not and what to do."""
    from nearbayes.cli import commands

    frame = None if data is None else _rows_of(data, delimiter, encoding, sheet, no_header)
    speaker = context.obj.speaker
    speaker.result(commands.diagnose(model, frame, checks, at, speaker))


@app.command()
def explain(
    context: typer.Context,
    model: ModelPath,
    data: Rows = None,
    coverage: Annotated[
        float, typer.Option(help="Interval coverage: 0.5, 0.8, 0.9 or 0.95.")
    ] = 0.9,
    sheet: Sheet = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Show the importance of every input, with intervals."""
    from nearbayes.cli import commands

    frame = None if data is None else _rows_of(data, delimiter, encoding, sheet, no_header)
    speaker = context.obj.speaker
    speaker.result(commands.explain(model, frame, coverage, speaker))


@app.command()
def report(
    context: typer.Context,
    model: ModelPath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File. Default: report.html or report.md.")
    ] = None,
    kind: Annotated[
        ReportFormat | None,
        typer.Option("--format", help="A page (html) or text for pull requests (md)."),
    ] = None,
    data: Rows = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    sheet: Sheet = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Write a report: how good and how sure the model is, in plain words. Works offline."""
    from nearbayes.cli import commands

    path = report_path(output, kind)
    check_apart(path, model, data)
    frame = None if data is None else _rows_of(data, delimiter, encoding, sheet, no_header)
    speaker = context.obj.speaker
    speaker.result(commands.report(model, frame, path, title, speaker))


@app.command()
def compare(
    context: typer.Context,
    data: DataFile,
    target: Target,
    task: TaskName = None,
    model: Model = "blend",
    draws: Annotated[int, typer.Option(min=2, help="Posterior draws.")] = 20,
    folds: Annotated[int, typer.Option(min=2, help="Cross-validation folds.")] = 5,
    jobs: Jobs = 1,
    seed: Seed = 0,
    drop: Drop = None,
    keep: Keep = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    no_header: NoHeader = False,
    executor: Executor = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Compare base model, bagging, ensemble and posterior by cross-validation."""
    from nearbayes.cli import commands
    from nearbayes.cli.schema import Reading, Schema

    frame = _rows_of(data, delimiter, encoding, sheet, no_header)
    settings: dict[str, Any] = {"model": model, "draws": draws, "folds": folds, "jobs": jobs}
    settings["executor"] = executor
    schema = Schema.found(
        frame, target, task, Reading(tuple(drop or ()), tuple(keep or ()), decimal=decimal)
    )
    speaker = context.obj.speaker
    speaker.result(commands.compare(frame, schema, speaker, seed=seed, **settings))


@app.command()
def demo(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(
        "nearbayes_demo"
    ),
    jobs: Jobs = 1,
) -> None:
    """Fit, predict, explain and report on data that ships with scikit-learn."""
    from nearbayes.cli import commands

    speaker = context.obj.speaker
    speaker.result(commands.demo(output, jobs, speaker))


@app.command()
def doctor(context: typer.Context) -> None:
    """Show versions, optional packages and the machine, and test in seconds that all works."""
    from nearbayes.cli.doctor import examine

    found = examine(context.obj.speaker)
    context.obj.speaker.result(found)
    if found["failed"]:
        raise Stopped(f"{len(found['failed'])} of the self-tests failed: {found['failed'][0]}")


def _rows_of(
    data: Path, delimiter: str | None, encoding: str, sheet: str | None, no_header: bool
) -> pd.DataFrame:
    from nearbayes.cli.table_files import read_table

    return read_table(
        data, delimiter=delimiter, encoding=encoding, sheet=sheet, header=not no_header
    )


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0 for success, 1 for a failure, 2 for wrong usage."""
    session = Session(Speaker())
    try:
        with _warnings_as_notes(session):
            ended = app(
                _options_first(arguments), obj=session, prog_name="nearbayes", standalone_mode=False
            )
        if ended == CTRL_C:
            raise KeyboardInterrupt
    except typer.TyperException as error:
        return _ended(session, error, error.format_message(), MISUSED)
    except UsageError as error:
        return _ended(session, error, str(error), MISUSED)
    except Stopped as stopped:
        return _ended(session, stopped, str(stopped), FAILED)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _ended(session, error, "interrupted; no file was written.", FAILED)
    except Exception as error:
        if missing(error):
            return _ended(session, error, missing(error), MISUSED)
        said = f"{type(error).__name__}: {error} (use --debug for the traceback)"
        return _ended(session, error, said, FAILED)
    return 0


def _options_first(arguments: Sequence[str]) -> list[str]:
    """Move the global options before the command, wherever the user put them."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    first = [each for each in arguments[:end] if each in ANYWHERE]
    return first + [each for each in arguments[:end] if each not in ANYWHERE] + [*arguments[end:]]


def _ended(session: Session, error: BaseException, said: str, code: int) -> int:
    if session.debug:
        traceback.print_exception(error, file=sys.stderr)
    if said.strip():  # empty if the help was shown instead
        session.speaker.error(" ".join(said.split()))
    return code


@contextmanager
def _warnings_as_notes(session: Session) -> Iterator[None]:
    """Print each UserWarning in one line."""

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        session.speaker.say(f"note: {message}")

    with warnings.catch_warnings():
        warnings.filterwarnings("default", category=UserWarning)
        warnings.showwarning = note
        yield
