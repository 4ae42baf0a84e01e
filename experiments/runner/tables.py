"""Tables of records: means over splits, ranks and one-sided Wilcoxon tests over data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from nearbayes.metrics import RankTable, rank_table

Better = Literal["less", "greater"]


def by_data_set(frame: pd.DataFrame, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Mean over splits by data set (rows) and method (columns), for splits with all methods."""
    scores = frame.pivot(index=["data_set", "split"], columns="method", values=metric)
    return scores[list(methods)].dropna().groupby("data_set").mean()


def n_splits(frame: pd.DataFrame, methods: Sequence[str]) -> pd.Series:
    """Number of splits of each data set that have all methods."""
    seconds = frame.pivot(index=["data_set", "split"], columns="method", values="seconds")
    return seconds[list(methods)].dropna().groupby("data_set").size()


def compared(frame: pd.DataFrame, metric: str, methods: Sequence[str], better: Better) -> RankTable:
    """Methods compared over data sets."""
    scores = by_data_set(frame, metric, methods)
    return rank_table({name: scores[name] for name in methods}, alternative=better)


def summary(
    frame: pd.DataFrame, metrics: Mapping[str, Better], methods: Sequence[str]
) -> pd.DataFrame:
    """Mean and average rank of every method in every metric."""
    columns: dict[str, Iterable[str]] = {}
    for metric, better in metrics.items():
        table = compared(frame, metric, methods, better)
        columns[metric] = [f"{mean:.4f}" for mean in table.mean_score]
        columns[f"rank ({metric})"] = [f"{rank:.2f}" for rank in table.average_rank]
    return pd.DataFrame(columns, index=pd.Index(methods, name="method"))


def against(
    frame: pd.DataFrame, metric: str, method: str, others: Sequence[str], better: Better = "less"
) -> pd.DataFrame:
    """One method against others: wins, median relative difference, one-sided p-value."""
    rows = {}
    for other in others:
        scores = by_data_set(frame, metric, [method, other])
        table = rank_table({name: scores[name] for name in (method, other)}, alternative=better)
        won = scores[method] < scores[other] if better == "less" else scores[method] > scores[other]
        rows[other] = {
            "better on": f"{won.sum()} of {len(scores)}",
            "median relative difference": f"{(scores[method] / scores[other] - 1).median():+.1%}",
            "p (one-sided Wilcoxon)": f"{table.p_value[0, 1]:.2g}",
        }
    return pd.DataFrame(rows).T.rename_axis(f"{method} against")


def standard_error(values: pd.Series) -> float:
    """Standard error of the mean of replications; NaN of one."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """A Markdown table, index first."""
    shown = frame.reset_index()
    text = shown.map(lambda value: _cell(value, digits))
    rows = [list(map(str, shown.columns)), ["---"] * shown.shape[1], *text.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.{digits}f}"
    return str(value)
