"""Report: scores of every method, paired differences by subject, and what they can say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from experiments.causal_fmri.baselines import (
    ANM,
    FLOW,
    LINEAR,
    LINEAR_FIRST,
    LINEAR_RESIDUAL,
    METHODS,
    NO_CAUSE,
)
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

METRICS = {"crps": "CRPS", "median_abs_error": "median absolute error"}
REFERENCE = LINEAR_RESIDUAL
# tbl:fmri: CRPS and absolute error with what the paper prints after "±"
PUBLISHED = {
    LINEAR: (".738 ± .10", ".658 ± .03"),
    ANM: (".551 ± .01", ".655 ± .01"),
    FLOW: (".546 ± .02", ".605 ± .02"),
    "diffusion, ensemble": (".520 ± .00", ".609 ± .01"),
    "diffusion, bootstrap": (".518 ± .00", ".611 ± .01"),
    "diffusion, martingale": (".518 ± .00", ".604 ± .00"),
}


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    methods = [name for name in METHODS if name in set(frame["method"])]
    scores = {metric: by_subject(frame, metric)[methods] for metric in METRICS}
    seeds = frame.groupby("method")["split"].nunique()
    parts = [
        "# Brain activity under stimulation: results",
        f"Made by `python -m experiments.causal_fmri tables` ({len(frame)} measurements, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}); up to {seeds.max()} seeds, averaged.",
        _caveat(scores),
        "## Methods\n\nMean over subjects ± standard error over subjects; the paper's numbers "
        "beside ours (it does not say what its ± is over).",
        markdown(_means(scores)),
        *(
            f"## {label}: paired differences from `{REFERENCE}`\n\nNegative is better; p is of a "
            f"two-sided Wilcoxon test over subjects.\n\n{markdown(differences(scores[metric]))}"
            for metric, label in METRICS.items()
            if REFERENCE in methods
        ),
        *(f"## {label} by subject\n\n{markdown(scores[m])}" for m, label in METRICS.items()),
    ]
    save_report(folder, parts, frame)


def _caveat(scores: dict[str, pd.DataFrame]) -> str:
    """What the numbers can say, with the numbers."""
    crps, error = scores["crps"], scores["median_abs_error"]
    parts = [
        "**This task hardly discriminates.** How the two areas go together at rest says little of "
        "how they do under stimulation, and subjects differ by more than methods do, so that "
        "only paired differences say anything. The diffusion models of the paper's table have a "
        "CRPS of .518 to .520."
    ]
    if {NO_CAUSE, REFERENCE} <= set(crps):
        parts.append(
            f"`{REFERENCE}`, a line and one standard deviation, has {crps[REFERENCE].mean():.3f}; "
            f"ignoring the cause differs from it by {_paired(crps, NO_CAUSE, REFERENCE)}."
        )
    if {FLOW, LINEAR_FIRST, REFERENCE} <= set(error):
        parts.append(
            "The published flow is trained on the first 80 % of a series. That alone changes the "
            f"median error of a line by {_paired(error, LINEAR_FIRST, REFERENCE)}; from this line "
            f"the flow differs by {_paired(error, FLOW, LINEAR_FIRST)}. The flow's noise has a "
            "fixed scale, which costs it CRPS."
        )
    return " ".join(parts)


def _paired(scores: pd.DataFrame, name: str, reference: str) -> str:
    row = differences(scores[[name, reference]], reference).loc[name]
    return f"{row['difference']} (p = {row['p']})"


def by_subject(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean over seeds, by subject (rows) and method (columns); subjects with all methods."""
    scores = frame.pivot_table(index="data_set", columns="method", values=metric)
    return scores.dropna().rename_axis("subject")


def _means(scores: dict[str, pd.DataFrame]) -> pd.DataFrame:
    rows = {}
    for place, (metric, label) in enumerate(METRICS.items()):
        for name in dict.fromkeys([*scores[metric], *PUBLISHED]):
            row = rows.setdefault(name, {})
            ours = scores[metric].get(name)
            row[label] = "" if ours is None else f"{ours.mean():.4f} ± {standard_error(ours):.3f}"
            row[f"{label}, paper"] = PUBLISHED.get(name, ("", ""))[place]
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def differences(scores: pd.DataFrame, reference: str = REFERENCE) -> pd.DataFrame:
    """Each method minus the reference: mean, standard error, wins and p-value over subjects."""
    rows = {}
    for name in scores.columns.drop(reference):
        gap = scores[name] - scores[reference]
        p = wilcoxon(gap).pvalue if np.any(gap != 0) else 1.0
        rows[name] = {
            "difference": f"{gap.mean():+.4f} ± {standard_error(gap):.4f}",
            "better on": f"{(gap < 0).sum()} of {len(gap)}",
            "p": f"{p:.2g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
