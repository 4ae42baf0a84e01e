"""Command line: ``python -m experiments.causal_effects run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from experiments.causal_effects.experiment import CausalEffects
from experiments.causal_effects.methods import METHODS
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

GOAL = (0.82, 0.97)


def write_report(records: Records, folder: Path) -> None:
    """Write coverage, width and time of every method."""
    frame = records.frame()
    single = frame.explode(["covered", "width", "error", "truth"])
    single[["covered", "width"]] = single[["covered", "width"]].astype(float)
    present = [name for name in METHODS if name in set(frame["method"])]
    counts = frame.groupby(["data_set", "method"]).size()
    parts = [
        "# Average treatment effects: results",
        "Made by `python -m experiments.causal_effects tables`: "
        f"{len(frame)} measurements, commits {', '.join(sorted(frame['commit'].unique()))}; "
        f"{counts.min()} to {counts.max()} replications of each SCM and method, n = 500.",
        f"90 % intervals of the effect of every cause on the last node. Goal: {GOAL[0]} to "
        f"{GOAL[1]} for diffusion models.",
        markdown(_table(single, frame, present)),
        "## Coverage by SCM",
        markdown(single.pivot_table(index="data_set", columns="method", values="covered")[present]),
        "## Mean width by SCM",
        markdown(single.pivot_table(index="data_set", columns="method", values="width")[present]),
    ]
    save_report(folder, parts, frame)


def _table(single: pd.DataFrame, frame: pd.DataFrame, present: list[str]) -> pd.DataFrame:
    by_trial = single.groupby(["method", "data_set", "split"])["covered"].mean()
    return pd.DataFrame(
        {
            "coverage": single.groupby("method")["covered"].mean(),
            "±": by_trial.groupby("method").agg(standard_error),
            "mean width": single.groupby("method")["width"].mean(),
            "seconds": frame.groupby("method")["seconds of method"].mean(),
        }
    ).loc[present]


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, CausalEffects(), results, write_report))
