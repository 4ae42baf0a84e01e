"""Command line: ``python -m experiments.gp_hyperparameters run``, then ``tables``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.gp_hyperparameters.experiment import METHODS, NAMES, GPHyperparameters
from experiments.gp_hyperparameters.published import METHODS as PAPERS
from experiments.gp_hyperparameters.published import METRICS, RANKS, published
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, n_splits
from nearbayes.metrics import rank_table

REPRODUCIBLE = (
    "power",
    "protein",
    "kin8nm",
    "naval",
    "winewhite",
)  # where the paper can be reproduced


def write_report(records: Records, folder: Path) -> None:
    """Write ranks and empirical Bayes beside the paper's, then every data set."""
    frame = records.frame()
    parts = [
        "# Hyperparameter learning for GP regression: results",
        "Made by `python -m experiments.gp_hyperparameters tables`, commits "
        f"{', '.join(sorted(frame['commit'].unique()))}. Scores in units of y, lower is better. "
        "Ranks are the paper's: 1 + the number of methods that are significantly better over "
        "splits (one-sided Wilcoxon tests at .05), averaged over data sets.",
    ]
    for n in (75, 300):
        part = frame[frame["data_set"].str.endswith(f"-{n}")]
        ours = [method for method in METHODS if method in set(part["method"])]
        if not part.empty:
            parts += [f"# n = {n}", *_section(part, n, ours)]
    save_report(folder, parts, frame)


def _section(frame: pd.DataFrame, n: int, methods: Sequence[str]) -> list[str]:
    splits = n_splits(frame, methods)
    hours = frame["seconds"].sum() / 3600
    said = (
        f"{len(splits)} data sets, {splits.min()} to {splits.max()} splits, {hours:.1f} core-hours."
    )
    parts = [said]
    for method in methods:
        if method.startswith("martingale"):
            parts += [
                f"Ranks among four methods, with {method}:",
                markdown(_ranks(frame, n, method), 2),
            ]
    if n == 75:
        words = (
            "Empirical Bayes beside the paper where it can be reproduced, medians over the splits "
            "of all methods and over more, with their standard errors (bootstrap over splits):"
        )
        parts += [words, markdown(_reproduced(frame), 4)]
    whole = frame.groupby(["data_set", "split"])["method"].transform("nunique") == len(methods)
    for metric in METRICS:
        for centre in ("median", "mean"):
            words = f"## {metric.upper()}, {centre} over splits; in brackets what the paper printed"
            parts += [words, markdown(_scores(frame[whole], n, metric, centre, methods))]
    return parts


def _ranks(frame: pd.DataFrame, n: int, martingale: str) -> pd.DataFrame:
    """Average ranks of the four methods, of all but the bootstrap, and those of the paper."""
    four = [*PAPERS[:-1], martingale]
    table = pd.DataFrame(index=pd.Index(four, name="method"))
    for metric in METRICS:
        table[metric] = _average_rank(frame, metric, four)
        three = [name for name in four if name != "bootstrap"]
        table[f"{metric}, without bootstrap"] = _average_rank(frame, metric, three)
        table[f"{metric}, paper"] = RANKS[n][metric]
    return table


def _average_rank(frame: pd.DataFrame, metric: str, methods: Sequence[str]) -> pd.Series:
    ranks = [
        rank_table({name: scores[name] for name in methods}).significance_rank
        for _, scores in _paired(frame, metric, methods)
    ]
    return pd.DataFrame(ranks, columns=list(methods)).mean()


def _paired(
    frame: pd.DataFrame, metric: str, methods: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    """Scores of every data set, one row per split; only splits that all methods have."""
    scores = frame.pivot(index=["data_set", "split"], columns="method", values=metric)
    complete = scores[list(methods)].dropna()
    return [(str(name), part) for name, part in complete.groupby("data_set")]


def _reproduced(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    few = GPHyperparameters().n_splits
    for name in REPRODUCIBLE:
        ours = frame[(frame["data_set"] == f"{name}-75") & (frame["method"] == PAPERS[0])]
        for metric in METRICS if len(ours) else ():
            rows[f"{name}, {metric}"] = {
                f"{few} splits": ours[ours["split"] < few][metric].median(),
                "more splits": ours[metric].median(),
                "standard error": _error_of_median(ours[metric].to_numpy()),
                "their number": str(len(ours)),
                "paper": published(f"{name}-75", metric)[PAPERS[0]],
            }
    return pd.DataFrame(rows).T.rename_axis("data set, score")


def _error_of_median(values: NDArray[np.float64]) -> float:
    resampled = np.random.default_rng(0).choice(values, (2_000, len(values)))
    return float(np.median(resampled, axis=1).std())


def _scores(
    frame: pd.DataFrame, n: int, metric: str, centre: str, methods: Sequence[str]
) -> pd.DataFrame:
    rows = {}
    for name in NAMES:
        part = frame[frame["data_set"] == f"{name}-{n}"]
        found = part.groupby("method")[metric].agg(centre)
        paper = published(f"{name}-{n}", metric)
        if PAPERS[-1] not in methods:  # the paper used inputs from a density estimate
            paper["martingale, urn"] = paper[PAPERS[-1]]
        rows[name] = {
            method: f"{found[method]:.4g}" + (f" ({paper[method]:g})" if method in paper else "")
            for method in methods
            if method in found
        }
    return pd.DataFrame(rows).T.rename_axis("data set")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    sys.exit(run_or_report(__doc__, GPHyperparameters(), results, write_report))
