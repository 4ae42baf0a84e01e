"""App: the commands. Each reads its files, calls one function, and says what came of it."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nearbayes import report as report_of
from nearbayes.cli.budget import seconds_of
from nearbayes.cli.comparing import compare as compared
from nearbayes.cli.console import Speaker
from nearbayes.cli.demo import write_demo_data
from nearbayes.cli.errors import FAILED, MISUSED, Stopped, UsageError
from nearbayes.cli.explaining import explain as explained
from nearbayes.cli.explaining import held_out_rows
from nearbayes.cli.fitting import Options
from nearbayes.cli.fitting import fit as fitted
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.models import MODELS
from nearbayes.cli.predicting import predict as predicted
from nearbayes.cli.schema import Schema
from nearbayes.cli.summaries import summary, treatment
from nearbayes.cli.tables import read_table, write_table
from nearbayes.estimators.face import METHODS

__all__ = ["app", "run"]

app = typer.Typer(
    help="Bayesian uncertainty for any machine-learning algorithm, from a data file.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
state = {"speaker": Speaker(), "debug": False}

DataFile = Annotated[Path, typer.Argument(help="CSV, gzipped CSV, Parquet or Feather file.")]
ModelPath = Annotated[Path, typer.Argument(help="File written by nearbayes fit.")]
Target = Annotated[str, typer.Option(help="Column to predict.")]
TaskName = Annotated[str | None, typer.Option(help="classification or regression, if not clear.")]
Model = Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")]
Draws = Annotated[int | None, typer.Option(min=2, help="Posterior draws; 50 by default.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 for all cores.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the columns of a CSV.")]
Encoding = Annotated[str, typer.Option(help="Of a CSV.")]
Coverage = Annotated[float, typer.Option(help="Of the intervals, between 0 and 1.")]


@app.callback()
def options(
    json: Annotated[bool, typer.Option("--json", help="Result as JSON on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where errors come from.")] = False,
) -> None:
    """Note how to speak."""
    state.update(speaker=Speaker(json, quiet), debug=debug)


@app.command()
def fit(
    data: DataFile,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file.")] = Path(
        "model.nearbayes"
    ),
    task: TaskName = None,
    model: Model = "hist",
    draws: Draws = None,
    refits: Annotated[int | None, typer.Option(min=1, help="Refits per draw.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "martingale",
    jobs: Jobs = 1,
    seed: Seed = 0,
    time_budget: Annotated[str | None, typer.Option(help="Such as 90s, 5m, 1h.")] = None,
    holdout: Annotated[float, typer.Option(help="Share of rows held out for the report.")] = 0.2,
    calibration: Annotated[bool, typer.Option(help="Calibrate intervals by simulation.")] = True,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Fit a posterior and write it to a file."""
    speaker = _speaker()
    if method not in METHODS:
        raise UsageError(f"--method must be one of {', '.join(METHODS)}, got {method!r}.")
    budget = None if time_budget is None else seconds_of(time_budget)
    asked = Options(
        target, _task(task), model, draws, refits, method, holdout, seed, jobs, calibration, budget
    )
    frame = read_table(data, delimiter=delimiter, encoding=encoding)
    speaker.table(*treatment(Schema.found(frame, target, asked.task), len(frame)))
    made = fitted(frame, asked, output, speaker.say, speaker.progress)
    found = summary(made, output)
    for line in found["lines"]:
        speaker.say(line)
    speaker.result(found)
    if found["interrupted"]:
        raise Stopped(
            f"interrupted: {found['draws']} of {found['draws asked']} draws are in {output}; run "
            "the same command again to go on."
        )


