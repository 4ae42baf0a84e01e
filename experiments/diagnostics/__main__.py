"""Command line: ``python -m experiments.diagnostics run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.diagnostics.experiment import Diagnostics
from experiments.diagnostics.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, Diagnostics(), results, write_report))
