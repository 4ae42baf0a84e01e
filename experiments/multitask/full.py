"""Command line of the paper's configuration: ``python -m experiments.multitask.full run``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.multitask.experiment import FULL, FullMultitask
from experiments.multitask.report import write_report
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records


def write_full_report(records: Records, folder: Path) -> None:
    """The same report, of the settings of the full design."""
    write_report(records, folder, FULL)


if __name__ == "__main__":
    results = Path(__file__).parent / "results_full"
    sys.exit(run_or_report(__doc__, FullMultitask(), results, write_full_report))
