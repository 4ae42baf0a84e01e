"""Report: the tables of the classification experiment, beside the goal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.classification.report import OURS, every_data_set, posterior_tables, save_scatter
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import by_data_set, compared, markdown, n_splits
from experiments.untuned.experiment import METHODS, TREES

LARGEST_P = 0.05


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md`` and its figure to a folder."""
    frame = records.frame()
    splits = n_splits(frame, METHODS)
    trees = ", ".join(f"{name} {value}" for name, value in TREES.items())
    parts = [
        "# XGBoost that is not tuned: results",
        f"Made by `python -m experiments.untuned tables` ({len(frame)} measurements, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}). {len(splits)} data sets, "
        f"{splits.min()} to {splits.max()} splits each; {trees}, no early stopping.",
        _goal(frame),
        *posterior_tables(frame, METHODS),
        "![scatter](nll_scatter.png)",
        "## Every data set\n\nMean test NLL over splits.",
        markdown(every_data_set(frame, METHODS)),
    ]
    save_report(folder, parts, frame)
    save_scatter(by_data_set(frame, "nll", METHODS), folder)


def _goal(frame: pd.DataFrame) -> str:
    """Whether ours is below the others in mean NLL, with what p-value."""
    table = compared(frame, "nll", METHODS, "less")
    ours, mean = METHODS.index(OURS), dict(zip(METHODS, table.mean_score, strict=True))
    said = []
    for place, name in enumerate(METHODS):
        if place != ours:
            p = table.p_value[ours, place]
            met = mean[OURS] < mean[name] and p < LARGEST_P
            said.append(f"{name} {mean[name]:.4f} (p = {p:.2g}, {'met' if met else 'not met'})")
    return (
        f"Goal: mean NLL of {OURS} below both others, each with p < {LARGEST_P} (one-sided "
        f"Wilcoxon test of means over splits). Found: {OURS} {mean[OURS]:.4f}; "
        f"{'; '.join(said)}."
    )