@app.command()
def predict(
    model: ModelPath,
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV, Parquet or Feather.")],
    coverage: Coverage = 0.9,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Predict the rows of a file: point, interval, and how much of the doubt is lack of data."""
    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}.")
    frame = read_table(data, delimiter=delimiter, encoding=encoding)
    table = predicted(ModelFile.read(model), frame, coverage)
    write_table(table, output)
    _speaker().say(f"{len(table)} predictions with {coverage:.0%} intervals are in {output}")
    _speaker().result({"rows": len(table), "output": str(output), "columns": list(table.columns)})


@app.command()
def explain(
    model: ModelPath,
    data: Annotated[Path | None, typer.Option(help="Rows to use; default: held out.")] = None,
    coverage: Annotated[float, typer.Option(help="0.5, 0.8, 0.9 or 0.95.")] = 0.9,
) -> None:
    """Show the importance of every input, with intervals."""
    frame = None if data is None else read_table(data)
    found = explained(ModelFile.read(model), frame, coverage)
    _speaker().table(f"Importances with {coverage:.0%} intervals", found["table"])
    _speaker().say(found["about"])
    _speaker().result(found)


@app.command()
def report(
    model: ModelPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file.")] = Path(
        "report.html"
    ),
    data: Annotated[Path | None, typer.Option(help="Rows to use; default: held out.")] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
) -> None:
    """Write a report: one HTML page that needs no network."""
    made = ModelFile.read(model)
    frame = None if data is None else read_table(data)
    X, y = held_out_rows(made, frame)
    baselines = {"bagging": made.bagging} if made.bagging is not None and frame is None else None
    contents = report_of.contents(
        made.model, X, y, title=title, target=made.schema.target, baselines=baselines
    )
    path = report_of.write(contents, output)
    size = path.stat().st_size
    _speaker().say(f"the report is in {path} ({size / 1e6:.2f} MB)")
    _speaker().result({"output": str(path), "bytes": size})


@app.command()
def compare(
    data: DataFile,
    target: Target,
    task: TaskName = None,
    model: Model = "hist",
    draws: Draws = 20,
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 5,
    jobs: Jobs = 1,
    seed: Seed = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Compare base model, bagging, ensemble and posterior by cross-validation."""
    speaker = _speaker()
    frame = read_table(data, delimiter=delimiter, encoding=encoding)
    schema = Schema.found(frame, target, _task(task))
    settings: dict[str, Any] = {"model": model, "draws": draws, "folds": folds, "jobs": jobs}
    found = compared(frame, schema, seed=seed, progress=speaker.progress, **settings)
    columns = {"method": list(found.table.index)} | {
        name: found.table[name].astype(float).tolist() for name in found.table
    }
    speaker.table(f"{target}: {folds}-fold cross-validation of {model}", columns)
    speaker.say(found.verdict)
    speaker.result({"table": columns, "verdict": found.verdict})


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(
        "nearbayes_demo"
    ),
    jobs: Jobs = 1,
) -> None:
    """Fit, predict, explain and report on data that ships with scikit-learn."""
    data, new = write_demo_data(output)
    model = output / "model.nearbayes"
    steps = [
        ["fit", str(data), "--target", "tumour", "-o", str(model), "--jobs", str(jobs)],
        ["predict", str(model), str(new), "-o", str(output / "predictions.csv")],
        ["explain", str(model)],
        ["report", str(model), "-o", str(output / "report.html")],
    ]
    for step in steps:
        _speaker().say(f"\n$ nearbayes {' '.join(step)}")
        app(step, standalone_mode=False)


def run(arguments: Sequence[str]) -> int:
    """Run a command; 0 if all went well, 1 if the work failed, 2 for what cannot be worked with."""
    state.update(speaker=Speaker(), debug=False)
    warnings.showwarning = _say_warning
    try:
        app(list(arguments), standalone_mode=False)
    except (typer.TyperException, UsageError) as error:
        return _failed(error, MISUSED)
    except (KeyboardInterrupt, typer.Abort):
        _speaker().error("interrupted before a draw was finished; nothing is written.")
        return FAILED
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        return _failed(error, FAILED)
    return 0


def _failed(error: Exception, code: int) -> int:
    if state["debug"]:
        traceback.print_exception(error, file=sys.stderr)
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    _speaker().error(" ".join(said.split()) or type(error).__name__)
    return code


def _say_warning(message: Warning | str, *_: Any) -> None:
    _speaker().say(f"note: {message}")


def _speaker() -> Speaker:
    speaker = state["speaker"]
    assert isinstance(speaker, Speaker)
    return speaker


def _task(name: str | None) -> Any:
    if name not in (None, "classification", "regression"):
        raise UsageError(f"--task must be classification or regression, got {name!r}.")
    return name
