"""Contents: all numbers and texts of the report, as a plain dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearbayes.core.seeds import Seeds
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.report.account import CITATION, cautions, cost, done, time_taken
from nearbayes.report.calibration import calibration
from nearbayes.report.diagnostics import diagnostics
from nearbayes.report.effects import effects
from nearbayes.report.headline import headline
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.importance import importance
from nearbayes.report.predictions import most_uncertain, predictions
from nearbayes.report.reliability import held_out_coverage, reliability
from nearbayes.report.scores import scores

__all__ = ["contents"]


def contents(
    model: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    target: str | None = None,
    baselines: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] | None = None,
    most_rows: int = 3_000,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Compute the contents of a report about a fitted posterior, from held-out rows.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
        Rows not used in `fit`; for draws kept as predictions, the table of `predict_on`.
    y : array of shape (n_rows,)
        Observed outcomes.
    title, target : str, optional
        Heading, and name of y; by default the name of a pandas Series.
    baselines : mapping of str to fitted PosteriorClassifier or PosteriorRegressor, optional
        Other posteriors to compare with, such as ``{"bagging": ...}``.
    feature_names : sequence of str, optional
        By default the columns of a frame.
    most_rows : int
        Maximum number of rows in the table and figures. If there are more, the most extreme rows
        and a random sample of the others are shown.
    random_state : None, int, numpy Generator or RandomState
        Used to choose rows, shuffle columns and sample predictive distributions.

    Returns
    -------
    dict of strings, numbers (four significant digits), None, lists and dicts

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nb.PosteriorClassifier(GaussianNB(), n_draws=10, random_state=0)
    >>> found = contents(model.fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found["task"], found["predictions"]["rows"], len(found["scores"]["models"])
    ('classification', 75, 2)
    """
    if most_rows < 1:
        raise ValueError(f"most_rows must be at least 1, got {most_rows}.")
    seeds, name = Seeds(random_state), target or str(getattr(y, "name", None) or "y")

    def work() -> dict[str, Any]:
        held = HeldOut.of(model, X, y, seeds.part(0), feature_names, most_rows)
        return _found(held, name, dict(baselines or {}), seeds)

    # thousands of small predictions: several threads would be many times slower
    found, seconds = timed_on_one_thread(work)
    found["cost"].append(time_taken("This report", seconds))
    return {"title": title or f"{name}: predictions and their uncertainty", **found}


def _found(held: HeldOut, target: str, baselines: dict[str, Any], seeds: Seeds) -> dict[str, Any]:
    """All sections."""
    scored, covered = scores(held, baselines, seeds.part(1)), held_out_coverage(held)
    ranked = importance(held, seeds.part(2))
    features = ranked["feature"] if ranked else list(range(len(held.names)))
    return {
        "target": target,
        "task": "classification" if held.is_classifier else "regression",
        "classes": held.classes,
        "levels": list(LEVELS),
        "done": done(held, target),
        "headline": headline(held, scored, covered),
        "scores": scored,
        "reliability": reliability(held),
        "calibration": calibration(held),
        "coverage": covered,
        "predictions": predictions(held),
        "most_uncertain": most_uncertain(held, features),
        "importance": ranked,
        "effects": effects(held, features),
        "diagnostics": diagnostics(held),
        "cost": cost(held, baselines),
        "citation": CITATION,
        "cautions": cautions(held),
    }
