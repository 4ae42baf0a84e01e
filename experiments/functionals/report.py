"""Report: coverage and width of intervals of functionals, beside the goal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.functionals.experiment import FUNCTIONALS, SPREADS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

GOAL = (0.85, 0.95)


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    parts = [
        "# Coverage of 90 % intervals of functionals: results",
        f"Made by `python -m experiments.functionals tables`: {len(frame)} replications, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}; {frame['data_set'].nunique()} truths. "
        f"`spread` of the functional was {', '.join(sorted(frame['spread'].unique()))}.",
        "## Goal",
        f"Calibrated intervals of each functional cover {GOAL[0]:g} to {GOAL[1]:g}. `±` is a "
        "standard error over replications.",
        markdown(_coverage(frame)),
        "## By truth",
        *(
            f"Coverage, {kind}:\n\n{markdown(_by_truth(frame, kind, 'coverage'))}"
            for kind in SPREADS
        ),
        *(
            f"Mean width, {kind}:\n\n{markdown(_by_truth(frame, kind, 'width'))}"
            for kind in SPREADS
        ),
        "## Cost",
        f"A fit takes {frame['seconds of fit'].mean():.1f} s on average, its functional "
        f"{frame['seconds of functional'].mean():.2f} s.",
    ]
    save_report(folder, parts, frame)


def _coverage(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name in FUNCTIONALS:
        found = {kind: frame[f"{kind} {name} coverage"] for kind in SPREADS}
        best = found["calibrated"]
        rows[name] = {
            **{kind: f"{each.mean():.3f}" for kind, each in found.items()},
            "±": f"{standard_error(best):.3f}",
            "met": "yes" if GOAL[0] <= best.mean() <= GOAL[1] else "no",
        }
    return pd.DataFrame(rows).T.rename_axis("functional")


def _by_truth(frame: pd.DataFrame, kind: str, what: str) -> pd.DataFrame:
    columns = {name: f"{kind} {name} {what}" for name in FUNCTIONALS}
    means = frame.groupby("data_set")[list(columns.values())].mean()
    return means.set_axis(list(columns), axis=1).rename_axis("truth")
