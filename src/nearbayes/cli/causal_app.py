"""Causal app: ``nearbayes causal``, its commands and their options.

What does the work is imported when a command runs, so that help comes at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearbayes.cli.choices import CausalModelName, Method
from nearbayes.cli.outputs import check_apart
from nearbayes.cli.parameters import DataFile, Delimiter, Encoding, Jobs, Seed

__all__ = ["causal"]

causal = typer.Typer(
    help="What would happen if: effects on a causal graph that you give, with intervals.",
    no_args_is_help=True,
)

CausalPath = Annotated[Path, typer.Argument(help="File written by nearbayes causal fit.")]
Outcome = Annotated[str, typer.Option(help="Node to ask about.")]
Do = Annotated[
    list[str],
    typer.Option(help="What is done: dose=2, dose+=1, dose*=1.1 or colour=red. May be repeated."),
]
Coverage = Annotated[float, typer.Option(help="Interval coverage, between 0 and 1.")]


@causal.command()
def fit(
    context: typer.Context,
    data: DataFile,
    graph: Annotated[
        str,
        typer.Option(help="Edges, in quotes: 'age->dose, dose->outcome'; or a file, one per line."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file.")] = Path(
        "causal.nearbayes"
    ),
    model: Annotated[
        CausalModelName, typer.Option(help="How nodes come from their causes.")
    ] = "blend",
    category: Annotated[
        list[str] | None,
        typer.Option(help="Column of numbers to read as categories. May be repeated."),
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")
    ] = False,
    draws: Annotated[int | None, typer.Option(min=2, help="Posterior draws.")] = None,
    refits: Annotated[int | None, typer.Option(min=1, help="Refits per draw.")] = None,
    method: Annotated[Method, typer.Option(help="Method that makes the draws.")] = "martingale",
    jobs: Jobs = 1,
    seed: Seed = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Fit a causal model of the columns of a file, and save it."""
    from nearbayes.cli import causal_commands as commands
    from nearbayes.cli.edges import graph_of
    from nearbayes.cli.table_files import read_table

    edges = graph_of(graph)
    asked = commands.CausalOptions(
        model, draws, refits, method, tuple(category or ()), drop_missing, seed, jobs
    )
    frame = read_table(data, delimiter=delimiter, encoding=encoding)
    found = commands.fit(frame, edges, asked, output, context.obj.speaker)
    context.obj.speaker.result(found)
    commands.stop_if_stopped(found)


@causal.command()
def query(
    context: typer.Context,
    model: CausalPath,
    outcome: Outcome,
    do: Do,
    versus: Annotated[
        list[str] | None,
        typer.Option(help="What is done instead, as in --do. Default: nothing. May be repeated."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="Rows to look at: age=40:60, age=40: or colour=red. May be repeated."),
    ] = None,
    coverage: Coverage = 0.9,
) -> None:
    """Show the effect of an intervention on a node, with intervals."""
    from nearbayes.cli import causal_commands as commands

    speaker = context.obj.speaker
    asked = (outcome, do, versus or [], given or [], coverage)
    speaker.result(commands.query(model, *asked, speaker))


@causal.command()
def counterfactual(
    context: typer.Context,
    model: CausalPath,
    data: DataFile,
    outcome: Outcome,
    do: Do,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV, Parquet or Feather file.")],
    coverage: Coverage = 0.9,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8-sig",
) -> None:
    """Write what a node would have been in the rows of a file, had something been done."""
    from nearbayes.cli import causal_commands as commands
    from nearbayes.cli.table_files import read_table

    check_apart(output, model, data)
    frame = read_table(data, delimiter=delimiter, encoding=encoding)
    speaker = context.obj.speaker
    asked = (outcome, do, coverage, output)
    speaker.result(commands.counterfactual(model, frame, *asked, speaker))


@causal.command()
def report(
    context: typer.Context,
    model: CausalPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file.")] = Path(
        "causal.html"
    ),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
) -> None:
    """Write a report: the graph, and effects with intervals, as one HTML page."""
    from nearbayes.cli import causal_commands as commands

    check_apart(output, model)
    speaker = context.obj.speaker
    speaker.result(commands.report(model, output, title, speaker))
