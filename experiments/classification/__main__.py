"""Command line: ``python -m experiments.classification run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.classification.experiment import DATA_SETS, Classification
from experiments.runner.command_line import parse
from experiments.runner.run import Runner

HERE = Path(__file__).parent


def main() -> int:
    """Run the experiment, or make tables and pictures of its records."""
    options = parse(__doc__, HERE / "results", DATA_SETS, Classification.measured)
    experiment = Classification(
        options.data_sets, options.methods, options.splits, options.draws, options.data_dir
    )
    runner = Runner(experiment, options.results, options.jobs)
    if options.action == "run":
        return runner.run()
    from experiments.classification.report import write_report

    write_report(runner.records, options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
