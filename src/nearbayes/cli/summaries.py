"""Summaries: how a file was read, and the results of a fit, in a few lines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from nearbayes.cli.fit_verdict import verdict_line
from nearbayes.cli.in_short import findings
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.schema import Schema
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.execution.progress import in_words
from nearbayes.metrics import accuracy, coverage, log_score

__all__ = ["summary", "summary_lines", "treatment"]

MOST_COLUMNS = 30


def treatment(schema: Schema, n_rows: int) -> tuple[str, dict[str, list[Any]]]:
    """Title and columns of a table that shows how each column of the file is read."""
    title = f"{n_rows} rows; target {schema.target!r}: {schema.task} ({schema.target_words})"
    if schema.note:
        title += f"; {schema.note}"
    shown = schema.columns[:MOST_COLUMNS]
    more = len(schema.columns) - len(shown)
    columns: dict[str, list[Any]] = {
        "column": [column.name for column in shown],
        "read as": [column.kind for column in shown],
        "categories": [len(column.levels) or None for column in shown],
        "note": [column.note for column in shown],
    }
    if more:
        for values, last in zip(columns.values(), (f"... {more} more", "", "", ""), strict=True):
            values.append(last)
    return title, columns


def summary(made: ModelFile, path: Path, n_rows: int) -> dict[str, Any]:
    """Results of a fit, for machines."""
    source = made.model.posterior_.provenance
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "task": made.schema.task,
        "target_words": made.schema.target_words,
        "target_note": made.schema.note,
        "columns": [
            {"name": column.name, "kind": column.kind, "note": column.note}
            for column in made.schema.columns
        ],
        "rows": made.settings["rows"],
        "rows_of_file": n_rows,
        "draws": len(made.model.posterior_),
        "draws_asked": source.n_draws,
        "refits": len(source.blocks),
        "seed": source.seed,
        "seconds": {**source.seconds, **made.settings["seconds"]},
        "stopped": made.settings["stopped"],
        "calibration": _calibration(made.model),
        "diagnosis": made.diagnosis,
        # many models on few rows: threads would cost more than they save
        "held_out": timed_on_one_thread(lambda: _scores(made))[0],
        "findings": timed_on_one_thread(lambda: findings(made))[0],
    }


def summary_lines(found: dict[str, Any], made: ModelFile) -> list[str]:
    """Results of a fit, for people."""
    lines: list[str] = made.model.posterior_.summary().splitlines()
    if found["calibration"] is None:
        lines.append("intervals: not calibrated")
    if found["held_out"]:
        scores = {name: value for name, value in found["held_out"].items() if name != "rows"}
        said = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in scores.items())
        lines.append(f"at {found['held_out']['rows']} held-out rows: {said}")
    lines.append(f"{found['model']}: {found['bytes'] / 1e6:.2f} MB, made in {_took(found)}")
    lines += verdict_line(found["diagnosis"])
    if found["stopped"]:
        return lines
    if made.settings.get("quick"):
        lines.append("a first look: without --quick, intervals are calibrated and less rough")
    return [*lines, "", *found["findings"], "", *_next(found["model"])]


def _took(found: dict[str, Any]) -> str:
    """The time of the whole fit, and of its draws alone."""
    draws, whole = found["seconds"]["total"], found["seconds"]["all"]
    return f"{in_words(whole)} (draws {in_words(draws)})"


def _next(model: str) -> list[str]:
    """How to go on."""
    name = shlex.quote(model)
    return [
        f"next: nearbayes report {name}  # a page to read and to share",
        f"      nearbayes predict {name} NEW.csv -o predictions.csv  # predictions, with intervals",
        f"      nearbayes explain {name}  # which columns matter",
    ]


def _calibration(model: Any) -> str | None:
    found, n_draws = model.calibration_, len(model.posterior_)
    return None if found is None else str(found.words(n_draws))


def _scores(made: ModelFile) -> dict[str, float] | None:
    """Scores of the posterior and of the base model at the held-out rows."""
    if made.held_out is None:
        return None
    X, y = made.schema.labelled(made.held_out)
    posterior = made.model.posterior_
    (base,) = posterior.chunks.predict([posterior.first], X)
    if made.schema.task == "classification":
        codes, mean = np.searchsorted(made.model.classes_, y), made.model.predict_proba(X)
        return {
            "rows": len(y),
            "log_score": float(log_score(codes, mean)),
            "log_score_of_base_model": float(log_score(codes, base)),
            "accuracy": float(accuracy(codes, mean)),
        }
    mean, covered = made.model.predict(X), coverage(y, made.model.predict_interval(X, 0.9))
    return {
        "rows": len(y),
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "rmse_of_base_model": float(np.sqrt(np.mean((y - base) ** 2))),
        "coverage_of_90_percent_intervals": float(covered),
    }
