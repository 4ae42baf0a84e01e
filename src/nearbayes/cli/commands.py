"""Commands: the work of each command, and what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from nearbayes import report as report_of
from nearbayes.cli.comparing import compare as compared
from nearbayes.cli.console import Speaker
from nearbayes.cli.demo import write_demo_data
from nearbayes.cli.diagnosing import checks_of, diagnosis_table, rows_from_text
from nearbayes.cli.diagnosing import diagnose as diagnosed
from nearbayes.cli.errors import Stopped, UsageError
from nearbayes.cli.explaining import explain as explained
from nearbayes.cli.explaining import rows_to_look_at
from nearbayes.cli.fit_command import fit as fitted
from nearbayes.cli.fit_work import Options
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.option_words import in_options
from nearbayes.cli.outputs import check_output, writing
from nearbayes.cli.predicting import predict as predicted
from nearbayes.cli.predicting import rows_at_a_time
from nearbayes.cli.row_names import facts_of, row_names
from nearbayes.cli.schema import Schema
from nearbayes.cli.summaries import summary, summary_lines, treatment
from nearbayes.cli.surprises import Surprises
from nearbayes.cli.table_files import read_table, table_pieces
from nearbayes.cli.table_writing import check_table_output, table_writer

__all__ = ["compare", "demo", "diagnose", "explain", "fit", "predict", "report", "stop_if_stopped"]

Result = dict[str, Any]
Pieces = Callable[..., Iterator[pd.DataFrame]]


def fit(frame: pd.DataFrame, options: Options, output: Path, speaker: Speaker) -> Result:
    """Show how the file is read, fit, write the model and print a summary."""
    schema = Schema.found(frame, options.target, options.task, options.reading)
    speaker.table(*treatment(schema, len(frame)))
    made = fitted(frame, schema, options, output, speaker.say, speaker.progress)
    found = summary(made, output, len(frame))
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


def predict(model: Path, data: Pieces, coverage: float, output: Path, speaker: Speaker) -> Result:
    """Write predictions for the rows of a file, piece by piece.

    Parameters
    ----------
    model : Path
    data : callable
        ``data(n_rows, columns=..., name=...)`` gives frames of at most `n_rows` rows.
    coverage : float
    output : Path
    speaker : Speaker
    """
    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}.")
    check_table_output(output)
    made = ModelFile.read(model)
    found, rows, columns = Surprises(made.schema), 0, []
    needed = {column.name for column in made.schema.used} | {made.schema.id}
    pieces = data(rows_at_a_time(made), columns=needed, name=made.schema.id)
    with table_writer(output) as writer:
        for frame in pieces:
            found.add(frame)
            table = predicted(made, frame, coverage)
            writer.add(table)
            rows, columns = rows + len(table), list(table.columns)
    for note in found.notes:
        speaker.say(f"note: {note}")
    speaker.say(f"{rows} predictions with {coverage:.0%} intervals written to {output}")
    return {"rows": rows, "output": str(output), "columns": columns, "notes": found.notes}


def diagnose(
    model: Path, frame: pd.DataFrame | None, checks: str, at: str, speaker: Speaker
) -> Result:
    """Say whether the intervals of a model can be trusted."""
    asked, rows = checks_of(checks), rows_from_text(at)
    found = diagnosed(ModelFile.read(model), frame, asked, rows)
    speaker.table(f"Diagnosis of {model}", diagnosis_table(found))
    speaker.say(f"verdict: {found['verdict']}")
    return found


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
    """Write the report, as text if the output ends in .md, and print what it found."""
    check_output(output)
    made = ModelFile.read(model)
    _noted(made, frame, speaker)
    X, y = rows_to_look_at(made, frame)
    named = row_names(made, made.held_out if frame is None else frame)
    names = made.schema.input_names
    # only bagging's predictions at the held-out rows were saved, so it cannot predict others
    baselines = {"bagging": made.bagging} if made.bagging is not None and frame is None else None
    contents = report_of.contents(
        made.model,
        X,
        y,
        title=title,
        target=made.schema.target,
        baselines=baselines,
        feature_names=[names[name] for name in X.columns],
        row_names=named.names,
        rows_called=named.called,
        facts=facts_of(made, frame),
        diagnosis=None if made.diagnosis is None else in_options(made.diagnosis),
    )
    with writing(output):
        path = report_of.write(contents, output)
    size = path.stat().st_size
    for alert in contents["alerts"]:
        speaker.say(f"{alert['kind']}: {alert['words']}")
    for each in contents["findings"]:
        speaker.say(f"{each['question']} {each['short']}")
    speaker.say(f"report written to {path} ({size / 1e6:.2f} MB)")
    told = {each["key"]: f"{each['short']} {each['long']}" for each in contents["findings"]}
    alerts = [each["words"] for each in contents["alerts"]]
    return {"output": str(path), "bytes": size, "findings": told, "alerts": alerts}


def compare(frame: pd.DataFrame, schema: Schema, speaker: Speaker, **settings: Any) -> Result:
    """Show the scores of methods in cross-validation."""
    speaker.table(*treatment(schema, len(frame)))
    found = compared(frame, schema, progress=speaker.progress, **settings)
    columns = {"method": list(found.table.index)} | {
        name: found.table[name].astype(float).tolist() for name in found.table
    }
    model, folds = settings["model"], settings["folds"]
    speaker.table(f"{schema.target}: {folds}-fold cross-validation of {model}", columns)
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
    found["predict"] = predict(model, partial(table_pieces, new), 0.9, table, speaker)
    speaker.say(f"\n$ nearbayes explain {model}")
    found["explain"] = explain(model, None, 0.9, speaker)
    speaker.say(f"\n$ nearbayes report {model} --output {page}")
    found["report"] = report(model, None, page, None, speaker)
    return found


def _noted(made: ModelFile, frame: pd.DataFrame | None, speaker: Speaker) -> list[str]:
    """Print how a file differs from the training data."""
    notes = [] if frame is None else Surprises(made.schema).add(frame).notes
    for note in notes:
        speaker.say(f"note: {note}")
    return notes
