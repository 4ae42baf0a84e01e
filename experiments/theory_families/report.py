"""Report: fitted rates, the ratio in high dimension, and the examples of App. A.3."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.runner.pictures import save
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error
from experiments.theory_families.conjugate import CONJUGATES
from experiments.theory_families.experiment import (
    DIMENSIONS,
    METHODS,
    N_GROWING,
    NULL_SPACE,
    RARE_GROUPS,
)

SLOPE_GOAL = -0.5
HIGH_GOAL = 0.2
NULL_GOAL = 0.1
WIDE = 1.96


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md`` and ``distances.png``."""
    frame = records.frame()
    _draw(frame, folder / "distances.png")
    parts = [
        "# Exponential families: results",
        "Made by `python -m experiments.theory_families tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}.",
        "## Distance to the conjugate posterior over n",
        "Squared 2-Wasserstein distance over the squared radius, and the slope of its logarithm "
        f"over log n. Goal: a slope of at most {SLOPE_GOAL:g}, the paper's rate. `±` is a "
        "jackknife standard error over splits of 20 data sets; `floor` is the ratio at the largest "
        "n of as many exact draws, which no method can beat.",
        markdown(_slopes(frame)),
        "![Distances](distances.png)",
        "## High dimension, √d < n < d",
        f"Goal: below {HIGH_GOAL:g} at d = 1,000, n = 100. `±` is over two splits, each with d "
        "coordinates.",
        markdown(_high(frame)),
        "## Null space of the empirical covariance (App. A.3, d = 200, n = 20)",
        "Mean variance over that of the posterior under N(0, I), and under a flat prior. Goal: 0 "
        f"for bootstrap, within 1 ± {NULL_GOAL:g} for the martingale posterior.",
        markdown(_null_space(frame), digits=4),
        "## Rare group (App. A.3, ε = 0.02, n = 25)",
        "Squared distance over the variance of the posterior of the rare group's mean, by the "
        "number of its rows. Goal: the martingale posterior is closer than parametric bootstrap.",
        markdown(_rare(frame)),
    ]
    save_report(folder, parts, frame)


def ratios(frame: pd.DataFrame, name: str, d: int, n: int, what: str = "ratio") -> pd.Series:
    """The ratios of a setting, by split."""
    cell = frame[frame["data_set"] == f"{name}, d={d}, n={n}"]
    return pd.Series(cell[what].to_numpy(float), index=cell["split"])


def slope_with_error(n: NDArray[np.float64], by_split: NDArray[np.float64]) -> tuple[float, float]:
    """Slope of log mean ratio over log n, and its jackknife error; `by_split` (n_splits, n_n)."""

    def slope(rows: NDArray[np.float64]) -> float:
        return float(np.polyfit(np.log(n), np.log(rows.mean(axis=0)), 1)[0])

    count = len(by_split)
    without = np.array([slope(np.delete(by_split, k, axis=0)) for k in range(count)])
    return slope(by_split), float(np.sqrt((count - 1) * np.mean((without - without.mean()) ** 2)))


def _table(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return pd.DataFrame({n: ratios(frame, name, 1, n) for n in N_GROWING}).dropna()


def _slopes(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name in CONJUGATES:
        by_split = _table(frame, name).to_numpy()
        slope, error = slope_with_error(np.array(N_GROWING, dtype=float), by_split)
        rows[name] = {
            **{f"n={n}": f"{r:.2g}" for n, r in zip(N_GROWING, by_split.mean(axis=0), strict=True)},
            "floor": f"{ratios(frame, name, 1, N_GROWING[-1], 'floor').mean():.2g}",
            "slope": f"{slope:.2f}",
            "±": f"{error:.2f}",
            "met": "yes" if slope + WIDE * error <= SLOPE_GOAL else "no",
        }
    return pd.DataFrame(rows).T.rename_axis("family")


def _high(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for d, sizes in DIMENSIONS.items():
        for n in sizes:
            found = {name: ratios(frame, name, d, n) for name in CONJUGATES}
            floor = max(ratios(frame, name, d, n, "floor").mean() for name in CONJUGATES)
            row = {k: f"{v.mean():.3f} ± {standard_error(v):.3f}" for k, v in found.items()}
            at_goal = (d, n) == (1_000, 100)
            met = "yes" if max(v.mean() for v in found.values()) < HIGH_GOAL else "no"
            rows[f"d = {d}, n = {n}"] = {**row, "floor": floor, "met": met if at_goal else ""}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("setting")


def _null_space(frame: pd.DataFrame) -> pd.DataFrame:
    cells = frame[frame["data_set"] == NULL_SPACE].groupby("method")
    columns = ["variance", "ratio to the posterior", "ratio to the flat posterior"]
    table = cells[columns].mean().loc[list(METHODS)]
    table["±"] = cells["ratio to the posterior"].agg(standard_error)
    return table


def _rare(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name in RARE_GROUPS:
        for method in METHODS:
            cell = frame[(frame["data_set"] == name) & (frame["method"] == method)]
            columns = ["rare rows", "distances", "variances"]
            single = cell[columns].explode(columns).astype(float)
            by_rows = single.assign(**{"rare rows": single["rare rows"].clip(upper=2)})
            means = by_rows.groupby("rare rows")["distances"].mean()
            rows[f"{name}, {method}"] = {
                "all": single["distances"].mean(),
                "±": standard_error(cell["ratio"]),
                "0 rows": means.get(0.0, np.nan),
                "1 row": means.get(1.0, np.nan),
                "2 or more": means.get(2.0, np.nan),
                "variance over the posterior's": single["variances"].mean(),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("setting")


def _draw(frame: pd.DataFrame, path: Path) -> None:
    """Ratios over n with 95 % intervals, and the paper's rate; one panel per dimension."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
    for ax, (d, sizes) in zip(axes, {1: N_GROWING, **DIMENSIONS}.items(), strict=True):
        for name in CONJUGATES:
            found = [ratios(frame, name, d, n) for n in sizes]
            mean = [each.mean() for each in found]
            error = [WIDE * standard_error(each) if len(each) > 1 else 0.0 for each in found]
            ax.errorbar(sizes, mean, yerr=error, marker="o", markersize=3, label=name)
        start = ratios(frame, "Gaussian", d, sizes[0]).mean()
        rate = start * (np.array(sizes) / sizes[0]) ** SLOPE_GOAL
        ax.plot(sizes, rate, color="0.6", linestyle="--", label="$n^{-1/2}$")
        floor = [ratios(frame, "Gaussian", d, n, "floor").mean() for n in sizes]
        ax.plot(sizes, floor, color="0.6", linestyle=":", label="exact draws")
        ax.set(xscale="log", yscale="log", xlabel="n", title=f"d = {d:,}")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel(r"$E\,W_2^2\, /\, \mathcal{E}_n^2$")
    axes[0].legend(fontsize=8)
    save(figure, path)
