"""Figures of records: scatter plots of two methods, and critical differences of ranks."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nearbayes.metrics import rank_table


def scatter(scores: pd.DataFrame, across: str, up: str, name: str, ax: Axes) -> Axes:
    """One point per data set; the method on the vertical axis is better below the diagonal."""
    x, y = scores[across], scores[up]
    ends = [min(x.min(), y.min()) * 0.9, max(x.max(), y.max()) * 1.1]
    ax.plot(ends, ends, color="0.7", linewidth=1, zorder=0)
    ax.scatter(x, y, s=22, color=np.where(y < x, "tab:blue", "tab:red"))
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    ax.set(xlabel=f"{name}, {across}", ylabel=f"{name}, {up}")
    ax.set_title(f"{up} better on {int((y < x).sum())} of {len(x)}", fontsize=10)
    return ax


def critical_differences(scores: pd.DataFrame, ax: Axes) -> Axes:
    """Average ranks; methods without significant difference (Wilcoxon, Holm) are joined."""
    import scikit_posthocs  # in the extra `experiments`; only needed for this figure

    table = rank_table({name: scores[name] for name in scores})
    ranks = pd.Series(table.average_rank, index=list(scores))
    long = scores.melt(var_name="method", value_name="score")
    p_values = scikit_posthocs.posthoc_wilcoxon(
        long, val_col="score", group_col="method", p_adjust="holm", zero_method="zsplit"
    )
    scikit_posthocs.critical_difference_diagram(ranks, p_values, ax=ax)
    return ax


def save(figure: plt.Figure, path: Path) -> None:
    """Save a figure and close it."""
    figure.savefig(path, dpi=120, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
