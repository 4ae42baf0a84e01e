"""Command line: ``python -m experiments.regression_trees run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from experiments.regression_trees.experiment import RegressionTrees
from experiments.regression_trees.methods import PEERS, POSTERIORS
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.tables import by_data_set, markdown, n_splits

METHODS = (*POSTERIORS, *PEERS)


def write_report(records: Records, folder: Path) -> None:
    """Each score by data set and method, and widths against MAPIE's at equal coverage."""
    frame = records.frame()
    splits = n_splits(frame, METHODS)
    parts = [
        "# Predictive intervals for regression: results",
        f"Made by `python -m experiments.regression_trees tables`: {len(splits)} data sets, "
        f"{splits.min()} to {splits.max()} splits, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}. Lower is better, but for coverage, "
        "which should be 0.9. Scores in units of y; `relative` is the mean over data sets of the "
        "ratio to martingale.",
    ]
    for metric, words in {
        "coverage": "Coverage of 90 % intervals of y",
        "width_at_90": "Mean width, intervals scaled to cover 90 % of the test rows",
        "width": "Mean width as it is",
        "crps": "CRPS",
        "nlpd": "NLPD",
    }.items():
        parts += [f"## {words}", markdown(_table(frame, metric))]
    widths = by_data_set(frame, "width_at_90", ["martingale", "mapie"])
    sharper = widths["martingale"] < widths["mapie"]
    parts.append(
        f"At equal coverage martingale is sharper than MAPIE's CV+ on {sharper.sum()} of "
        f"{len(sharper)} data sets ({', '.join(sharper.index[sharper])})."
    )
    (folder / "report.md").write_text("\n\n".join(parts) + "\n")


def _table(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    known = frame.dropna(subset=[metric])["method"].unique()
    table = by_data_set(frame, metric, [name for name in METHODS if name in known])
    if metric == "coverage":
        table.loc["mean"] = table.mean()
    elif metric != "nlpd":  # which can be negative
        table.loc["relative"] = table.div(table["martingale"], axis=0).mean()
    return table


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, RegressionTrees(), results, write_report))
