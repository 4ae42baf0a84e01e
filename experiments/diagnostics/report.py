"""Report: verdicts, costs and forecasts, beside their goals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from experiments.diagnostics.cases import CASES
from experiments.diagnostics.experiment import FORECASTS, N_SEEDS, VERDICTS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown

MOST_WRONG, LARGEST_COST, LARGEST_ERROR = 1, 0.2, 0.2


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md`` to a folder."""
    frame = records.frame()
    parts = [
        "# Diagnostics: results",
        f"Made by `python -m experiments.diagnostics tables`: {len(frame)} measurements, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Verdicts and cost",
        f"Goals: at most {MOST_WRONG} wrong verdict per learner; median cost of the default "
        f"diagnosis below {LARGEST_COST:.0%} of the fit.",
        markdown(_verdicts(frame[frame["data_set"] == VERDICTS])),
    ]
    forecasts = frame[frame["data_set"].isin(FORECASTS)]
    if len(forecasts):
        parts += [
            "## Width of 90 % credible intervals with four times the rows",
            f"Over that with the rows at hand; means over splits. Goal: the forecast is within "
            f"{LARGEST_ERROR:.0%} of what was found, for linear regression and the tuned boosted "
            "tree. `inside`: splits in which the stated range holds what was found.",
            markdown(_forecasts(forecasts)),
        ]
    save_report(folder, parts, frame)


def _verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name in [name for name in CASES if name in set(frame["method"])]:
        cell = frame[frame["method"] == name]
        wrong = int((~cell["right"].astype(bool)).sum())
        cost = (cell["diagnose_seconds"] / cell["fit_seconds"]).median()
        lines = Counter(line for each in cell["lines"] for line in each)
        rows[name] = {
            "must warn": "yes" if CASES[name].must_warn else "no",
            "seeds": len(cell),
            "wrong": wrong,
            "lines that warn": ", ".join(f"{line} {n}" for line, n in lines.most_common()),
            "median cost": f"{cost:.0%}",
            "verdicts met": _met(wrong, len(cell)),
            "cost met": "yes" if cost < LARGEST_COST else "no",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")


def _met(wrong: int, n_seeds: int) -> str:
    """Whether a learner meets the goal, which is for all seeds."""
    if wrong > MOST_WRONG:
        return "no"
    return "yes" if n_seeds >= N_SEEDS else f"so far, {n_seeds} of {N_SEEDS} seeds"


def _forecasts(frame: pd.DataFrame) -> pd.DataFrame:
    table = frame.groupby(["data_set", "method"])[["forecast", "found"]].mean()
    table["relative"] = table["forecast"] / table["found"] - 1
    by = frame.assign(
        inside=(frame["low"] <= frame["found"]) & (frame["found"] <= frame["high"])
    ).groupby(["data_set", "method"])
    table["inside"] = by["inside"].sum().map(str) + " of " + by.size().map(str)
    table["met"] = (table["relative"].abs() <= LARGEST_ERROR).map({True: "yes", False: "no"})
    return table.reset_index().set_index("data_set")
