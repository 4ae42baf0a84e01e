"""Command line: ``python -m experiments.multitask run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.multitask.experiment import Multitask
from experiments.multitask.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, Multitask(), results, write_report))
