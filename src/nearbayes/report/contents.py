"""Contents: all numbers and texts of the report, as a plain dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from nearbayes.core.seeds import Seeds
from nearbayes.diagnostics.diagnosis import Diagnosis
from nearbayes.execution.executor import timed_on_one_thread
from nearbayes.report.account import CITATION, cautions, cost, done, time_taken
from nearbayes.report.advice import not_to_conclude, to_do
from nearbayes.report.alerts import alerts, deciding_column, one_column_alerts
from nearbayes.report.answers import answers
from nearbayes.report.calibration import calibration
from nearbayes.report.check_rows import check_rows
from nearbayes.report.diagnostics import diagnostics
from nearbayes.report.doubt import doubt
from nearbayes.report.drivers import drivers
from nearbayes.report.effects import effects
from nearbayes.report.findings import findings
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.importance import importance
from nearbayes.report.more_rows import more_rows
from nearbayes.report.predictions import predictions
from nearbayes.report.reliability import held_out_coverage, reliability
from nearbayes.report.rounding import quoted
from nearbayes.report.scores import scores
from nearbayes.report.trust import doubtful_place, trust, trust_alerts
from nearbayes.report.typical_error import typical_error

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
    row_names: Sequence[Any] | None = None,
    rows_called: str | None = None,
    facts: Mapping[str, str] | None = None,
    diagnosis: Diagnosis | Mapping[str, Any] | None = None,
    most_rows: int = 3_000,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Compute the contents of a report about a fitted posterior, from rows with known outcomes.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X : table of shape (n_rows, n_columns)
        Rows that were not used in `fit` (the report says so if they were); for draws kept as
        predictions, the table of `predict_on`. Of very many rows, some are chosen at random.
    y : array of shape (n_rows,)
        Observed outcomes.
    title, target : str, optional
        Heading, and name of y; by default the name of a pandas Series.
    baselines : mapping of str to fitted PosteriorClassifier or PosteriorRegressor, optional
        Other posteriors to compare with, such as ``{"bagging": ...}``.
    feature_names : sequence of str, optional
        By default the columns of a frame.
    row_names : sequence, optional
        What each row is called, such as an identifier; by default the index of a pandas frame, or
        positions.
    rows_called : str, optional
        What these names are, such as "Patient" or "Line".
    facts : mapping of str to str, optional
        Further facts for the settings, such as ``{"Data file": "patients.csv"}``.
    diagnosis : Diagnosis, optional
        What ``model.diagnose(X, y)`` found with the rows of the fit. Without it, the report has
        the questions that draws answer alone.
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
        names = (feature_names, most_rows, row_names, rows_called)
        held = HeldOut.of(model, X, y, seeds.part(0), *names)
        trusted = trust(held, diagnosis)
        return _found(held, name, dict(baselines or {}), seeds, dict(facts or {}), trusted)

    # thousands of small predictions: several threads would be many times slower
    found, seconds = timed_on_one_thread(work)
    found["cost"].append(time_taken("This report", seconds))
    today = date.today()
    made = f"{today.day} {today:%B %Y}"
    return {"title": title or f"{name}: predictions and how sure they are", "made": made, **found}


def _found(
    held: HeldOut,
    target: str,
    baselines: dict[str, Any],
    seeds: Seeds,
    facts: dict[str, str],
    trusted: dict[str, Any],
) -> dict[str, Any]:
    """All sections."""
    scored, covered = scores(held, baselines, seeds.part(1)), held_out_coverage(held)
    ranked = importance(held, seeds.part(2))
    features = ranked["feature"] if ranked else list(range(len(held.names)))
    changing, calibrated = effects(held, features), calibration(held)
    details = {
        "target": target,
        "task": "classification" if held.is_classifier else "regression",
        "classes": held.classes,
        "levels": list(LEVELS),
        "done": done(held, target, facts),
        "scores": scored,
        "reliability": reliability(held),
        "calibration": calibrated,
        "coverage": covered,
        "predictions": predictions(held),
        "importance": ranked,
        "effects": changing,
        "trust": trusted,
        "diagnostics": diagnostics(held),
        "cost": cost(held, baselines),
        "citation": CITATION,
        "cautions": cautions(held),
    }
    outcome = quoted(target)
    if changing and changing["views"]:
        outcome = f"probability of {quoted(changing['views'][0].removeprefix('probability of '))}"
    first = _first(held, covered, features, trusted) | {
        "drivers": drivers(ranked, changing, outcome)
    }
    quality, sure = first["quality"], first["doubt"]
    alone = deciding_column(quality, ranked)
    return {
        **details,
        **first,
        "findings": findings(held, first | {"trust": trusted, "alone": alone}),
        "alerts": alerts(held, quality, sure, calibrated)
        + one_column_alerts(alone)
        + trust_alerts(trusted),
        "to_do": to_do(held, quality, sure, first["more"], trusted, alone),
        "not_to_conclude": not_to_conclude(held, target, sure, alone),
    }


def _first(
    held: HeldOut, covered: dict[str, Any], features: list[int], trusted: dict[str, Any]
) -> dict[str, Any]:
    """Sections that the first screen sums up."""
    quality = answers(held) or typical_error(held) or {}
    return {
        "quality": quality,
        "doubt": doubt(
            held,
            covered,
            quality.get("rare"),
            bool(trust_alerts(trusted)),
            doubtful_place(trusted),
        ),
        "check": check_rows(held, features, quality.get("rare")),
        "more": more_rows(held),
    }
