"""Command line: ``python -m experiments.neural_truths run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.neural_truths.experiment import NeuralTruths
from experiments.neural_truths.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, NeuralTruths(), results, write_report))
