"""Command line: ``python -m experiments.classification run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.classification.experiment import Classification
from experiments.classification.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, Classification(), results, write_report))
