"""Trust: whether the intervals can be trusted, from the diagnosis, with a picture per question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearbayes.diagnostics import enough_draws
from nearbayes.diagnostics.diagnose import FEWEST_DRAWS
from nearbayes.diagnostics.diagnosis import Diagnosis
from nearbayes.report.heldout import HeldOut
from nearbayes.report.small_pictures import small_picture

__all__ = ["doubtful_place", "trust", "trust_alerts", "warnings_of"]

SHOWN = {"good": "fine", "warning": "warning", "forecast": "forecast"}


def trust(held: HeldOut, diagnosis: Diagnosis | Mapping[str, Any] | None) -> dict[str, Any]:
    """The verdict, and the answer to every question with its picture.

    Parameters
    ----------
    held : HeldOut
    diagnosis : Diagnosis or its `to_dict`, optional
        With the rows of the fit, as ``model.diagnose(X, y)`` gives. Without it, the questions that
        draws answer alone.

    Returns
    -------
    dict with "verdict", "warns", "lines" (question, name, status, shown, number, words, advice,
    picture) and "open", the questions without an answer with the reason
    """
    found = _found(held, diagnosis)
    lines = found["lines"]
    return {
        "verdict": found["verdict"],
        "warns": found["warns"],
        "lines": [_line(each) for each in lines if each["status"] in SHOWN],
        "open": [
            {"question": each["question"], "words": each["words"]}
            for each in lines
            if each["status"] not in SHOWN
        ],
    }


def trust_alerts(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """A note for the first screen where the diagnosis warns; few draws have one of their own."""
    lines = warnings_of(found)
    if not lines:
        return []
    more = f" ({len(lines)} warnings in all)" if len(lines) > 1 else ""
    first = lines[0]["words"]
    if lines[0].get("where"):  # the first sentence says where, and the others why
        first = re.split(r"(?<=[.!?])\s", first)[0]
    said = f"Intervals may be wrong. {first} See “Can its intervals be trusted?” below{more}."
    return [{"kind": "warning", "words": said}]


def doubtful_place(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where ranges are in doubt, if the diagnosis says so."""
    return next((line["where"] for line in warnings_of(found) if line.get("where")), None)


def warnings_of(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lines of the diagnosis that warn of the model, not of few draws."""
    warn = [line for line in found["lines"] if line["status"] == "warning"]
    return [line for line in warn if line["name"] != enough_draws.NAME]


def _found(held: HeldOut, diagnosis: Diagnosis | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if isinstance(diagnosis, Mapping):
        return diagnosis
    if diagnosis is not None:
        return diagnosis.to_dict(pictures=True)
    if len(held.posterior) < FEWEST_DRAWS:
        verdict = f"Not checked: a diagnosis needs at least {FEWEST_DRAWS} draws."
        return {"verdict": verdict, "warns": False, "lines": []}
    alone: dict[str, Any] = held.posterior.diagnose().to_dict(pictures=True)
    return alone


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    picture = line.get("picture")
    return {
        **{name: line[name] for name in ("name", "question", "status", "words", "advice")},
        "where": line.get("where"),
        "shown": SHOWN[line["status"]],
        "picture": None if picture is None else small_picture(picture),
    }
