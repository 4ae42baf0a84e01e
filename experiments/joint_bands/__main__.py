"""Command line: ``python -m experiments.joint_bands run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from experiments.joint_bands.experiment import ENDS, JointBands
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

GOAL = (0.85, 0.95)


def write_report(records: Records, folder: Path) -> None:
    """Write how often bands and intervals cover the whole curve, beside the goal."""
    frame = records.frame()
    parts = [
        "# Joint bands: results",
        "Made by `python -m experiments.joint_bands tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "Share of replications in which the 90 % band, and the pointwise 90 % intervals, hold the "
        "curve at all points; `points` is the share of points that intervals hold. Goal: bands "
        f"hold it in {GOAL[0]:.0%} to {GOAL[1]:.0%}.",
        markdown(_table(frame)),
    ]
    save_report(folder, parts, frame)


def _table(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name in [name for name in ENDS if name in set(frame["data_set"])]:
        cell = frame[frame["data_set"] == name]
        band, interval, points = (
            cell[column].explode().astype(float) for column in ("band", "interval", "points")
        )
        rows[name] = {
            "replications": str(len(band)),
            "band": band.mean(),
            "±": standard_error(band),
            "intervals": interval.mean(),
            "points": points.mean(),
            "met": "yes" if GOAL[0] <= band.mean() <= GOAL[1] else "no",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, JointBands(), results, write_report))
