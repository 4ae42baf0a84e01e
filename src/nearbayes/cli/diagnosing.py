"""Diagnosing: whether a model file can be trusted, by what is in it and with its data file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nearbayes.cli.errors import UsageError
from nearbayes.cli.fit_command import fingerprint
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.option_words import in_options
from nearbayes.cli.splitting import split_rows
from nearbayes.diagnostics.diagnose import CHECKS, FEWEST_DRAWS
from nearbayes.diagnostics.forecast import USUAL_ROWS, rows_of
from nearbayes.execution.executor import timed_on_one_thread

__all__ = ["checks_of", "diagnose", "diagnosis_table", "rows_from_text"]


def diagnose(
    made: ModelFile, frame: pd.DataFrame | None, checks: Any, at: Sequence[float] = USUAL_ROWS
) -> dict[str, Any]:
    """The diagnosis with the rows of a file, or without one that of the fit.

    Parameters
    ----------
    made : ModelFile
    frame : DataFrame, optional
        The file that the model was fitted to.
    checks : "default", "all" or names of lines
    at : sequence of float and int
        Where to forecast: floats are multiples of the rows of the fit, integers are rows.
    """
    if len(made.model.posterior_) < FEWEST_DRAWS:
        raise UsageError(
            f"a diagnosis needs at least {FEWEST_DRAWS} draws, but the model has "
            f"{len(made.model.posterior_)}: fit with a larger --draws."
        )
    if frame is None:
        if made.diagnosis is None or checks != "default" or tuple(at) != USUAL_ROWS:
            raise UsageError("give the file that the model was fitted to as well, with its rows.")
        return in_options(made.diagnosis)
    X, y = made.schema.labelled(_training_rows(made, frame))
    n = made.model.posterior_.provenance.n
    try:
        rows_of(at, n)
    except ValueError:
        said = f"--at must be more rows than the {n:,.0f} of the fit, or more than 1x."
        raise UsageError(said) from None
    found, _ = timed_on_one_thread(lambda: made.model.diagnose(X, y, checks=checks, at=at))
    return in_options(found.to_dict())


def diagnosis_table(found: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns of a table for people."""
    lines = found["lines"]
    return {
        "check": [line["question"] for line in lines],
        "": [{"good": "ok", "warning": "WARNING"}.get(line["status"], "") for line in lines],
        "answer": [f"{line['words']} {line['advice']}".strip() for line in lines],
    }


def checks_of(given: str) -> str | Sequence[str]:
    """Checks as written on the command line: "default", "all", or names with commas between.

    Examples
    --------
    >>> checks_of("noise, more data")
    ('noise', 'more data')
    """
    if given in ("default", "all"):
        return given
    names = tuple(name.strip() for name in given.split(","))
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise UsageError(
            f"--checks must be default, all, or some of {', '.join(CHECKS)} with commas between, "
            f"got {unknown[0]!r}."
        )
    return names


def rows_from_text(given: str) -> tuple[float, ...]:
    """Where to forecast, as written on the command line: rows, or multiples that end in x.

    Examples
    --------
    >>> rows_from_text("4x, 5000")
    (4.0, 5000)
    """
    found = []
    for part in (each.strip() for each in given.split(",")):
        try:
            found.append(float(part[:-1]) if part.endswith("x") else int(part))
        except ValueError:
            found.append(math.nan)
    if not all(0 < each < math.inf for each in found):
        raise UsageError(
            "--at must be numbers of rows such as 5000, or multiples such as 4x, with commas "
            f"between, got {given!r}."
        )
    return tuple(found)


def _training_rows(made: ModelFile, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a file that the model was fitted to; the others were held out."""
    settings = made.settings
    train, *_ = split_rows(frame, made.schema, settings["holdout"], settings["seed"])
    for rows in (train, made.schema.usable(frame)):
        if fingerprint(rows) == settings["data"]:
            return rows
    raise UsageError(
        "the data file is not the one that the model was fitted to: give that file, with the same "
        "columns and rows."
    )
