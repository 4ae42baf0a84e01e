"""Compare base model, bagging and nearbayes on data shipped with scikit-learn: ``make demo``."""

from __future__ import annotations

import os
import pathlib
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core, one thread per process

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

import nearbayes as nb
from nearbayes import report
from nearbayes.inspection.reliability import set_coverage
from nearbayes.metrics import accuracy, coverage, crps_samples, log_score, width

PICTURE, REPORT = pathlib.Path("nearbayes_demo.png"), pathlib.Path("nearbayes_demo.html")
COMMON = {"n_draws": 50, "n_jobs": 2, "random_state": 0}
METHODS = {
    "base model": {"n_refits": 0, "n_draws": 1},
    "bagging": {"method": "bootstrap"},
    "nearbayes": {},
}


def main() -> None:
    console = Console(width=110)
    classified = classification(console)
    regressed = regression(console)
    picture(classified, regressed)
    write_report(classified)
    console.print(f"Figure: {PICTURE.resolve()}")
    console.print(f"Report, to open in a browser: {REPORT.resolve()}")


def classification(console: Console) -> dict[str, Any]:
    source = load_breast_cancer(as_frame=True)
    X, y = source.data, source.target.map(dict(enumerate(source.target_names)))
    parts = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    estimator = HistGradientBoostingClassifier()
    table = make_table(
        f"Breast cancer: is a tumour benign? {len(y_train)} training rows, {len(y_test)} test rows",
        ["log score", "accuracy", "90 % sets: cover", "mean size", "90 % interval of p: width"],
    )
    models, codes = {}, (y_test == "malignant").to_numpy().astype(int)
    for name, options in METHODS.items():
        model, seconds = timed_fit(
            nb.PosteriorClassifier(estimator, **{**COMMON, **options}), X_train, y_train
        )
        models[name], p = model, model.predict_proba(X_test)
        (inside,), (size,) = set_coverage(codes, p, [0.9])
        interval_width = width(model.predict_interval(X_test)[:, 0])
        figures = [log_score(codes, p), accuracy(codes, p), inside, size, interval_width]
        table.add_row(name, *(f"{figure:.3f}" for figure in figures), f"{seconds:.1f} s")
    console.print(table)
    console.print(
        "lower log score is better; the true p is unknown, so only interval widths are shown\n"
    )
    return {"model": model, "bagging": models["bagging"], "X": X_test, "y": y_test}


def regression(console: Console) -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    estimator = HistGradientBoostingRegressor()
    table = make_table(
        f"Diabetes: disease progression. {len(y_train)} training rows, {len(y_test)} test rows",
        ["CRPS", "RMSE", "90 % intervals of y: cover", "width"],
    )
    for name, options in METHODS.items():
        model, seconds = timed_fit(
            nb.PosteriorRegressor(estimator, **{**COMMON, **options}), X_train, y_train
        )
        interval = model.predict_interval(X_test)
        rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
        crps = crps_samples(y_test, model.sample(X_test, 1000, random_state=0))
        figures = [crps, rmse, coverage(y_test, interval), width(interval)]
        table.add_row(name, *(f"{figure:.3f}" for figure in figures), f"{seconds:.1f} s")
    console.print(table)
    console.print("lower CRPS is better; all methods have the same noise model\n")
    return {"model": model, "X": X_test, "y": y_test}


def timed_fit(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return model.fit(X, y), time.perf_counter() - started


def make_table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("")
    for column in [*columns, "time"]:
        table.add_column(column, justify="right")
    return table


def picture(classified: dict[str, Any], regressed: dict[str, Any]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    p = classified["model"].predict_proba(classified["X"])[:, 0]
    interval = classified["model"].predict_interval(classified["X"])[:, 0]
    benign = (classified["y"] == "benign").to_numpy()
    draw_intervals(left, p, interval, benign, "test rows, by predicted probability")
    left.set_title("P(benign) of a boosted tree, with 90 % credible intervals", loc="left")
    mean = regressed["model"].predict(regressed["X"])
    interval = regressed["model"].predict_interval(regressed["X"])
    draw_intervals(right, mean, interval, regressed["y"], "test rows, by prediction")
    inner = regressed["model"].predict_interval(regressed["X"], kind="credible")
    order = np.argsort(mean)
    right.vlines(np.arange(len(mean)), *inner[order].T, color="#1f6f8b", lw=1.6)
    right.set_title("Diabetes: 90 % for the mean (dark) and for y (light)", loc="left")
    figure.savefig(PICTURE, dpi=130)


def write_report(classified: dict[str, Any]) -> None:
    contents = report.contents(
        classified["model"],
        classified["X"],
        classified["y"],
        title="Breast cancer: is a tumour benign?",
        target="tumour",
        baselines={"bagging": classified["bagging"]},
    )
    report.write(contents, REPORT)


def draw_intervals(axes: Any, centre: Any, interval: Any, truth: Any, label: str) -> None:
    order = np.argsort(centre)
    place = np.arange(len(order))
    axes.vlines(place, *interval[order].T, color="#9ecfd8", lw=1.6)
    axes.plot(place, centre[order], color="#1f6f8b", lw=1.2)
    axes.scatter(place, truth[order], s=7, color="#d1495b", zorder=3, label="observed")
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")


if __name__ == "__main__":
    main()
