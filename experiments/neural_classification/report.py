"""Report: NLL and accuracy of every method and data set, beside the goal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.neural_classification.experiment import DATA_SETS, METHODS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import Better, against, by_data_set, markdown, n_splits, summary

METRICS: dict[str, Better] = {"nll": "less", "accuracy": "greater"}
RIVALS = ("ensemble", "bootstrap")
OURS = ("martingale", "martingale, one block")
MOST = 1.01  # ratio of mean NLL to that of the better rival


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    methods = [name for name in METHODS if name in set(frame["method"])]
    splits = n_splits(frame, methods)
    parts = [
        "# Networks on classification problems: results",
        f"Made by `python -m experiments.neural_classification tables` ({len(frame)} "
        f"measurements, commits {', '.join(sorted(frame['commit'].unique()))}). {len(splits)} of "
        f"{len(DATA_SETS)} data sets, {splits.min()} to {splits.max()} splits each with all "
        "methods.",
        "## Goal",
        "The first row is that of the default schedule, four blocks of n/4.",
        markdown(_goals(frame)),
        "## Methods\n\nMeans and average ranks over data sets.",
        markdown(summary(frame, METRICS, methods)),
        markdown(against(frame, "nll", OURS[0], RIVALS)),
        *(
            f"## {metric}\n\nMean over splits.\n\n"
            f"{markdown(by_data_set(frame, metric, methods), 4)}"
            for metric in METRICS
        ),
    ]
    save_report(folder, parts, frame)


def _goals(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean NLL over that of the better of ensemble and bootstrap."""
    rows = {}
    for name in OURS:
        if name in set(frame["method"]):
            scores = by_data_set(frame, "nll", [*RIVALS, name])
            better = scores[list(RIVALS)].mean().idxmin()
            ratio = scores[name].mean() / scores[better].mean()
            rows[f"mean NLL of {name}, over that of {better}"] = {
                "found": f"{ratio:.4f}",
                "goal": f"at most {MOST:g}",
                "met": "met" if ratio <= MOST else "not met",
            }
    return pd.DataFrame(rows).T.rename_axis("what")
