"""Report: ratios against the bound 2 / n, and how much they depend on the dimension."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import nearbayes as nb
from experiments.runner.pictures import save
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown
from experiments.theory_inverse.experiment import (
    ALPHAS,
    BETAS,
    DIMENSIONS,
    METHODS,
    N_ROWS,
    SEEN,
    Setting,
)

CLOSE = 0.1
RESOLVED = 0.92  # 1 / (1 + CLOSE), and a little for the distance, which grows with d, too
SHARES = (0.0, 0.5, 0.75, RESOLVED, 0.99, 1.0)
MIDDLE = 2  # place in N_ROWS
AT = (1.0, 1.0)  # alpha and beta of the table by dimension: regression, the paper's main case


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md`` and ``ratios.png``."""
    frame = records.frame()
    _draw(frame, folder / "ratios.png")
    n_draws = len(frame[frame["method"] == "draws"])
    apart, share = cells(frame)
    same = apart <= CLOSE
    resolved = share >= RESOLVED
    parts = [
        "# Linear-Gaussian inverse problem: results",
        "Made by `python -m experiments.theory_inverse tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}; {n_draws} replications with draws.",
        "## Goal",
        "Squared 2-Wasserstein distance over the squared radius, by the closed form of both "
        f"posteriors, for d = {', '.join(f'{d:,}' for d in DIMENSIONS)}: below 2/n, and the same "
        f"within {CLOSE:.0%} (largest over smallest, at the worst n). `largest × n/2` is below 1 "
        "where the bound holds.",
        markdown(_goal(frame)),
        "The paper's statement is the bound, with a constant that does not depend on the "
        "dimension. It is about norms in which the posterior of infinitely many coordinates has a "
        "finite radius, 2αβ > 1; its main case is α = 1. The bound holds everywhere. The ratio "
        f"itself is the same where the first {DIMENSIONS[0]} coordinates hold nearly the whole "
        f"radius. Elsewhere the problem of {DIMENSIONS[0]} coordinates is a different one from "
        f"that of {DIMENSIONS[-1]:,}: the radius grows with d, the distance much less, so the "
        "ratio falls with d; it never rises. `over one radius` is how far ratios are apart if all "
        "are over the radius of one problem, which leaves the distance alone: the same within "
        f"{CLOSE:.0%} in {_close_distances(frame)} of {len(ALPHAS) * len(BETAS)} settings. "
        "`radius` is the squared radius at the smallest d over "
        f"that at the largest, n = {N_ROWS[-1]:,}.",
        "## By share of the radius",
        f"All {apart.size} combinations of a setting and an n. The share is the squared radius at "
        f"d = {DIMENSIONS[0]} over that at d = {DIMENSIONS[-1]:,}. Of the {resolved.sum()} with a "
        f"share of at least {RESOLVED:.0%}, {(same & resolved).sum()} have the same ratio; of the "
        f"other {(~resolved).sum()}, {(same & ~resolved).sum()}.",
        markdown(_by_share(apart, share)),
        "## The same problem in more dimensions",
        f"Here A has {SEEN} singular values for every d, and parameters have d dimensions, of "
        f"which A sees {SEEN} random directions; alpha = 1. The ratio by the closed form is the "
        "same by construction. The table has the ratio of draws at n = "
        f"{N_ROWS[MIDDLE]}, less 1.5 / n_draws, with its standard error over replications; all "
        "differences are Monte Carlo error.",
        markdown(_embedded(frame)),
        f"## By n, alpha = {AT[0]:g}, beta = {AT[1]:g}",
        "The formula is that of an infinite path, and so are the draws. Their ratio includes "
        "1.5 / n_draws, the error of their means and sds.",
        markdown(_by_n(frame)),
        "![Ratios](ratios.png)",
    ]
    save_report(folder, parts, frame)


def ratios(frame: pd.DataFrame, alpha: float, beta: float, method: str) -> NDArray[np.float64]:
    """Mean ratios by dimension (rows) and n (columns)."""
    found = []
    for d in DIMENSIONS:
        name = str(Setting(alpha, beta, d))
        cell = frame[(frame["data_set"] == name) & (frame["method"] == method)]
        found.append(np.mean(cell["ratios"].to_list(), axis=0))
    return np.stack(found)


