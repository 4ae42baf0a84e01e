"""Parameters: arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearbayes.cli.models import ModelName
from nearbayes.cli.schema import Task

__all__ = [
    "DataFile",
    "Delimiter",
    "Encoding",
    "Jobs",
    "Model",
    "ModelPath",
    "Rows",
    "Seed",
    "Target",
    "TaskName",
]


def _checked_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all cores, got 0.")
    return jobs


DataFile = Annotated[Path, typer.Argument(help="CSV, gzipped CSV, Parquet or Feather file.")]
ModelPath = Annotated[Path, typer.Argument(help="File written by nearbayes fit.")]
Target = Annotated[str, typer.Option(help="Column to predict.")]
TaskName = Annotated[Task | None, typer.Option(help="Default: inferred from the target.")]
Jobs = Annotated[
    int, typer.Option(callback=_checked_jobs, help="Number of processes; -1 for all cores.")
]
Model = Annotated[ModelName, typer.Option(help="Algorithm to fit.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Delimiter = Annotated[str | None, typer.Option(help="CSV delimiter. Default: detected.")]
Encoding = Annotated[str, typer.Option(help="CSV encoding.")]
Rows = Annotated[Path | None, typer.Option(help="Data file. Default: the held-out rows.")]
