"""Command line: ``python -m experiments.regression_trees run``, then ``tables``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.regression_trees.experiment import RegressionTrees
from experiments.regression_trees.methods import PEERS, POSTERIORS
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import by_data_set, markdown, n_splits

MAIN = ("base", "bootstrap", "martingale", *PEERS)
NOISES = tuple(name for name in POSTERIORS if name.startswith("martingale"))
SCORES = {
    "coverage": "Coverage of 90 % intervals of y",
    "width_at_90": "Mean width, intervals scaled to cover 90 % of the test rows",
    "width": "Mean width as it is",
    "crps": "CRPS",
    "nlpd": "NLPD",
}


def write_report(records: Records, folder: Path) -> None:
    """Write each score by data set and method, widths against MAPIE's, and kinds of noise."""
    frame = records.frame()
    parts = [
        "# Predictive intervals for regression: results",
        f"Made by `python -m experiments.regression_trees tables`: {_extent(frame, MAIN)}, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}. Lower is better, but for coverage, "
        "which should be 0.9. Scores in units of y; `relative` is the mean over data sets of the "
        "ratio to martingale.",
    ]
    for metric, words in SCORES.items():
        parts += [f"## {words}", markdown(_table(frame, metric, MAIN))]
    parts += [_sharper(frame), "# Kinds of noise", f"On {_extent(frame, NOISES)}."]
    for metric, words in SCORES.items():
        parts += [f"## {words}", markdown(_table(frame, metric, NOISES))]
    save_report(folder, parts, frame)


def _extent(frame: pd.DataFrame, methods: Sequence[str]) -> str:
    splits = n_splits(frame, methods)
    return f"{len(splits)} data sets, {splits.min()} to {splits.max()} splits"


def _sharper(frame: pd.DataFrame) -> str:
    said = []
    for metric, words in (("width_at_90", "At equal coverage"), ("width", "As they are")):
        widths = by_data_set(frame, metric, ["martingale", "mapie"])
        ratio = widths["martingale"] / widths["mapie"]
        ratios = ", ".join(f"{name} {value:.3f}" for name, value in ratio.items())
        said.append(
            f"{words}, intervals of martingale are narrower than those of MAPIE's CV+ on "
            f"{(ratio < 1).sum()} of {len(ratio)} data sets (ratio of widths: {ratios})."
        )
    return " ".join(said)


def _table(frame: pd.DataFrame, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    known = frame.dropna(subset=[metric])["method"].unique()
    table = by_data_set(frame, metric, [name for name in methods if name in known])
    if metric == "coverage":
        table.loc["mean"] = table.mean()
    elif metric != "nlpd":  # which can be negative
        table.loc["relative"] = table.div(table["martingale"], axis=0).mean()
    return table


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, RegressionTrees(), results, write_report))
