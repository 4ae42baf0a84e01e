"""Command line: ``python -m experiments.small_samples run``, then ``tables``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error
from experiments.small_samples.experiment import COEFFICIENTS, COVERED, N_SMALL, SmallSamples

CLOSE = 0.1  # of a ratio to 1
COVERAGE_GOAL = (0.87, 0.93)


def write_report(records: Records, folder: Path) -> None:
    """Write ratios of sds and coverage, beside the goals."""
    frame = records.frame()
    parts = [
        "# Linear regression in small samples: results",
        f"Made by `python -m experiments.small_samples tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Standard deviations of coefficients",
        "Ratio to the exact Student t posterior, intercept last; mean over data sets, and the "
        f"lowest and highest of one data set. Goal: every mean within 1 ± {CLOSE}.",
    ]
    for name in _present(frame, COEFFICIENTS):
        parts += [f"### {name}", *_coefficients(frame[frame["data_set"] == name])]
    parts += [
        f"## Coverage of 90 % credible intervals of the regression function, n = {N_SMALL}",
        f"Goal: {COVERAGE_GOAL[0]} to {COVERAGE_GOAL[1]}.",
        markdown(_coverage(frame)),
    ]
    save_report(folder, parts, frame)


def _present(frame: pd.DataFrame, names: dict[str, int]) -> list[str]:
    return [name for name in names if name in set(frame["data_set"])]


def _coefficients(cell: pd.DataFrame) -> list[str]:
    ratios = np.stack(cell["ratios"].to_list())
    labels = [*(f"column {k}" for k in range(1, ratios.shape[1])), "intercept"]
    table = pd.DataFrame(ratios, columns=labels).agg(["mean", standard_error, "min", "max"]).T
    table.columns = pd.Index(["mean", "±", "lowest", "highest"])
    close = np.abs(ratios - 1) <= CLOSE
    met = bool((np.abs(ratios.mean(axis=0) - 1) <= CLOSE).all())
    return [
        f"{len(ratios)} data sets; the largest leverage is {cell['leverage'].min():.2f} to "
        f"{cell['leverage'].max():.2f}. {close.sum()} of {close.size} single ratios are within "
        f"1 ± {CLOSE}. Goal {'met' if met else 'not met'}.",
        markdown(table.rename_axis("coefficient")),
    ]


def _coverage(frame: pd.DataFrame) -> pd.DataFrame:
    low, high = COVERAGE_GOAL
    rows = {}
    for name in _present(frame, COVERED):
        cell = frame[frame["data_set"] == name]
        single = cell["coverages"].explode().astype(float)
        rows[name.removeprefix("coverage, ")] = {
            "coverage": single.mean(),
            "±": standard_error(single),
            "mean width": cell["width"].mean(),
            "replications": str(len(single)),
            "goal met": "yes" if low <= single.mean() <= high else "no",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("columns")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, SmallSamples(), results, write_report))
