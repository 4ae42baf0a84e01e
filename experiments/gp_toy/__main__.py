"""Command line: ``python -m experiments.gp_toy run``, then ``tables``.

Sequential MAP with random features (eq. gp-alg-spo), an ensemble of anchored MAP estimates
(eq. map-anchoring) and the exact posterior, on the Snelson data without its middle.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import nearbayes as nb
from experiments.runner.command_line import run_once_or_report
from experiments.runner.datasets import file_hash
from experiments.runner.pictures import save
from experiments.runner.records import Record
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown

Array = NDArray[np.float64]
NOISE = 0.8  # variance .64
SCHEDULE = nb.Schedule.arithmetic(horizon=6.0, block=0.05)
GRID = np.linspace(-3, 9, 241)
NEAR = 0.1  # largest distance to a row in the data region
FAR = 1.0  # smallest distance to all rows out of distribution
BOX = (0.0, 6.0)
FILE = Path("gp") / "snelson1d.parquet"  # in the folder of the data


def snelson(folder: Path) -> tuple[Array, Array]:
    """The data without rows between the .4 and the .6 quantile of x."""
    frame = pd.read_parquet(folder / FILE)
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    low, high = np.quantile(x, [0.4, 0.6])
    outside = (x < low) | (x > high)
    return x[outside], y[outside]


def methods(n: int) -> dict[str, Callable[..., nb.Posterior]]:
    """Every posterior by name: a function of data, n_draws and random_state."""

    def martingale(inputs: Any, **process: Any) -> Callable[..., nb.Posterior]:
        algorithm = nb.gp.RandomFeatureGP(noise=NOISE, **process)
        return lambda data, **run: nb.martingale_posterior(
            algorithm, data, schedule=SCHEDULE, inputs=inputs, **run
        )

    uniform, urn = nb.inputs.Uniform(*BOX), nb.inputs.Urn()
    return {
        "martingale, uniform inputs": martingale(uniform),
        "martingale, urn": martingale(urn),
        "anchored": lambda data, **run: nb.baselines.anchored(
            nb.gp.RandomFeatureGP(noise=NOISE), data, **run
        ),
        "martingale, urn, from zero": martingale(urn, initial="zero"),
        "martingale, urn, the printed weight 1/n": martingale(urn, proximal=1 / n),
    }


def measure(options: argparse.Namespace) -> Record:
    """Ratios of standard deviations to the exact ones, and the curves of the first seed."""
    x, y = snelson(options.data_dir)
    data = (x[:, None], y)
    mean, sd = nb.gp.exact_posterior(*data, GRID[:, None], noise=NOISE)
    regions = {name: rows.tolist() for name, rows in regions_of(x).items()}
    kept: Record = {
        "data": file_hash(options.data_dir / FILE),
        "draws": options.draws,
        "x": x.tolist(),
        "exact": {"mean": mean.tolist(), "sd": sd.tolist()},
        "regions": regions,
        "methods": {},
    }
    for name, draw in methods(len(x)).items():
        runs = []
        for seed in range(options.seeds):
            posterior = draw(data, n_draws=options.draws, random_state=seed)
            values = posterior.predict(GRID[:, None])
            curves = {"mean": values.mean(axis=0), "sd": values.std(axis=0, ddof=1)}
            runs.append(
                {
                    "ratio": (curves["sd"] / sd).tolist(),
                    "inflation": posterior.inflation,
                    "seconds": posterior.provenance.seconds["total"],
                    **({k: v.tolist() for k, v in curves.items()} if seed == 0 else {}),
                }
            )
        kept["methods"][name] = runs
    return kept


def regions_of(x: Array) -> dict[str, NDArray[np.bool_]]:
    """Points of the grid near rows, in the gap, and far from all rows."""
    nearest = np.abs(GRID[:, None] - x).min(axis=1)
    inside = (x.min() < GRID) & (x.max() > GRID)
    return {
        "data region": nearest < NEAR,
        "gap": inside & (nearest > 3 * NEAR),
        "out of distribution": ~inside & (nearest > FAR),
    }


def report(kept: Record, folder: Path) -> None:
    """Mean ratios by region, and the picture."""
    rows = {}
    for name, runs in kept["methods"].items():
        ratios = np.array([each["ratio"] for each in runs])
        row = {}
        for region, chosen in kept["regions"].items():
            means = ratios[:, np.array(chosen)].mean(axis=1)
            row[region] = f"{means.mean():.3f} ± {means.std(ddof=1):.3f}"
            if region == "data region":
                inflated = means * runs[0]["inflation"]
                row[f"{region}, inflated"] = f"{inflated.mean():.3f} ± {inflated.std(ddof=1):.3f}"
        rows[name] = row
    table = pd.DataFrame(rows).T.rename_axis("posterior")
    parts = [
        "# Gaussian process inference: results",
        f"Made by `python -m experiments.gp_toy tables`, commit {kept['commit']}. Standard "
        "deviation of f(x) over that of the exact posterior: mean over points of a region, then "
        f"mean ± sd over {len(runs)} seeds, {kept['draws']} draws each.",
        markdown(table),
        "![posteriors](posteriors.png)",
    ]
    save_report(folder, parts, pd.DataFrame([kept]))
    save(picture(kept), folder / "posteriors.png")


def picture(kept: Record) -> plt.Figure:
    """The paper's figure: 80 % intervals, those of the exact posterior dashed, rows below."""
    shown = list(kept["methods"])[:3]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
    mean, sd = (np.array(kept["exact"][part]) for part in ("mean", "sd"))
    for ax, name in zip(axes, shown, strict=True):
        first = kept["methods"][name][0]
        centre, spread = np.array(first["mean"]), 1.2816 * np.array(first["sd"])
        ax.fill_between(GRID, centre - spread, centre + spread, alpha=0.3, linewidth=0)
        ax.plot(GRID, centre)
        for side in (-1, 1):
            ax.plot(GRID, mean + side * 1.2816 * sd, color="0.2", linestyle="--", linewidth=0.8)
        ax.plot(kept["x"], np.full(len(kept["x"]), -2.9), "|", color="0.4", markersize=5)
        ax.set_title(name, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    kept = Path(__file__).parent / "results" / "draws.json"
    sys.exit(run_once_or_report(__doc__, kept, measure, report, draws=100, seeds=5))
