"""Report: coverage for rare classes or a warning, and class weights, beside the goals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from experiments.rare_classes.experiment import WEIGHTED
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

COVERED = 0.8  # or a warning
CLOSE = 0.2  # of the ratio of mean probabilities to 1
CONTAINED = 0.9
ODDITIES = ("excludes prediction", "zero width", "zero width, draws differ")

Row = Callable[[pd.DataFrame], dict[str, object]]


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    weighted = frame["data_set"] == WEIGHTED
    parts = [
        "# Rare classes and class weights: results",
        f"Made by `python -m experiments.rare_classes tables`: {len(frame)} replications, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
    ]
    if not weighted.all():
        parts += _rare(frame[~weighted])
    if weighted.any():
        parts += _weights(frame[weighted])
    save_report(folder, parts, frame)


def _rare(frame: pd.DataFrame) -> list[str]:
    return [
        "## Rare classes",
        f"Coverage of calibrated 90 % intervals. Goal: at least {COVERED} for each, or a warning "
        "in every replication that covers less.",
        markdown(_by_cell(frame, _rare_row)),
        *_texts(frame),
    ]


def _rare_row(cell: pd.DataFrame) -> dict[str, object]:
    covered = cell["calibrated coverage"]
    warned = cell["warnings"].map(len) > 0
    met = covered.mean() >= COVERED or (warned | (covered >= COVERED)).all()
    return {
        "positives": f"{cell['positives'].min()} to {cell['positives'].max()}",
        "coverage": covered.mean(),
        "±": standard_error(covered),
        "lowest": covered.min(),
        "width": cell["calibrated width"].mean(),
        "mean p": f"{cell['mean p'].mean():.4f}",
        "true mean p": f"{cell['true mean p'].mean():.4f}",
        "warned": f"{warned.sum()} of {len(cell)}",
        **{name: cell[name].mean() for name in ODDITIES},
        "goal met": "yes" if met else "no",
    }


def _texts(frame: pd.DataFrame) -> list[str]:
    """The warnings, word by word."""
    said = frame.explode("warnings").dropna(subset=["warnings"])
    if said.empty:
        return ["No warning was raised."]
    counts = said.groupby("warnings")["method"].agg(
        [("learners", lambda names: ", ".join(sorted(set(names)))), ("times", "size")]
    )
    return ["Warnings:", markdown(counts.astype(str).rename_axis("warning"))]


def _weights(frame: pd.DataFrame) -> list[str]:
    return [
        "## Class weights",
        f"`ratio` is the mean posterior probability over the base model's (goal: 1 ± {CLOSE}); "
        "`contains base` the share of rows whose 90 % interval contains the base model's "
        f"probability (goal: at least {CONTAINED}).",
        markdown(_by_cell(frame, _weights_row)),
        *_texts(frame),
    ]


def _weights_row(cell: pd.DataFrame) -> dict[str, object]:
    ratio = cell["mean p"] / cell["base mean p"]
    contained = cell["contains base"]
    met = abs(ratio.mean() - 1) <= CLOSE and contained.mean() >= CONTAINED
    return {
        "base mean p": cell["base mean p"].mean(),
        "mean p": cell["mean p"].mean(),
        "true mean p": cell["true mean p"].mean(),
        "ratio": ratio.mean(),
        "lowest ratio": ratio.min(),
        "highest ratio": ratio.max(),
        "contains base": contained.mean(),
        "±": standard_error(contained),
        "replications": str(len(cell)),
        **{name: cell[name].mean() for name in ODDITIES},
        "goal met": "yes" if met else "no",
    }


def _by_cell(frame: pd.DataFrame, row: Row) -> pd.DataFrame:
    rows = {key: row(cell) for key, cell in frame.groupby(["data_set", "method"], sort=False)}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["data", "learner"])
    return table
