"""Report: coverage, width, errors and spread of every method, beside the goals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.neural_truths.experiment import KINDS, N_ROWS, NeuralTruths
from experiments.neural_truths.methods import ENSEMBLE, GAUSS_NEWTON, MARTINGALE, METHODS
from experiments.neural_truths.truths import TRUTHS
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

LEVEL = 0.9
MEAN, LEAST = (0.85, 0.95), 0.80  # calibrated coverage: on average, and of each truth
CLOSE, N_CLOSE = 0.2, 2  # of the ratio of standard deviations to 1, and on how many truths
COST = ("seconds of drawing", "seconds of calibrating", "passes")


def write_report(records: Records, folder: Path) -> None:
    """Write ``report.md``."""
    frame = records.frame()
    parts = [
        "# Networks and known truths: results",
        _what_was_done(frame),
        "## Goals",
        markdown(_goals(frame)),
        "## Coverage of 90 % intervals of the regression function",
        "`±` is a standard error over data sets, `lowest` is of one of them. Raw intervals of K "
        "draws are mean and t(.95, K - 1) sqrt(1 + 1/K) standard deviations.",
        markdown(_coverage(frame)),
        *(
            f"{kind.capitalize()}, by truth:\n\n{markdown(_by_truth(frame, f'{kind} coverage'))}"
            for kind in KINDS
        ),
        "## Width",
        "Mean width of raw and of calibrated intervals.",
        markdown(_by_truth(frame, "raw width")),
        markdown(_by_truth(frame, "calibrated width")),
        "## Error and spread",
        "RMSE of the posterior mean to the true function, then the root mean square of the raw "
        "posterior standard deviation.",
        markdown(_by_truth(frame, "rmse")),
        markdown(_by_truth(frame, "sd")),
        "## Cost",
        "Seconds on a machine that others used, too, compiling included; passes of the first fit.",
        markdown(_ordered(frame.groupby("method")[list(COST)].median()), 1),
    ]
    save_report(folder, parts, frame)


def _what_was_done(frame: pd.DataFrame) -> str:
    counts = frame.groupby(["data_set", "method"]).size()
    return (
        f"Made by `python -m experiments.neural_truths tables`: {len(frame)} measurements, "
        f"commits {', '.join(sorted(frame['commit'].unique()))}; {N_ROWS} rows, "
        f"{counts.min()} to {counts.max()} data sets of every truth and method. Intervals at 500 "
        f"new points.{_what_is_missing(frame, int(counts.min()))}"
    )


def _what_is_missing(frame: pd.DataFrame, fewest: int) -> str:
    """A sentence for a run that is not complete, whose goals are not settled yet."""
    missing = [name for name in METHODS if name not in set(frame["method"])]
    if fewest >= NeuralTruths.n_splits and not missing:
        return ""
    said = f" Not measured yet: {', '.join(missing)}." if missing else ""
    return f" **Partial**: {fewest} of {NeuralTruths.n_splits} data sets are complete.{said}"


def _goals(frame: pd.DataFrame) -> pd.DataFrame:
    """Goals of the martingale posterior, with what was found."""
    ours = _by_truth(frame, "calibrated coverage").loc[MARTINGALE]
    mean, low = ours["mean"], ours.drop("mean")
    raw = _by_truth(frame, "raw coverage").drop(columns="mean")
    rows = {
        "calibrated coverage, mean": _goal(
            f"{mean:.3f}", f"{MEAN[0]:g} to {MEAN[1]:g}", MEAN[0] <= mean <= MEAN[1]
        ),
        "calibrated coverage, lowest truth": _goal(
            f"{low.min():.3f} ({low.idxmin()})", f"at least {LEAST:g}", low.min() >= LEAST
        ),
    }
    if ENSEMBLE in raw.index:
        away = (raw.loc[[MARTINGALE, ENSEMBLE]] - LEVEL).abs()
        nearer = away.loc[MARTINGALE] < away.loc[ENSEMBLE]
        what = f"raw coverage nearer to {LEVEL} than the {ENSEMBLE}'s"
        rows[what] = _goal(_truths(nearer), "every truth", nearer.all())
    if GAUSS_NEWTON in raw.index:
        ratio = _ratios(frame)
        close = ratio.between(1 - CLOSE, 1 + CLOSE)
        said = ", ".join(f"{name} {value:.2f}" for name, value in ratio.items())
        rows["sd, proximal over Gauss-Newton"] = _goal(
            said, f"1 ± {CLOSE} on {N_CLOSE} truths", close.sum() >= N_CLOSE
        )
    return pd.DataFrame(rows).T.rename_axis("what")


def _goal(found: str, goal: str, met: bool) -> dict[str, str]:
    return {"found": found, "goal": goal, "met": "met" if met else "not met"}


def _truths(chosen: pd.Series) -> str:
    names = ", ".join(chosen.index[~chosen])
    return f"{chosen.sum()} of {len(chosen)}" + (f" (not {names})" if names else "")


def _ratios(frame: pd.DataFrame) -> pd.Series:
    """Geometric mean over data sets of the ratio of standard deviations, by truth."""
    sd = frame.pivot(index=["data_set", "split"], columns="method", values="sd")
    logs = np.log(sd[MARTINGALE] / sd[GAUSS_NEWTON]).dropna()
    return np.exp(logs.groupby("data_set").mean()).reindex(_present(frame["data_set"], TRUTHS))


def _coverage(frame: pd.DataFrame) -> pd.DataFrame:
    """Coverage over all truths, by method."""
    groups = frame.groupby("method")
    found = groups["calibrated coverage"]
    table = pd.DataFrame({kind: groups[f"{kind} coverage"].mean() for kind in KINDS})
    table["±"], table["lowest"] = found.agg(standard_error), found.min()
    table["factor"] = groups["factor"].mean()
    return _ordered(table)


def _by_truth(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Means over data sets by method and truth, and their mean over truths."""
    table = frame.pivot_table(index="method", columns="data_set", values=what)
    table = table[_present(frame["data_set"], TRUTHS)].rename_axis(columns=None)
    return _ordered(table.assign(mean=table.mean(axis=1)))


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.loc[_present(table.index, METHODS)]


def _present(
    found: Sequence[str] | pd.Series | pd.Index, order: Sequence[str] | dict[str, object]
) -> list[str]:
    seen = set(found)
    return [name for name in order if name in seen]
