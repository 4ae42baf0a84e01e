"""Command line: ``python -m experiments.neural_regression run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.neural_regression.experiment import NeuralRegression
from experiments.neural_regression.report import write_report
from experiments.runner.command_line import run_or_report

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, NeuralRegression(), results, write_report))
