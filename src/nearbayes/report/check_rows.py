"""Check rows: the rows that most need a look by a person."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.inspection.columns import column_values
from nearbayes.report.answered import LEVEL, Answered
from nearbayes.report.axes import Axis
from nearbayes.report.heldout import HeldOut
from nearbayes.report.predictions import cell_text
from nearbayes.report.rounding import likely, percent, plain, quoted, shortened

__all__ = ["check_rows"]

Index = NDArray[np.intp]
Found = tuple[str, Index, list[dict[str, Any]]]

CHECKED, MOST_DOUBTFUL = 10, 50  # rows that are listed; more only if they are doubtful
MOST_COLUMNS = 3
LONGEST_TEXT = 80


def check_rows(
    held: HeldOut, features: list[int], rare: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The rows that most need a look, with intervals and their values of a few columns.

    For classes, all whose answer is doubtful, or the ten with the lowest lower bound; with a rare
    class, the ten whose probability of it may be highest. For outcomes, the ten whose mean is
    least known: on the scale of logarithms for positive ones.
    """
    find = _class_rows if held.is_classifier else _outcome_rows
    reason, rows, entries = find(held, rare)
    missed = _wrong_elsewhere(held, rows) if held.is_classifier and rare is None else []
    names, values = _values(held, features)
    for row, entry in zip(rows.tolist(), entries, strict=True):
        entry["row"] = held.labels[row]
        entry["values"] = [shortened(cell_text(column, row), LONGEST_TEXT) for column in values]
    return {
        "called": held.rows.called,
        "reason": reason,
        "columns": names,
        "rows": entries,
        "first": CHECKED,
        "needed": bool(rare) or any(each["doubtful"] for each in entries),
        "of": held.n,
        "wrong_elsewhere": [str(held.labels[row]) for row in missed],
    }


def _wrong_elsewhere(held: HeldOut, rows: Index) -> list[int]:
    """Rows with a wrong answer that are not among those to check."""
    wrong = np.flatnonzero(held.mean.argmax(axis=1) != held.y)
    return sorted(set(wrong.tolist()) - set(rows.tolist()))


def _values(held: HeldOut, features: list[int]) -> tuple[list[str], list[NDArray[Any]]]:
    """Names and values of the columns shown; texts are their own column."""
    if held.names:
        chosen = features[:MOST_COLUMNS]
        return [held.names[j] for j in chosen], [column_values(held.table, j) for j in chosen]
    is_text = len(held.table.shape) == 1
    return (["Text"], [held.table]) if is_text else ([], [])


def _bound(share: float) -> str:
    """An end of an interval: never certain, and on its side of one half."""
    if share == 1:  # as far as draws tell
        return likely(np.nextafter(1.0, 0.0))
    return percent(share) if share < 0.5 == round(share, 2) else likely(share)


def _class_rows(held: HeldOut, rare: dict[str, Any] | None) -> Found:
    found = Answered(held)
    k = None if rare is None else rare["code"]
    probability, bounds = found.of(k)
    rank = bounds[:, 0] if k is None else -bounds[:, 1]
    doubtful = 0 if rare else min(int(found.doubtful.sum()), MOST_DOUBTFUL)
    order = np.argsort(rank, kind="stable") if rare else np.lexsort((rank, ~found.doubtful))
    rows = order[: max(CHECKED, doubtful)]
    about = "the answer" if k is None else quoted(held.classes[k])
    reason = (
        f"The intervals of the probability of {about} reach highest here."
        if rare
        else "Listed are those whose intervals of the probability reach lowest."
    )
    axis = Axis(0.0, 1.0)
    entries = [
        {
            "observed": held.classes[held.y[row]],
            "predicted": held.classes[found.answered[row]],
            "wrong": bool(found.answered[row] != held.y[row]),
            "doubtful": bool(found.doubtful[row]),
            "about": about,
            "text": likely(float(probability[row])),
            "range": " to ".join(_bound(float(each)) for each in bounds[row]),
            "bar": {
                "low": axis.at(bounds[row, 0]),
                "middle": axis.at(probability[row]),
                "high": axis.at(bounds[row, 1]),
            },
        }
        for row in rows.tolist()
    ]
    return reason, rows, entries


def _outcome_rows(held: HeldOut, _: Any) -> Found:
    size = np.abs(held.mean) if held.posterior.link == "log" else 1.0
    rank = np.divide(held.epistemic, size, out=np.zeros(held.n), where=np.asarray(size) > 0)
    rows = np.argsort(-rank, kind="stable")[:CHECKED]
    outer = held.at(rows, lambda x: held.model.predict_interval(x, LEVEL))
    inner = held.at(rows, lambda x: held.model.predict_interval(x, LEVEL, kind="credible"))
    axis = Axis.around(np.concatenate([outer.ravel(), held.y[rows]]))
    entries = [
        {
            "observed": plain(float(held.y[row])),
            "predicted": plain(float(held.mean[row])),
            "wrong": not outer[k, 0] <= held.y[row] <= outer[k, 1],
            "doubtful": True,
            "about": "the value",
            "text": plain(float(held.mean[row])),
            "range": f"{plain(float(outer[k, 0]))} to {plain(float(outer[k, 1]))}",
            "range_of_mean": f"{plain(float(inner[k, 0]))} to {plain(float(inner[k, 1]))}",
            "bar": {
                "low": axis.at(outer[k, 0]),
                "inner_low": axis.at(inner[k, 0]),
                "middle": axis.at(held.mean[row]),
                "inner_high": axis.at(inner[k, 1]),
                "high": axis.at(outer[k, 1]),
                "seen": axis.at(held.y[row]),
            },
        }
        for k, row in enumerate(rows.tolist())
    ]
    return "Listed are those of whose average the model knows least.", rows, entries
