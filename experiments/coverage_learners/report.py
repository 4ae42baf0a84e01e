"""Report: coverage, width, oddities and cost, beside the goals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.coverage.experiment import with_truth_and_size
from experiments.coverage_learners.experiment import FOREST, LARGEST_FOREST, LEARNERS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

KINDS = ("raw", "inflated", "calibrated")
ODDITIES = ("excludes prediction", "zero width", "zero width, draws differ")
BEFORE = "before"  # folder in the results: the same replications by an older library
COVERED = 0.87  # of the older intervals, to compare widths
GOALS = {  # lowest and highest
    "mean": (0.87, 0.93),
    "learner": (0.82, 1.0),
    "truth": (0.80, 1.0),
    "cost": (1.0, 3.0),
    "width": (0.0, 1.1),
}


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = with_truth_and_size(records.frame())
    parts = [
        "# Coverage of 90 % intervals by learner: results",
        _what_was_done(frame),
        "## Goals",
        markdown(_goals(frame)),
        "## Coverage and mean width",
        "`±` is a standard error over replications; `lowest` is of one replication. Widths are of "
        "probabilities for classes and of the outcome for numbers, and are not averaged over both.",
        *(f"By {by}:\n\n{markdown(_coverage(frame, by))}" for by in ("learner", "truth", "n")),
        "Calibrated coverage by learner and n:",
        markdown(_by_learner(_cells(frame, "method", "n"))),
        "Calibrated coverage by truth and n:",
        markdown(_cells(frame, "truth", "n")),
        "Calibrated coverage by truth and learner:",
        markdown(_by_learner(_cells(frame, "method", "truth")).T),
        *(
            f"Mean width, {kind}:\n\n{markdown(_widths(frame, kind))}"
            for kind in ("class", "number")
        ),
        "## Oddities and cost",
        "Shares of intervals that exclude their own prediction and that have no width; factor "
        "(standard deviations to either side of the mean) and cost (time with calibration over "
        "time without).",
        markdown(_oddities(frame)),
        *_against_before(frame, folder / BEFORE),
    ]
    save_report(folder, parts, frame)


def _what_was_done(frame: pd.DataFrame) -> str:
    cells = frame.groupby(["method", "n"]).size()
    return (
        f"Made by `python -m experiments.coverage_learners tables`: {len(frame)} replications, "
        f"commits {', '.join(sorted(frame['commit'].unique()))}; {frame['truth'].nunique()} "
        f"truths, {frame['method'].nunique()} learners, {cells.min()} to {cells.max()} "
        f"replications of every learner at every n ({FOREST} up to n = {LARGEST_FOREST}). "
        "Intervals of the class probability or of the regression function at 500 new points."
    )


def _goals(frame: pd.DataFrame) -> pd.DataFrame:
    covered = frame["calibrated coverage"]
    learners = covered.groupby(frame["method"]).mean()
    truths = covered.groupby(frame["truth"]).mean()
    rows = {
        "coverage, mean": _goal(covered.mean(), "mean", f"± {standard_error(covered):.3f}"),
        "coverage, lowest learner": _goal(learners.min(), "learner", learners.idxmin()),
        "coverage, lowest truth": _goal(truths.min(), "truth", truths.idxmin()),
        "cost, mean": _goal(frame["cost"].mean(), "cost", f"largest {frame['cost'].max():.2f}"),
        "intervals that exclude their prediction": _goal(
            frame["excludes prediction"].mean(), (0.0, 0.0), "share"
        ),
        "zero width though draws differ": _goal(
            frame["zero width, draws differ"].mean(), (0.0, 0.0), "share"
        ),
    }
    return pd.DataFrame(rows).T.rename_axis("what")


def _goal(value: float, goal: str | tuple[float, float], note: str) -> dict[str, object]:
    low, high = GOALS[goal] if isinstance(goal, str) else goal
    bounds = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    met = "yes" if low <= value <= high else "no"
    return {"found": f"{value:.3f}", "goal": bounds, "met": met, "note": note}


def _coverage(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean coverage with its standard error, and the lowest, for one column."""
    if by == "learner":
        table = _by_learner(_coverage_of(frame.groupby("method")))
    else:
        table = _coverage_of(frame.groupby(by))
    table.loc["all"] = _coverage_of(frame.groupby(np.zeros(len(frame)))).iloc[0]
    return table.rename_axis(by)


def _by_learner(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of the learners."""
    order = [name for name in LEARNERS if name in table.index]
    return table.loc[order].rename_axis("learner")


def _coverage_of(groups: pd.api.typing.DataFrameGroupBy) -> pd.DataFrame:
    columns = {kind: groups[f"{kind} coverage"].mean() for kind in KINDS}
    found = groups["calibrated coverage"]
    return pd.DataFrame(
        {
            **columns,
            "±": found.agg(standard_error),
            "lowest": found.min(),
            "replications": groups.size().astype(str),
        }
    )


def _cells(frame: pd.DataFrame, rows: str, by: str) -> pd.DataFrame:
    """Calibrated coverage in every cell of two columns, with the number of replications."""
    cells = frame.groupby([rows, by])["calibrated coverage"]
    return cells.agg(lambda found: f"{found.mean():.3f} ({len(found)})").unstack().fillna("")


def _widths(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Mean widths of one kind of outcome by learner."""
    groups = frame[frame["truth"].str.startswith(kind)].groupby("method")
    table = _by_learner(groups[[f"{name} width" for name in KINDS]].mean())
    return table.rename(columns=lambda name: name.removesuffix(" width"))


def _oddities(frame: pd.DataFrame) -> pd.DataFrame:
    groups = frame.groupby("method")
    table = groups[[*ODDITIES, "factor", "cost"]].mean()
    return _by_learner(table.assign(**{"largest cost": groups["cost"].max()}))


def _against_before(frame: pd.DataFrame, folder: Path) -> list[str]:
    """Coverage and width beside those of an older library, on the same replications."""
    older = Records(folder / "records.jsonl")
    if not older.path.exists():
        return []
    key = ["data_set", "split", "method"]
    both = frame.merge(older.frame(), on=key, suffixes=("", ", before"))
    both["ratio"] = np.log(both["calibrated width"] / both["calibrated width, before"])
    pairs = both.groupby(["truth", "method"])[["calibrated coverage, before", "ratio"]].mean()
    covered = pairs[pairs["calibrated coverage, before"] >= COVERED]
    ratio = float(np.exp(covered["ratio"].mean()))
    groups = both.groupby("method")
    table = groups[["calibrated coverage, before", "calibrated coverage"]].mean()
    table["width, ratio"] = np.exp(groups["ratio"].mean())
    return [
        "## Against the library before",
        f"On the {len(both)} replications that `results/{BEFORE}` has, too, of commits "
        f"{', '.join(sorted(both['commit, before'].unique()))}. Where intervals covered at least "
        f"{COVERED} before ({len(covered)} of {len(pairs)} pairs of truth and learner), widths are "
        f"{ratio:.3f} times those before (geometric mean; goal: at most {GOALS['width'][1]:g}).",
        markdown(_by_learner(table)),
    ]
