"""Shared command line of the experiments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.runner.datasets import DEFAULT_FOLDER
from experiments.runner.records import Records
from experiments.runner.run import Runner


def run_or_report(
    description: str | None, published: Any, results: Path, report: Callable[[Records, Path], None]
) -> int:
    """Run an experiment, or make tables and figures; return the number of failures.

    Parameters
    ----------
    description : str
        For ``--help``.
    published : dataclass instance
        The experiment as published; options replace its data_sets, measured, n_splits, n_draws
        and data_dir.
    results : Path
        Folder of the records.
    report : callable
        ``report(records, folder)`` writes the report.
    """
    options = _parse(description, results, published)
    experiment = type(published)(
        options.data_sets, options.methods, options.splits, options.draws, options.data_dir
    )
    runner = Runner(experiment, options.results, options.jobs)
    if options.action == "run":
        return runner.run()
    report(runner.records, options.results)
    return 0


def run_once_or_report(
    description: str | None,
    results: Path,
    run: Callable[[argparse.Namespace], None],
    report: Callable[[Path], None],
    **numbers: int,
) -> int:
    """Like `run_or_report`, without replications; `numbers` are options with defaults."""
    parser = _parser(description, results)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    if options.action == "run":
        options.results.mkdir(parents=True, exist_ok=True)
        run(options)
    else:
        report(options.results)
    return 0


def _parser(description: str | None, results: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("action", choices=["run", "tables"])
    parser.add_argument("--data-dir", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--results", type=Path, default=results, help="folder of the results")
    return parser


def _parse(description: str | None, results: Path, published: Any) -> argparse.Namespace:
    data_sets: Sequence[str] = published.data_sets
    methods: Sequence[str] = published.measured
    parser = _parser(description, results)
    parser.add_argument("--splits", type=int, default=published.n_splits)
    parser.add_argument("--draws", type=int, default=published.n_draws)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--data-sets", nargs="+", default=tuple(data_sets), choices=data_sets)
    parser.add_argument("--methods", nargs="+", default=tuple(methods), choices=methods)
    options = parser.parse_args()
    options.data_sets, options.methods = tuple(options.data_sets), tuple(options.methods)
    return options
