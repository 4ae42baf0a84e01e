"""Report: ratios against the bound 2 / n, and how much they depend on the dimension."""

from __future__ import annotations

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
from experiments.theory_inverse.experiment import ALPHAS, BETAS, DIMENSIONS, METHODS, N_ROWS

CLOSE = 0.1
AT = (1.0, 1.0)  # alpha and beta of the table by dimension: regression, the paper's main case


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md`` and ``ratios.png``."""
    frame = records.frame()
    _draw(frame, folder / "ratios.png")
    n_draws = len(frame[frame["method"] == "draws"])
    parts = [
        "# Linear-Gaussian inverse problem: results",
        "Made by `python -m experiments.theory_inverse tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}; {n_draws} replications with draws.",
        "## Goal",
        "Squared 2-Wasserstein distance over the squared radius, by the closed form of both "
        f"posteriors, for d = {', '.join(f'{d:,}' for d in DIMENSIONS)}: below 2/n, and the same "
        f"within {CLOSE:.0%} (largest over smallest). `largest × n/2` is below 1 where the bound "
        "holds.",
        markdown(_goal(frame)),
        "The paper's statement is the bound, with a constant that does not depend on the "
        "dimension. It is about norms in which the posterior of infinitely many coordinates has a "
        "finite radius, 2αβ > 1; its main case is α = 1. The bound holds everywhere. The ratio "
        "itself is the same where the smallest dimension holds nearly the whole radius. Elsewhere "
        f"the problem of {DIMENSIONS[0]} coordinates is another one than that of "
        f"{DIMENSIONS[-1]:,}: the radius grows with d, the distance much less, and so the ratio "
        "falls with d; it never rises. `over one radius` is how far ratios are apart if all are "
        "over the radius of one problem, which leaves the distance alone: the same within "
        f"{CLOSE:.0%} in {_close_distances(frame)} of {len(ALPHAS) * len(BETAS)} settings. "
        "`radius` is the squared radius at the smallest d over "
        f"that at the largest, n = {N_ROWS[-1]:,}.",
        f"## By n, alpha = {AT[0]:g}, beta = {AT[1]:g}",
        "The formula is that of an infinite path. The ratio of draws includes 1.5 / n_draws, the "
        "error of their means and sds, and what their horizon of 10,000 n rows misses of the "
        "smallest singular values, which matters at d = 5,000.",
        markdown(_by_n(frame)),
        "![Ratios](ratios.png)",
    ]
    save_report(folder, parts, frame)


def ratios(frame: pd.DataFrame, alpha: float, beta: float, method: str) -> NDArray[np.float64]:
    """Mean ratios by dimension (rows) and n (columns)."""
    found = []
    for d in DIMENSIONS:
        name = f"alpha={alpha:g}, beta={beta:g}, d={d}"
        cell = frame[(frame["data_set"] == name) & (frame["method"] == method)]
        found.append(np.mean(cell["ratios"].to_list(), axis=0))
    return np.stack(found)


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
