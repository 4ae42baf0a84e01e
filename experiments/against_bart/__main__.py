"""Command line: ``python -m experiments.against_bart run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.against_bart.experiment import AgainstBart
from experiments.against_bart.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, AgainstBart(), results, write_report))
