"""Command line: ``python -m experiments.theory_inverse run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.runner.command_line import run_or_report
from experiments.theory_inverse.experiment import Inverse
from experiments.theory_inverse.report import write_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, Inverse(), results, write_report))
