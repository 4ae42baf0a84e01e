"""Command line: ``python -m experiments.automl run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from experiments.automl.experiment import RUNS, AutoML
from experiments.automl.published import METHODS, ROWS
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import against, by_data_set, markdown, n_splits, summary


def write_report(records: Records, folder: Path) -> None:
    """Write means, ranks, tests, and every data set with the paper's row."""
    frame = records.frame()
    splits = n_splits(frame, METHODS)
    metrics = {"nll": "less", "accuracy": "greater", "brier": "less", "ece": "less"}
    parts = [
        "# AutoGluon: results",
        f"Made by `python -m experiments.automl tables`: {len(splits)} data sets, {splits.min()} "
        f"to {splits.max()} splits, commits {', '.join(sorted(frame['commit'].unique()))}.",
        markdown(summary(frame, metrics, METHODS), 4),
        markdown(against(frame, "nll", "martingale", ["base", "bootstrap"])),
        "## Beside the paper's rows",
        "The paper has AutoGluon 1.0.0 with its networks, 20 draws and 10 splits.",
        markdown(_beside_the_paper(frame)),
        "## A shorter horizon",
        markdown(_where_all_are_measured(frame), 4),
    ]
    save_report(folder, parts, frame)


def _beside_the_paper(frame: pd.DataFrame) -> pd.DataFrame:
    paper = pd.DataFrame(ROWS, index=[f"paper {name}" for name in METHODS]).T
    table = paper.join(by_data_set(frame, "nll", METHODS).add_prefix("ours "), how="inner")
    table.loc["mean"] = table.mean()
    return table.rename_axis("data set")


def _where_all_are_measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean NLL of every run by split, for splits that are complete for all data sets."""
    table = frame.pivot_table(index="split", columns=["method", "data_set"], values="nll")
    complete = table.reindex(columns=pd.MultiIndex.from_product([RUNS, ROWS])).dropna()
    means = complete.T.groupby(level=0).mean().T[list(RUNS)]
    means.index = means.index.astype(str)
    means.loc["mean"] = means.mean()
    return means.rename_axis("split")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, AutoML(), results, write_report))
