"""Three things that only a posterior of the model gives, on data that ships with scikit-learn.

``make demo`` runs this; ``python examples/demo.py --seeds 20`` counts how often the three claims
hold in 20 repetitions.
"""

from __future__ import annotations

import argparse
import os
import pathlib
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core, one thread per process

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import nearbayes as nb

PICTURE, REPORT = pathlib.Path("nearbayes_demo.png"), pathlib.Path("nearbayes_demo.html")
SEEN = ["mean texture", "mean smoothness", "mean symmetry", "mean compactness", "texture error"]
COVERAGE, BUDGET = 0.9, 0.95
N_TOTALS = 1_000  # simulated totals
OURS, THEIRS, TRUTH = "#2a86ad", "#d08a3c", "#c0334d"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=0, help="count how often the claims hold")
    options.add_argument("--jobs", type=int, default=2)
    asked = options.parse_args()
    if asked.seeds:
        count_claims(asked.seeds, asked.jobs)
        return
    probability = probabilities(jobs=asked.jobs)
    print(about_probabilities(probability), end="\n\n")
    importance = importances(jobs=asked.jobs)
    print(about_importances(importance), end="\n\n")
    budget = budgets()
    print(about_budgets(budget), end="\n\n")
    picture(probability, importance, budget).savefig(PICTURE, dpi=130)
    importance["model"].report(*importance["test"], REPORT)
    print(f"Figure: {PICTURE.resolve()}")
    print(f"Report on the model of part 2, to open in a browser: {REPORT.resolve()}")


def probabilities(seed: int = 0, n_draws: int = 20, jobs: int = 2) -> dict[str, Any]:
    """Intervals of a boosted tree's probabilities, where the true ones are known.

    The inputs are real; labels are drawn from a smooth model that was fitted to the real labels.
    """
    source = load_breast_cancer(as_frame=True)
    X, rng = source.data[SEEN], np.random.default_rng(seed)
    smooth = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(C=0.1))
    truth = smooth.fit(X, source.target == 0).predict_proba(X)[:, 1]
    y = (rng.random(len(truth)) < truth).astype(int)
    X_train, X_test, y_train, _, _, p = train_test_split(
        X, y, truth, test_size=0.3, random_state=seed
    )
    tree = HistGradientBoostingClassifier(max_iter=60)
    settings = {"n_draws": n_draws, "n_jobs": jobs, "random_state": seed}
    found: dict[str, Any] = {"truth": p, "rows": len(y_train)}
    for name, how in {
        "bagging": {"method": "bootstrap", "calibration": None},
        "nearbayes": {},
    }.items():
        model = nb.PosteriorClassifier(tree, **settings, **how).fit(X_train, y_train)
        bounds = model.predict_interval(X_test, COVERAGE)[:, 1]
        found[name] = bounds
        found[f"{name} covers"] = float(((bounds[:, 0] <= p) & (p <= bounds[:, 1])).mean())
    return found


def about_probabilities(found: dict[str, Any]) -> str:
    return (
        f"1. An interval on a probability. A boosted tree learned from {found['rows']} rows whose "
        f"true probabilities are known.\n   {COVERAGE:.0%} intervals contain the true probability "
        f"of new rows this often: nearbayes {found['nearbayes covers']:.0%}, bagging "
        f"{found['bagging covers']:.0%}."
    )


