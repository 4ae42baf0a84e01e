"""Parameters: arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearbayes.cli.choices import DecimalMark, ModelName, SplitAs, Task
from nearbayes.cli.completion import columns_of

__all__ = [
    "Checkpoint",
    "DataFile",
    "Decimal",
    "Delimiter",
    "Drop",
    "Encoding",
    "Executor",
    "Id",
    "Jobs",
    "Keep",
    "Model",
    "ModelPath",
    "NoHeader",
    "Rows",
    "Seed",
    "Sheet",
    "SplitBy",
    "SplitWay",
    "Target",
    "TaskName",
]


def _checked_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all cores, got 0.")
    return jobs


DataFile = Annotated[
    Path, typer.Argument(help="CSV (also compressed), Parquet, Feather, Stata or Excel file.")
]
ModelPath = Annotated[Path, typer.Argument(help="File written by nearbayes fit.")]
Target = Annotated[str, typer.Option(help="Column to predict.", autocompletion=columns_of)]
TaskName = Annotated[Task | None, typer.Option(help="Default: inferred from the target.")]
Jobs = Annotated[
    int, typer.Option(callback=_checked_jobs, help="Number of processes; -1 for all cores.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="Folder, or s3://bucket/prefix, where finished draws are kept until the fit is "
        "complete. Default: OUTPUT.checkpoint."
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(
        help="Where draws are made: serial, threads, processes, dask, ray, or the address of a "
        "Dask scheduler (tcp://host:8786). Default: --jobs processes."
    ),
]
Model = Annotated[ModelName, typer.Option(help="Algorithm to fit.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Delimiter = Annotated[str | None, typer.Option(help="CSV delimiter. Default: detected.")]
Encoding = Annotated[str, typer.Option(help="CSV encoding.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file. Default: the first.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out; may be repeated.", autocompletion=columns_of),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to use although it looks like row numbers; may be repeated.",
        autocompletion=columns_of,
    ),
]
Id = Annotated[
    str,
    typer.Option("--id", help="Column that names the rows; no input.", autocompletion=columns_of),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="CSV without names: they become 'column 1', 'column 2', ..."),
]
SplitBy = Annotated[
    str,
    typer.Option(
        help="Column by which rows are held out: the latest by a time, or whole groups, such as "
        "all rows of a person. Default: at random.",
        autocompletion=columns_of,
    ),
]
SplitWay = Annotated[
    SplitAs | None,
    typer.Option("--split-as", help="What --split-by holds. Default: found from it."),
]
Decimal = Annotated[
    DecimalMark | None, typer.Option(help="Decimal mark of numbers. Default: detected.")
]
Rows = Annotated[Path | None, typer.Option(help="Data file. Default: the held-out rows.")]
