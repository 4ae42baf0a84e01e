"""Commands: the work of each command, and what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from nearbayes import report as report_of
from nearbayes.cli.comparing import compare as compared
from nearbayes.cli.console import Speaker
from nearbayes.cli.demo import write_demo_data
from nearbayes.cli.errors import Stopped, UsageError
from nearbayes.cli.explaining import explain as explained
from nearbayes.cli.explaining import rows_to_look_at
from nearbayes.cli.fit_command import Options
from nearbayes.cli.fit_command import fit as fitted
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.outputs import check_output
from nearbayes.cli.predicting import predict as predicted
from nearbayes.cli.schema import Schema, Task
from nearbayes.cli.summaries import summary, summary_lines, treatment
from nearbayes.cli.table_files import check_table_output, read_table, write_table

__all__ = ["compare", "demo", "explain", "fit", "predict", "report", "stop_if_stopped"]

Result = dict[str, Any]


def fit(frame: pd.DataFrame, options: Options, output: Path, speaker: Speaker) -> Result:
    """Show how the file is read, fit, write the model and print a summary."""
    schema = Schema.found(frame, options.target, options.task)
    speaker.table(*treatment(schema, len(frame)))
    made = fitted(frame, schema, options, output, speaker.say, speaker.progress)
    found = summary(made, output)
    for line in summary_lines(found, made):
        speaker.say(line)
    return found


def stop_if_stopped(found: Result) -> None:
    """Raise `Stopped` if the user interrupted the fit."""
    if found["stopped"]:
        raise Stopped(
            f"interrupted: {found['draws']} of {found['draws_asked']} draws are in "
            f"{found['model']}; run the same command again to continue."
        )


def predict(
    model: Path, frame: pd.DataFrame, coverage: float, output: Path, speaker: Speaker
) -> Result:
    """Write predictions for the rows of a file."""
    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}.")
    check_table_output(output)
    made = ModelFile.read(model)
    notes = _noted(made, frame, speaker)
    table = predicted(made, frame, coverage)
    write_table(table, output)
    speaker.say(f"{len(table)} predictions with {coverage:.0%} intervals written to {output}")
    return {
        "rows": len(table),
        "output": str(output),
        "columns": list(table.columns),
        "notes": notes,
    }


def explain(model: Path, frame: pd.DataFrame | None, coverage: float, speaker: Speaker) -> Result:
    """Show the importance of each input."""
    made = ModelFile.read(model)
    _noted(made, frame, speaker)
    found = explained(made, frame, coverage)
    speaker.table(f"Importances with {coverage:.0%} intervals", found["table"])
    speaker.say(found["about"])
    return found


def report(
    model: Path, frame: pd.DataFrame | None, output: Path, title: str | None, speaker: Speaker
) -> Result:
    """Write the report."""
    check_output(output)
    made = ModelFile.read(model)
    _noted(made, frame, speaker)
    X, y = rows_to_look_at(made, frame)
    # only bagging's predictions at the held-out rows were saved, so it cannot predict others
    baselines = {"bagging": made.bagging} if made.bagging is not None and frame is None else None
    contents = report_of.contents(
        made.model, X, y, title=title, target=made.schema.target, baselines=baselines
    )
    path = report_of.write(contents, output)
    size = path.stat().st_size
    speaker.say(f"report written to {path} ({size / 1e6:.2f} MB)")
    return {"output": str(path), "bytes": size}


def compare(
    frame: pd.DataFrame, target: str, task: Task | None, speaker: Speaker, **settings: Any
) -> Result:
    """Show the scores of methods in cross-validation."""
    schema = Schema.found(frame, target, task)
    speaker.table(*treatment(schema, len(frame)))
    found = compared(frame, schema, progress=speaker.progress, **settings)
    columns = {"method": list(found.table.index)} | {
        name: found.table[name].astype(float).tolist() for name in found.table
    }
    model, folds = settings["model"], settings["folds"]
    speaker.table(f"{target}: {folds}-fold cross-validation of {model}", columns)
    for line in (*found.notes, found.verdict):
        speaker.say(line)
    return {"table": columns, "notes": list(found.notes), "verdict": found.verdict}


def demo(folder: Path, jobs: int, speaker: Speaker) -> Result:
    """Run the other commands on data that ships with scikit-learn."""
    data, new = write_demo_data(folder)
    model, table, page = (
        folder / name for name in ("model.nearbayes", "predictions.csv", "report.html")
    )
    found: dict[str, Result] = {}
    speaker.say(f"$ nearbayes fit {data} --target tumour --draws 20 --output {model} --jobs {jobs}")
    found["fit"] = fit(read_table(data), Options("tumour", draws=20, jobs=jobs), model, speaker)
    stop_if_stopped(found["fit"])
    speaker.say(f"\n$ nearbayes predict {model} {new} --output {table}")
    found["predict"] = predict(model, read_table(new), 0.9, table, speaker)
    speaker.say(f"\n$ nearbayes explain {model}")
    found["explain"] = explain(model, None, 0.9, speaker)
    speaker.say(f"\n$ nearbayes report {model} --output {page}")
    found["report"] = report(model, None, page, None, speaker)
    return found


def _noted(made: ModelFile, frame: pd.DataFrame | None, speaker: Speaker) -> list[str]:
    """Print how a file differs from the training data."""
    notes = [] if frame is None else made.schema.surprises(frame)
    for note in notes:
        speaker.say(f"note: {note}")
    return notes