def importances(seed: int = 0, n_draws: int = 30, jobs: int = 2) -> dict[str, Any]:
    """Which column matters more for diabetes? A posterior of importances, not one ranking."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y.rename("progression"), test_size=0.25, random_state=seed
    )
    tree = GradientBoostingRegressor(n_estimators=40, max_depth=2, random_state=seed)
    model = nb.PosteriorRegressor(tree, n_draws=n_draws, n_jobs=jobs, random_state=seed)
    model.fit(X_train, y_train)
    found = model.functional(lambda fitted: fitted.feature_importances_)
    order, alone = np.argsort(-found.mean)[:6], tree.fit(X_train, y_train).feature_importances_
    draws = found.values[:, order]
    return {
        "model": model,
        "test": (X_test, y_test),
        "names": X.columns[order].tolist(),
        "draws": draws,
        "interval": found.interval(COVERAGE)[order].clip(0, 1),  # calibrated; shares
        "largest": float((draws.argmax(axis=1) == 0).mean()),
        "one of two": float((draws.argmax(axis=1) < 2).mean()),
        "one fit": alone[order],
        "first of one fit": X.columns[alone.argmax()],
    }


def about_importances(found: dict[str, Any]) -> str:
    first, second = found["names"][:2]
    return (
        f"2. The posterior of an importance. One fit ranks {found['first of one fit']!r} first, "
        f"with {found['one fit'].max():.0%} of all importance.\n   The draws do not agree: in "
        f"{found['largest']:.0%} of them {first!r} is first, in {found['one of two']:.0%} it is "
        f"{first!r} or {second!r}."
    )


def budgets(n_splits: int = 40, n_train: int = 100, n_draws: int = 30) -> dict[str, Any]:
    """Which budget is enough for the total of many new rows? Repeated over random splits.

    Noise averages out over the rows. The model error does not, because all rows share it.
    """
    X, y = load_diabetes(return_X_y=True)
    totals, plain, ours = [], [], []
    for seed in range(n_splits):
        X_train, X_new, y_train, y_new = train_test_split(
            X, y, train_size=n_train, random_state=seed
        )
        ridge = Ridge(0.1).fit(X_train, y_train)
        residuals = y_train - cross_val_predict(Ridge(0.1), X_train, y_train, cv=10)
        drawn = np.random.default_rng(seed).choice(residuals, (N_TOTALS, len(y_new)))
        model = nb.PosteriorRegressor(Ridge(0.1), n_draws=n_draws, random_state=seed)
        model.fit(X_train, y_train)
        totals.append(y_new.sum())
        plain.append(ridge.predict(X_new).sum() + drawn.sum(axis=1))
        ours.append(model.sample(X_new, N_TOTALS, random_state=seed).sum(axis=1))
    found: dict[str, Any] = {"rows": len(y_new), "train": n_train, "totals": np.array(totals)}
    for name, values in {"one fit": plain, "nearbayes": ours}.items():
        found[name] = np.array(values)
        budget = np.quantile(found[name], BUDGET, axis=1)
        found[f"{name} suffices"] = float((budget >= found["totals"]).mean())
        found[f"{name} budget"] = float(budget.mean())
    return found


def about_budgets(found: dict[str, Any]) -> str:
    extra = found["nearbayes budget"] - found["one fit budget"]
    return (
        f"3. A decision that changes. A budget for the total of {found['rows']} new rows, learned "
        f"from {found['train']}, should be enough in {BUDGET:.0%} of all cases.\n   In "
        f"{len(found['totals'])} random splits, that of one fit with its noise is enough in "
        f"{found['one fit suffices']:.0%}, that of the posterior in "
        f"{found['nearbayes suffices']:.0%}: it is {extra:,.0f} higher on average."
    )


def claims(seed: int, jobs: int) -> dict[str, bool]:
    """Whether the claims of the demo hold with this seed."""
    probability, importance = probabilities(seed, jobs=jobs), importances(seed, jobs=jobs)
    ours, bagging = probability["nearbayes covers"], probability["bagging covers"]
    return {
        "nearbayes covers 80 % or more of the true probabilities": ours >= 0.8,
        "bagging covers at least 10 points less": bagging <= ours - 0.1,
        "which column matters most is not certain": importance["largest"] < 0.95,
    }


def count_claims(n_seeds: int, jobs: int) -> None:
    """Print how often each claim holds."""
    held = [claims(seed, jobs) for seed in range(n_seeds)]
    for claim in held[0]:
        print(f"{sum(each[claim] for each in held)} of {n_seeds}: {claim}")
    print(about_budgets(budgets(n_splits=10 * n_seeds)))


def picture(
    probability: dict[str, Any], importance: dict[str, Any], budget: dict[str, Any]
) -> Figure:
    """The three parts side by side."""
    with plt.rc_context({"font.size": 9, "axes.titlesize": 9}):  # titles fit above their axes
        figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
        draw_probabilities(axes[0], probability)
        draw_importances(axes[1], importance)
        draw_budget(axes[2], budget)
    return figure


def draw_probabilities(axes: Axes, found: dict[str, Any], most: int = 60) -> None:
    """Intervals of two methods, sorted by true probability, so that misses are visible."""
    order = np.argsort(found["truth"])
    order = order[np.linspace(0, len(order) - 1, min(most, len(order))).astype(int)]
    for shift, name, color in ((0.0, "nearbayes", OURS), (0.45, "bagging", THEIRS)):
        place, (low, high) = np.arange(len(order)) + shift, found[name][order].T
        axes.vlines(
            place, low, high, color=color, lw=1.8, label=f"{name}: {found[f'{name} covers']:.0%}"
        )
    axes.plot(
        np.arange(len(order)) + 0.2, found["truth"][order], ".", color=TRUTH, ms=4, label="truth"
    )
    axes.set_title("90 % intervals of probabilities: how many contain the truth", loc="left")
    axes.set_xlabel("new rows, by true probability")
    axes.legend(frameon=False, loc="upper left")
    tidy(axes)


def draw_importances(axes: Axes, found: dict[str, Any]) -> None:
    """Importance of each column in every draw, with its interval and the value of one fit."""
    for k in range(len(found["names"])):
        values, (low, high) = found["draws"][:, k], found["interval"][k]
        spread = np.linspace(-0.16, 0.16, len(values))
        axes.plot(values, k + spread, ".", color=OURS, ms=4, alpha=0.6)
        axes.hlines(k + 0.3, low, high, color=OURS, lw=2.5)
        axes.plot(
            found["one fit"][k],
            k + 0.3,
            "x",
            color=TRUTH,
            ms=6,
            label="one fit" if k == 0 else None,
        )
    axes.set_title(
        f"Importances in every draw: {found['names'][0]!r} leads in {found['largest']:.0%}",
        loc="left",
    )
    axes.set_yticks(range(len(found["names"])), found["names"])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("share of all importance")
    axes.legend(frameon=False, loc="lower right")
    tidy(axes)


def draw_budget(axes: Axes, found: dict[str, Any]) -> None:
    """Distribution of the total in the first split by each method, and its budget."""
    bins = np.linspace(found["nearbayes"][0].min(), found["nearbayes"][0].max(), 50)
    for name, color in (("nearbayes", OURS), ("one fit", THEIRS)):
        budget = np.quantile(found[name][0], BUDGET)
        says = f"{name}: enough in {found[f'{name} suffices']:.0%} of splits"
        axes.hist(found[name][0], bins=bins, color=color, alpha=0.45, density=True, label=says)
        axes.axvline(budget, ymax=0.8, color=color, lw=1.8)  # below the legend
    axes.set_title("A budget meant to be enough in 95 % of cases", loc="left")
    axes.set_xlabel(f"total of {found['rows']} new rows (lines: budgets)")
    axes.set_yticks([])
    axes.set_ylim(top=1.35 * axes.get_ylim()[1])
    axes.legend(frameon=False, loc="upper left")
    tidy(axes)


def tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
