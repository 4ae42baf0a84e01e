"""Command line: ``python -m experiments.coverage_learners run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.coverage_learners.experiment import CoverageLearners
from experiments.coverage_learners.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, CoverageLearners(), results, write_report))