def cells(frame: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far ratios are apart, and the share of the radius, by setting (rows) and n (columns)."""
    apart, share = [], []
    for alpha, beta in product(ALPHAS, BETAS):
        found, squares = ratios(frame, alpha, beta, "formula"), radii(alpha, beta)
        apart.append(found.max(axis=0) / found.min(axis=0) - 1)
        share.append(squares[0] / squares[-1])
    return np.array(apart), np.array(share)


def _by_share(apart: NDArray[np.float64], share: NDArray[np.float64]) -> pd.DataFrame:
    rows = {}
    for low, high in pairwise(SHARES):
        inside = (share >= low) & ((share < high) | (high == 1))
        found = apart[inside]
        rows[f"{low:.0%} to {high:.0%}"] = {
            "combinations": str(inside.sum()),
            "the same": str((found <= CLOSE).sum()),
            "least apart": f"{found.min():.1%}" if found.size else "-",
            "most apart": f"{found.max():.1%}" if found.size else "-",
        }
    return pd.DataFrame(rows).T.rename_axis("share of the radius")


def _embedded(frame: pd.DataFrame) -> pd.DataFrame:
    """Ratios of draws less their floor at one n, by decay and dimension."""
    rows = {}
    for beta in BETAS:
        row = {"2/n": f"{2 / N_ROWS[MIDDLE]:.2g}"}
        for d in DIMENSIONS:
            name = str(Setting(1.0, beta, d, embedded=True))
            cell = frame[(frame["data_set"] == name) & (frame["method"] == "draws")]
            found = np.array([each[MIDDLE] for each in cell["ratios"]]) - cell["floor"].to_numpy()
            error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            row[f"d = {d:,}"] = f"{found.mean():.5f} ± {error:.5f}"
        rows[f"{beta:g}"] = row
    return pd.DataFrame(rows).T.rename_axis("beta")


def _goal(frame: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for alpha in ALPHAS:
        for beta in BETAS:
            found = ratios(frame, alpha, beta, "formula")
            squares = radii(alpha, beta)
            bound = float((found * np.array(N_ROWS) / 2).max())
            apart = _apart(found)
            rows[f"{alpha:g}, {beta:g}"] = {
                "finite radius": "yes" if 2 * alpha * beta > 1 else "no",
                "largest × n/2": f"{bound:.2g}",
                "below 2/n": "yes" if bound < 1 else "no",
                "apart": f"{apart:.1%}",
                "the same": "yes" if apart <= CLOSE else "no",
                "radius": f"{squares[0, -1] / squares[-1, -1]:.1%}",
                "over one radius": f"{_apart(found * squares):.1%}",
            }
    return pd.DataFrame(rows).T.rename_axis("alpha, beta")


def _close_distances(frame: pd.DataFrame) -> int:
    """Settings in which distances alone are the same for all dimensions."""
    found = [
        _apart(ratios(frame, alpha, beta, "formula") * radii(alpha, beta))
        for alpha in ALPHAS
        for beta in BETAS
    ]
    return sum(each <= CLOSE for each in found)


def radii(alpha: float, beta: float) -> NDArray[np.float64]:
    """Squared radii by dimension (rows) and n (columns)."""
    problems = [nb.LinearGaussian.decaying(d, beta, alpha) for d in DIMENSIONS]
    return np.array([[problem.radius(n) ** 2 for n in N_ROWS] for problem in problems])


def _apart(by_dimension: NDArray[np.float64]) -> float:
    """Largest over smallest value of a column, less 1; of the worst column."""
    return float((by_dimension.max(axis=0) / by_dimension.min(axis=0)).max() - 1)


def _by_n(frame: pd.DataFrame) -> pd.DataFrame:
    found = {method: ratios(frame, *AT, method) for method in METHODS}
    columns = {
        f"d = {d:,}, {method}": found[method][row]
        for row, d in enumerate(DIMENSIONS)
        for method in METHODS
    }
    columns = {"2/n": 2 / np.array(N_ROWS), **columns}
    return pd.DataFrame(columns, index=pd.Index(N_ROWS, name="n")).map("{:.2g}".format)


def _draw(frame: pd.DataFrame, path: Path) -> None:
    """Ratio over n by dimension; a panel per beta, alpha = 1."""
    figure, axes = plt.subplots(1, len(BETAS), figsize=(3 * len(BETAS), 3.2), sharey=True)
    for ax, beta in zip(axes, BETAS, strict=True):
        exact, drawn = (ratios(frame, AT[0], beta, method) for method in METHODS)
        for row, d in enumerate(DIMENSIONS):
            line = ax.plot(N_ROWS, exact[row], label=f"d = {d:,}")[0]
            ax.plot(N_ROWS, drawn[row], "o", markersize=3, color=line.get_color())
        ax.plot(N_ROWS, 2 / np.array(N_ROWS), color="0.6", linestyle="--", label="2 / n")
        ax.set(xscale="log", yscale="log", xlabel="n", title=rf"$\beta$ = {beta:g}")
    axes[0].set_ylabel(r"$W_2^2\, /\, \mathcal{E}_n^2$")
    axes[0].legend(fontsize=8)
    save(figure, path)
