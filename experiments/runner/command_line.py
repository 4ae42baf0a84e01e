"""Shared command line of the experiments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.runner.checkout import Checkout
from experiments.runner.datasets import DEFAULT_FOLDER
from experiments.runner.provenance import Origin
from experiments.runner.records import Record, Records
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
        _check(runner.checkout, options)
        return runner.run()
    report(runner.records, options.results)
    return 0


def run_once_or_report(
    description: str | None,
    kept: Path,
    measure: Callable[[argparse.Namespace], Record],
    report: Callable[[Record, Path], None],
    **numbers: int,
) -> int:
    """The same for an experiment without replications, which has one record.

    Parameters
    ----------
    description : str
        For ``--help``.
    kept : Path
        File of the record, in the folder of results.
    measure : callable
        ``measure(options)`` gives the record, with ``"data"``, a hash of the data.
    report : callable
        ``report(record, folder)`` writes what is to be read.
    **numbers : int
        Options of the experiment and their defaults.
    """
    parser = _parser(description, kept.parent)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    path = options.results / kept.name
    if options.action == "tables":
        report(json.loads(path.read_text()), options.results)
        return 0
    checkout = Checkout()
    _check(checkout, options)
    given = {name: getattr(options, name) for name in numbers}
    origin = Origin.begin(options.results, given, checkout)
    measured = measure(options)
    path.write_text(json.dumps({**origin.stamp(), **measured}) + "\n")
    return 0


def _check(checkout: Checkout, options: argparse.Namespace) -> None:
    if not options.allow_changes:
        checkout.refuse_changes()


def _parser(description: str | None, results: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("action", choices=["run", "tables"])
    parser.add_argument("--data-dir", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--results", type=Path, default=results, help="folder of what is measured")
    parser.add_argument(
        "--allow-changes",
        action="store_true",
        help="run although files differ from the commit; records are marked with a '+'",
    )
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
