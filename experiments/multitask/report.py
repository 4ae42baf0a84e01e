"""Report: ratios and coverage over n_pret, n_test and m, in the layout of the paper's figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from experiments.multitask.experiment import REDUCED, Design, name_of
from experiments.multitask.tasks import GRID
from experiments.runner.pictures import save
from experiments.runner.records import Records
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown

WIDE = 1.96
COVERED = (0.85, 0.95)
RATIOS = {"excess": "excess-error ratio", "distance": "Wasserstein ratio"}
COVERAGES = ("coverage", "inflated coverage")
Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number and its standard error over kernels."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


class Row(NamedTuple):
    """A row of the figure: what is varied, and the (m, n_pret, n_test) of its points."""

    varied: str
    values: tuple[int, ...]
    points: tuple[tuple[int, int, int], ...]


def write_report(records: Records, folder: Path, design: Design = REDUCED) -> None:
    """Write ``report.md`` and ``ratios.png``."""
    frame = records.frame()
    m, n_pret, n_test = design.middle
    _draw(frame, design, folder / "ratios.png")
    parts = [
        "# Multi-task simulation: results",
        "Made from the records by `tables`: commits "
        f"{', '.join(sorted(frame['commit'].unique()))}. {_counts(frame, design)}",
        "Ratios are roots of mean squares over the tasks: excess error and 2-Wasserstein distance, "
        "each over the radius of the true posterior. `±` is a jackknife standard error over "
        "kernels. `Wasserstein ratio of its posterior` is that of the exact posterior under the "
        "learned kernel: what no sequential algorithm with this kernel could be blamed for. "
        "Coverage is that of 90 % intervals at 10 points; `inflated` intervals make up for the "
        "truncation at N = 12 n.",
        *(part for row in rows_of(design) for part in _section(frame, row)),
        "![Ratios and coverage](ratios.png)",
        "## Goal",
        f"Ratios fall with n_pret and m: {_verdicts(frame, design)}. Coverage in the best setting "
        f"(m = {m}, n_pret = {n_pret:,}, n_test = {n_test}) between "
        f"{COVERED[0]:.0%} and {COVERED[1]:.0%}: {_covered(frame, design)}.",
    ]
    save_report(folder, parts, frame)


def rows_of(design: Design) -> list[Row]:
    """The three rows of the paper's figure."""
    m, n_pret, n_test = design.middle
    pretraining, tests, tasks = design.pretraining_rows, design.test_rows, design.numbers_of_tasks
    return [
        Row("n_pret", pretraining, tuple((m, each, n_test) for each in pretraining)),
        Row("n_test", tests, tuple((m, n_pret, each) for each in tests)),
        Row("m", tasks, tuple((each, n_pret, n_test) for each in tasks)),
    ]


def values(frame: pd.DataFrame, point: tuple[int, int, int], key: str) -> Array:
    """Values at a point, kernels by tasks."""
    cell = frame[frame["data_set"] == name_of(point[0], point[1])]
    return np.array(cell[f"n_test={point[2]} {key}"].to_list())


def ratio(frame: pd.DataFrame, point: tuple[int, int, int], key: str) -> Estimate:
    """Root of mean square over root of mean squared radius."""
    above, below = values(frame, point, key), values(frame, point, "radius")
    return _jackknifed(lambda kept: float(np.sqrt(above[kept].mean() / below[kept].mean())), above)


def covered(frame: pd.DataFrame, point: tuple[int, int, int], key: str) -> Estimate:
    """Mean coverage."""
    found = values(frame, point, key)
    return _jackknifed(lambda kept: float(found[kept].mean()), found)


def _jackknifed(statistic: Callable[[NDArray[np.bool_]], float], by_kernel: Array) -> Estimate:
    """The statistic, and its error from leaving out one kernel with its tasks at a time."""
    n = len(by_kernel)
    without = np.array([statistic(np.arange(n) != left_out) for left_out in range(n)])
    error = np.sqrt((n - 1) * without.var()) if n > 1 else np.nan
    return Estimate(statistic(np.ones(n, dtype=bool)), float(error))


def _counts(frame: pd.DataFrame, design: Design) -> str:
    kernels = frame.groupby("data_set").size()
    tasks = kernels.min() * design.tasks_per_kernel
    return f"Learned kernels per setting: at least {kernels.min()}, with {tasks} test tasks."


def _section(frame: pd.DataFrame, row: Row) -> list[str]:
    """Title and table of one row of the figure."""
    m, n_pret, n_test = row.points[-1]
    fixed = {"m": m, "n_pret": n_pret, "n_test": n_test}
    del fixed[row.varied]
    title = ", ".join(f"{name} = {value:,}" for name, value in fixed.items())
    table = {
        f"{value:,}": {
            **{name: str(ratio(frame, point, key)) for key, name in RATIOS.items()},
            "Wasserstein ratio of its posterior": str(
                ratio(frame, point, "distance of its posterior")
            ),
            **{key: str(covered(frame, point, key)) for key in COVERAGES},
        }
        for value, point in zip(row.values, row.points, strict=True)
    }
    return [
        f"## {row.varied} varied ({title})",
        markdown(pd.DataFrame(table).T.rename_axis(row.varied)),
    ]


def _verdicts(frame: pd.DataFrame, design: Design) -> str:
    found = []
    for row in rows_of(design):
        if row.varied == "n_test":
            continue
        for key, name in RATIOS.items():
            path = [ratio(frame, point, key).value for point in row.points]
            found.append(f"{name} over {row.varied} {_fall(path)}")
    return "; ".join(found)


def _fall(path: Sequence[float]) -> str:
    steps = np.diff(path)
    ends = f"{path[0]:.2f} to {path[-1]:.2f}"
    if (steps < 0).all():
        return f"{ends}, at every step, yes"
    return f"{ends}, not at every step, {'yes from end to end' if path[-1] < path[0] else 'no'}"


def _covered(frame: pd.DataFrame, design: Design) -> str:
    found = {key: covered(frame, design.middle, key) for key in COVERAGES}
    held = {key: COVERED[0] <= each.value <= COVERED[1] for key, each in found.items()}
    texts = [f"{key} {each}, {'yes' if held[key] else 'no'}" for key, each in found.items()]
    return "; ".join(texts)


def _draw(frame: pd.DataFrame, design: Design, path: Path) -> None:
    """Three rows (what is varied) of three panels, as in the paper."""
    rows = rows_of(design)
    figure, axes = plt.subplots(len(rows), 3, figsize=(11, 3 * len(rows)))
    for row, (left, middle, right) in zip(rows, axes, strict=True):
        for ax, (key, name) in zip((left, middle), RATIOS.items(), strict=True):
            _plot(ax, row, [ratio(frame, point, key) for point in row.points], name)
            ax.set_ylim(bottom=0)
        for key in COVERAGES:
            _plot(right, row, [covered(frame, point, key) for point in row.points], key)
        right.axhline(0.9, color="0.6", linestyle="--")
        right.set(ylabel=f"coverage ({len(GRID)} points)", ylim=(0.5, 1))
        right.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    save(figure, path)


def _plot(ax: Axes, row: Row, found: Sequence[Estimate], name: str) -> None:
    errors = [WIDE * each.error for each in found]
    heights = [each.value for each in found]
    ax.errorbar(row.values, heights, errors, marker="o", markersize=4, capsize=3, label=name)
    ax.set(xscale="log", xlabel=row.varied, ylabel=name)
    ax.set_xticks(row.values, [f"{each:,}" for each in row.values])
    ax.minorticks_off()
