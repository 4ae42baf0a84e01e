"""Command line that experiments share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.runner.datasets import DEFAULT_FOLDER


def parse(
    description: str | None,
    results: Path,
    data_sets: Sequence[str],
    methods: Sequence[str],
    *,
    splits: int = 5,
    draws: int = 50,
) -> argparse.Namespace:
    """Read the options of an experiment; what is left out has the values of the published run."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("action", choices=["run", "tables"])
    parser.add_argument("--data-dir", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--results", type=Path, default=results, help="folder of the records")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--draws", type=int, default=draws)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--data-sets", nargs="+", default=tuple(data_sets), choices=data_sets)
    parser.add_argument("--methods", nargs="+", default=tuple(methods), choices=methods)
    options = parser.parse_args()
    options.data_sets, options.methods = tuple(options.data_sets), tuple(options.methods)
    return options
