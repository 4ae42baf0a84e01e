"""Report: width at equal coverage against BART, coverage and width as delivered, and error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.coverage.experiment import with_truth_and_size
from experiments.coverage.measures import LEVEL
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown

REFERENCE = "BART"
GOAL = 1.10


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = with_truth_and_size(records.frame())
    methods = list(dict.fromkeys(frame["method"]))
    widths = equal_widths(frame)
    parts = [
        "# Against BART: results",
        f"Made by `python -m experiments.against_bart tables`: {len(frame)} records, "
        f"{frame.groupby('method').size().max()} replications of a method, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Width at equal coverage, over that of BART",
        "The intervals of a method are scaled by one factor per truth, so that they cover "
        f"{LEVEL:.0%} over its replications; then mean widths are divided, replication by "
        f"replication. Means are geometric. Goal for the default: at most {GOAL:.2f}.",
        markdown(ratios(widths, "truth")[methods]),
        markdown(ratios(widths, "n")[methods]),
        "## As delivered",
        f"Coverage of intervals that say {LEVEL:.0%}, mean width, root mean squared error of the "
        "point prediction for the truth, and mean seconds.",
        markdown(_delivered(frame).loc[methods]),
        "Coverage by truth:",
        markdown(_by_truth(frame, "interval coverage")[methods]),
        "Error by truth:",
        markdown(_by_truth(frame, "rmse")[methods]),
    ]
    save_report(folder, parts, frame)


def equal_widths(frame: pd.DataFrame) -> pd.DataFrame:
    """Width at equal coverage by truth, n and split (rows) and method (columns)."""
    factors = frame.groupby(["truth", "method"])["errors"].apply(
        lambda errors: np.quantile(np.concatenate(errors.tolist()), LEVEL)
    )
    scaled = frame.join(factors.rename("factor"), on=["truth", "method"])
    scaled["equal width"] = scaled["factor"] * scaled["interval width"]
    wide = scaled.pivot(index=["truth", "n", "split"], columns="method", values="equal width")
    return wide.dropna(subset=[REFERENCE])


def ratios(widths: pd.DataFrame, by: str) -> pd.DataFrame:
    """Geometric mean of widths over those of BART, by truth or n, and over all."""
    logs = np.log(widths.div(widths[REFERENCE], axis=0))
    table = logs.groupby(by).mean()
    table.loc["mean"] = logs.mean()
    return np.exp(table)


def _delivered(frame: pd.DataFrame) -> pd.DataFrame:
    columns = {
        "interval coverage": "coverage",
        "interval width": "width",
        "rmse": "error",
        "seconds": "seconds",
    }
    return frame.groupby("method")[list(columns)].mean().rename(columns=columns)


def _by_truth(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    return frame.pivot_table(index="truth", columns="method", values=what)
