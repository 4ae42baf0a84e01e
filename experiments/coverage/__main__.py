"""Command line: ``python -m experiments.coverage run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from experiments.coverage.experiment import Coverage, with_truth_and_size
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown

SHOWN = (
    ("martingale", "raw"),
    ("martingale", "inflated"),
    ("martingale", "calibrated"),
    ("bootstrap", "raw"),
    ("bootstrap", "calibrated"),
    ("bart", "raw"),
)


def write_report(records: Records, folder: Path) -> None:
    """Write coverage and width by truth and by size."""
    frame = with_truth_and_size(records.frame())
    ours = frame[frame["method"] == "martingale"]
    parts = [
        "# Coverage of 90 % intervals: results",
        f"Made by `python -m experiments.coverage tables`: {len(ours)} replications, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}. XGBoost with trees of depth 3 at rate "
        "0.1, stopped early on a quarter of the n rows; 50 draws; intervals of the class "
        "probability or of the regression function at 500 fresh points.",
        "## Coverage",
        markdown(_table(frame, "coverage", "truth")),
        markdown(_table(frame, "coverage", "n")),
        "## Mean width",
        markdown(_table(frame, "width", "truth")),
        f"Calibrated fits cost {ours['cost'].mean():.2f} times the draws alone (mean; median "
        f"{ours['cost'].median():.2f}, largest {ours['cost'].max():.2f}; more than 3 in "
        f"{(ours['cost'] > 3).sum()} replications).",
    ]
    save_report(folder, parts, frame)


def _table(frame: pd.DataFrame, what: str, by: str) -> pd.DataFrame:
    columns = {
        f"{method}, {kind}": frame[frame["method"] == method].groupby(by)[f"{kind} {what}"].mean()
        for method, kind in SHOWN
        if f"{kind} {what}" in frame
    }
    table = pd.DataFrame(columns)
    table.loc["mean"] = table.mean()
    return table.rename_axis(by)


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, Coverage(), results, write_report))
