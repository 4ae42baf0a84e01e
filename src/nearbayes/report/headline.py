"""Headline: the four most important numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import in_digits, percent, rounded
from nearbayes.report.scores import BASE, OURS

__all__ = ["headline"]

Array = NDArray[np.float64]

MOST_ROWS = 2_000
COVERAGE = 0.9
NOTABLE = 0.05  # share of draws that must disagree for a class to count as uncertain


def headline(
    held: HeldOut, scores: dict[str, Any], coverage: dict[str, Any]
) -> list[dict[str, Any]]:
    """Score, typical intervals, and the share of uncertainty that more data would remove."""
    rows = held.scored[:: -(-len(held.scored) // MOST_ROWS)]
    own = (
        _class_numbers(held, rows) if held.is_classifier else _outcome_numbers(held, rows, coverage)
    )
    return [_score(scores), *own, _epistemic_share(held)]


def _number(key: str, label: str, value: float, text: str, detail: str) -> dict[str, Any]:
    return {"key": key, "label": label, "value": rounded(value), "text": text, "detail": detail}


def _score(scores: dict[str, Any]) -> dict[str, Any]:
    metric = scores["metrics"][0]
    values = {model["name"]: model["values"][metric["key"]] for model in scores["models"]}
    against = next(
        d for d in scores["differences"] if (d["against"], d["metric"]) == (BASE, metric["key"])
    )
    detail = f"base model {values[BASE]['text']}: {against['words']}"
    ours = values[OURS]
    value = float("inf") if ours["value"] is None else ours["value"]
    return _number(metric["key"], metric["name"], value, ours["text"], detail)


def _class_numbers(held: HeldOut, rows: Any) -> list[dict[str, Any]]:
    bounds = held.at(rows, lambda x: held.model.predict_interval(x, COVERAGE))
    likeliest = held.mean.argmax(axis=1)
    ends = bounds[np.arange(len(rows)), likeliest[rows]]
    width = float(np.median(ends[:, 1] - ends[:, 0]))
    agree = (held.draws.argmax(axis=2) == likeliest).mean(axis=0)
    is_open = float((agree < 1 - NOTABLE).mean())
    return [
        _number(
            "width",
            "Interval width",
            width,
            in_digits(width),
            f"median over rows, {percent(COVERAGE)} interval for P(most likely class)",
        ),
        _number(
            "open",
            "Class uncertain",
            is_open,
            percent(is_open),
            f"of rows: more than {percent(NOTABLE)} of the draws predict another class",
        ),
    ]


def _outcome_numbers(held: HeldOut, rows: Any, coverage: dict[str, Any]) -> list[dict[str, Any]]:
    ends = held.at(rows, lambda x: held.model.predict_interval(x, COVERAGE, kind="credible"))
    width = float(np.median(ends[:, 1] - ends[:, 0]))
    found = next(each for each in coverage["levels"] if each["level"] == COVERAGE)
    return [
        _number(
            "width",
            "Interval width",
            width,
            in_digits(width),
            f"median over rows, {percent(COVERAGE)} interval for the mean of y; a predictive "
            f"interval for y itself is {in_digits(found['width'])} wide on average",
        ),
        _number(
            "covered",
            "Held-out coverage",
            found["covered"],
            percent(found["covered"]),
            f"of {percent(COVERAGE)} predictive intervals, at {coverage['rows']:,} rows",
        ),
    ]


def _epistemic_share(held: HeldOut) -> dict[str, Any]:
    """Share of the total uncertainty (entropy, or variance) that more data would remove."""
    power = 1 if held.is_classifier else 2
    epistemic, aleatoric = (held.epistemic**power).sum(), (held.aleatoric**power).sum()
    total = epistemic + aleatoric
    share = float(epistemic / total) if total > 0 else 0.0
    what = "entropy" if held.is_classifier else "variance"
    detail = f"of the {what} of predictions; more data would remove it, the rest is noise"
    return _number("epistemic", "Epistemic share", share, percent(share), detail)
