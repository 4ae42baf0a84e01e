"""Command line: ``python -m experiments.refit_policy run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.refit_policy.experiment import (
    BASELINES,
    BINS,
    DEFAULT,
    POLICIES,
    SCHEDULES,
    RefitPolicy,
)
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import against, markdown, n_splits, summary


def write_report(records: Records, folder: Path) -> None:
    """Compare schedules, then policies with the default schedule."""
    frame = records.frame()
    splits = n_splits(frame, RefitPolicy.measured)
    metrics = {"nll": "less", "accuracy": "greater", "brier": "less"}
    others = [name for name in (*BASELINES, *SCHEDULES) if name != DEFAULT]
    policies = [DEFAULT, *POLICIES, *BINS]
    parts = [
        "# Schedules and refit policies for XGBoost: results",
        f"Made by `python -m experiments.refit_policy tables`: {len(splits)} data sets, "
        f"{splits.min()} to {splits.max()} splits, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Schedules",
        markdown(summary(frame, metrics, [*BASELINES, *SCHEDULES])),
        markdown(against(frame, "nll", DEFAULT, others)),
        f"## Ways to refit, all with {DEFAULT}",
        "The library stops early at every refit, on real rows, with weights that sum to n (first "
        "row); the others change one thing each.",
        markdown(summary(frame, metrics, policies)),
        markdown(against(frame, "nll", DEFAULT, policies[1:])),
    ]
    save_report(folder, parts, frame)


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, RefitPolicy(), results, write_report))
