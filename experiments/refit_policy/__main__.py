"""Command line: ``python -m experiments.refit_policy run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.refit_policy.experiment import (
    BASELINES,
    DEFAULT,
    POLICIES,
    QUICK_DATA_SETS,
    SCHEDULES,
    RefitPolicy,
)
from experiments.runner.command_line import parse
from experiments.runner.records import Records
from experiments.runner.run import Runner
from experiments.runner.tables import against, markdown, n_splits, summary

HERE = Path(__file__).parent


def main() -> int:
    """Run the experiment, or make the tables of its records."""
    options = parse(
        __doc__, HERE / "results", QUICK_DATA_SETS, RefitPolicy.measured, splits=2, draws=16
    )
    experiment = RefitPolicy(
        options.data_sets, options.methods, options.splits, options.draws, options.data_dir
    )
    runner = Runner(experiment, options.results, options.jobs)
    if options.action == "run":
        return runner.run()
    write_report(runner.records, options.results)
    return 0


def write_report(records: Records, folder: Path) -> None:
    """Schedules compared, then policies with the default schedule."""
    frame = records.frame()
    splits = n_splits(frame, RefitPolicy.measured)
    metrics = {"nll": "less", "accuracy": "greater", "brier": "less"}
    policies = [DEFAULT, *POLICIES]
    parts = [
        "# Schedules and refit policies for XGBoost: results",
        f"Made by `python -m experiments.refit_policy tables`: {len(splits)} data sets, "
        f"{splits.min()} to {splits.max()} splits, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Schedules",
        markdown(summary(frame, metrics, [*BASELINES, *SCHEDULES])),
        markdown(against(frame, "nll", DEFAULT, [*BASELINES, *SCHEDULES.keys() - {DEFAULT}])),
        f"## Ways to refit, all with {DEFAULT}",
        "The library stops early at every refit, on real rows, with weights that sum to n (first "
        "row); the others change one thing each.",
        markdown(summary(frame, metrics, policies)),
        markdown(against(frame, "nll", DEFAULT, list(POLICIES))),
    ]
    (folder / "report.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    sys.exit(main())
