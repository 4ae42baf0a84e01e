"""Command line: ``python -m experiments.feature_importance run``, then ``tables``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from xgboost import XGBClassifier

import nearbayes as nb
from experiments.runner.command_line import run_once_or_report
from experiments.runner.datasets import data_hash, load
from experiments.runner.pictures import save
from experiments.runner.records import Record
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown
from nearbayes.draws.functional import Functional

# as in the paper, which used 400 draws
TREES = {"max_depth": 7, "n_estimators": 200, "learning_rate": 0.15}
PAIR = ("marital-status", "relationship")
N_SHOWN = 5


def measure(options: argparse.Namespace) -> Record:
    """Fit XGBoost with a posterior and keep the importances of every draw."""
    inputs, outcome = load("adult", options.data_dir)
    labels = outcome.astype(str).str.strip(". ")  # the test half of the file writes ">50K."
    trees = XGBClassifier(**TREES, enable_categorical=True, importance_type="gain")
    model = nb.PosteriorClassifier(
        trees, n_draws=options.draws, calibration=None, n_jobs=options.jobs, random_state=0
    ).fit(inputs, labels)
    importance = model.posterior_.apply(lambda draw: draw.feature_importances_)
    return {
        "data": data_hash("adult", options.data_dir),
        "schedule": model.posterior_.provenance.schedule,
        "inflation": model.posterior_.inflation,
        "features": list(inputs.columns),
        "first_fit": model.posterior_.first.feature_importances_.tolist(),
        "draws": np.round(importance.values, 6).tolist(),
    }


def report(kept: Record, folder: Path) -> None:
    """Intervals of all importances, correlations of the largest, and the picture of those."""
    importance = Functional(np.array(kept["draws"]), kept["inflation"])
    intervals = importance.interval(0.9)
    table = pd.DataFrame(
        {
            "first fit": kept["first_fit"],
            "posterior mean": importance.mean,
            "90 % from": intervals[:, 0],
            "to": intervals[:, 1],
        },
        index=pd.Index(kept["features"], name="feature"),
    ).sort_values("posterior mean", ascending=False)
    draws = pd.DataFrame(kept["draws"], columns=kept["features"])
    top = list(table.index[:N_SHOWN])
    correlations = draws.corr()
    pair = correlations.loc[PAIR]
    error = (1 - pair**2) / np.sqrt(len(draws) - 1)
    text = [
        "# Feature importances of adult: results",
        f"Made by `python -m experiments.feature_importance tables` from {len(draws)} draws "
        f"(commit {kept['commit']}, {kept['schedule']}; intervals widened by "
        f"{kept['inflation']:.2f}).",
        markdown(table, 4),
        f"Correlation of {PAIR[0]} and {PAIR[1]} over draws: **{pair:.2f}** (standard error "
        f"{error:.2f}): where one is used more, the other is used less, so they are "
        "interchangeable, as the paper found.",
        "Correlations of the five largest:",
        markdown(correlations.loc[top, top].rename_axis("feature"), 2),
        "![importances](importances.png)",
    ]
    save_report(folder, text, pd.DataFrame([kept]))
    save(_picture(draws[top]), folder / "importances.png")


def _picture(draws: pd.DataFrame) -> plt.Figure:
    """Histograms of importances on the diagonal, scatter plots of pairs below it."""
    size = draws.shape[1]
    figure, axes = plt.subplots(size, size, figsize=(9, 9), layout="constrained")
    for (row, column), ax in np.ndenumerate(axes):
        _panel(draws.iloc[:, column], draws.iloc[:, row], ax, row - column)
    return figure


def _panel(across: pd.Series, up: pd.Series, ax: Axes, below: int) -> None:
    ax.tick_params(labelsize=6)
    if below < 0:
        ax.set_axis_off()
    elif below == 0:
        ax.hist(across, bins=20, color="tab:blue")
        ax.set_title(across.name, fontsize=9)
        ax.set_yticks([])
    else:
        ax.scatter(across, up, s=6, color="tab:blue")
        ax.set_title(f"correlation {across.corr(up):.2f}", fontsize=7)


if __name__ == "__main__":
    kept = Path(__file__).parent / "results" / "importances.json"
    sys.exit(run_once_or_report(__doc__, kept, measure, report, draws=100, jobs=1))
