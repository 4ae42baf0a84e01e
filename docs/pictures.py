"""Make the pictures of the README, each for light and for dark pages.

Run: ``python -m docs.pictures`` (a few minutes; needs the extras of ``make setup`` and chromium).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.figure import Figure
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import nearbayes as nb
from examples import demo

FOLDER = Path(__file__).parent
INK = {"light": "#1f2328", "dark": "#e6edf3"}
PAPER = {"light": "#ffffff", "dark": "#0d1117"}  # GitHub's own
COLOURS = [demo.OURS, demo.THEIRS, demo.TRUTH]
SMALL = (5.6, 3.6)


def main() -> None:
    probability, importance, budget = demo.probabilities(), demo.importances(), demo.budgets()
    for look in INK:
        draw("demo", look, lambda: demo.picture(probability, importance, budget))
        draw("importance", look, lambda: importance_picture(importance["model"]))
        draw("dependence", look, lambda: dependence_picture(importance))
    report_pictures()


def draw(name: str, look: str, make: Callable[[], Figure]) -> None:
    """Draw a picture in the colours of a look."""
    ink, paper = INK[look], PAPER[look]
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style: dict[str, Any] = dict.fromkeys(inked, ink)
    style |= {"figure.facecolor": paper, "axes.facecolor": paper, "axes.titlesize": "medium"}
    with plt.rc_context(style | {"axes.prop_cycle": cycler(color=COLOURS)}):
        make().savefig(place(name, look), dpi=110)
        plt.close("all")


def place(name: str, look: str) -> Path:
    return FOLDER / (f"{name}.png" if look == "light" else f"{name}_dark.png")


def importance_picture(model: Any) -> Figure:
    figure, axes = plt.subplots(figsize=SMALL, layout="constrained")
    nb.plots.importance(model, ax=axes)
    return figure


def dependence_picture(found: dict[str, Any]) -> Figure:
    figure, axes = plt.subplots(figsize=SMALL, layout="constrained")
    nb.plots.intervals(found["model"], found["test"][0], feature="bmi", ax=axes)
    return figure


def report_pictures() -> None:
    """The first screen of a report, and its picture of the rows with their intervals."""
    source = load_breast_cancer(as_frame=True)
    y = source.target.map(dict(enumerate(source.target_names))).rename("tumour")
    X_train, X_test, y_train, y_test = train_test_split(
        source.data, y, test_size=0.3, random_state=0, stratify=y
    )
    tree = HistGradientBoostingClassifier(max_iter=60)
    model = nb.PosteriorClassifier(tree, n_draws=20, n_jobs=2, random_state=0)
    model.fit(X_train, y_train)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        model.report(X_test, y_test, page, title="Is a tumour malignant, and how sure is that?")
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for look in INK:
            tab = browser.new_page(viewport={"width": 1000, "height": 640}, color_scheme=look)
            tab.goto(page.as_uri())
            tab.locator(".toc").evaluate("it => it.remove()")
            tab.screenshot(path=place("report", look))
            tab.set_viewport_size({"width": 560, "height": 640})
            tab.locator("#doubt figure").screenshot(path=place("interval", look))
        browser.close()


if __name__ == "__main__":
    main()
