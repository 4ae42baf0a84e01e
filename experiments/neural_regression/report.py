"""Report: CRPS, NLPD and RMSE of every method and data set, beside the goal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.gp_hyperparameters.experiment import NAMES
from experiments.neural_regression.experiment import N_ROWS
from experiments.neural_regression.peers import LAPLACE
from experiments.neural_truths.methods import BOOTSTRAP, ENSEMBLE, MARTINGALE, METHODS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import Better, against, by_data_set, markdown, n_splits, summary

METRICS: dict[str, Better] = {"crps": "less", "nlpd": "less", "rmse": "less"}
RIVALS = (ENSEMBLE, BOOTSTRAP)
MEAN, WORST = 1.02, 1.06  # ratio of CRPS to that of the better rival


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    methods = [name for name in (*METHODS, LAPLACE) if name in set(frame["method"])]
    splits = n_splits(frame, methods)
    others = [name for name in methods if name != MARTINGALE]
    parts = [
        "# Networks on regression problems: results",
        f"Made by `python -m experiments.neural_regression tables` ({len(frame)} measurements, "
        f"commits {', '.join(sorted(frame['commit'].unique()))}). {len(splits)} of {len(NAMES)} "
        f"data sets, {N_ROWS} rows, {splits.min()} to {splits.max()} splits each with all "
        "methods. Scores are in standard units of y.",
        *([] if LAPLACE in methods else [_NOT_INSTALLED]),
        "## Goals",
        markdown(_goals(frame)),
        "## Methods\n\nMeans and average ranks over data sets.",
        markdown(summary(frame, METRICS, methods)),
        markdown(against(frame, "crps", MARTINGALE, others)),
        *(
            f"## {metric.upper()}\n\nMean over splits.\n\n"
            f"{markdown(by_data_set(frame, metric, methods), 4)}"
            for metric in METRICS
        ),
    ]
    save_report(folder, parts, frame)


_NOT_INSTALLED = (
    f"`{LAPLACE}` is not in the tables: laplace-torch was not installed where this was measured."
)


def _goals(frame: pd.DataFrame) -> pd.DataFrame:
    """CRPS over that of the better of ensemble and bootstrap on the same data set."""
    scores = by_data_set(frame, "crps", [*RIVALS, MARTINGALE])
    ratio = scores[MARTINGALE] / scores[list(RIVALS)].min(axis=1)
    over_all = scores[MARTINGALE].mean() / scores[list(RIVALS)].mean().min()
    rows = {
        "CRPS over that of the better rival, mean over data sets": _goal(ratio.mean(), MEAN),
        "the same, worst data set": _goal(ratio.max(), WORST, f" ({ratio.idxmax()})"),
        "mean CRPS over the better mean CRPS of the rivals": _goal(over_all, MEAN),
    }
    return pd.DataFrame(rows).T.rename_axis("what")


def _goal(found: float, most: float, note: str = "") -> dict[str, str]:
    met = "met" if found <= most else "not met"
    return {"found": f"{found:.4f}{note}", "goal": f"at most {most:g}", "met": met}
