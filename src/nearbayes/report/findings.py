"""Findings: the questions that a reader has, each with a short and a longer answer."""

from __future__ import annotations

from typing import Any

from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import counted, listed, quoted

__all__ = ["findings"]

MOST_NAMED = 5


def findings(held: HeldOut, found: dict[str, Any]) -> list[dict[str, str]]:
    """Questions in the order of a reader's interest: dicts with key, question, short and long.

    Parameters
    ----------
    held : HeldOut
    found : dict
        The sections "quality", "doubt", "check", "drivers", "trust" and "more", and "alone", the
        column that decides alone, if one does.
    """
    quality, sure = found["quality"], found["doubt"]
    how_good = "How often is it right?" if held.is_classifier else "How far off is it?"
    listing = [
        _finding("quality", how_good, quality),
        _finding("doubt", "How sure is it?", sure),
        _finding("check", "Which cases should a person check?", _check(held, found)),
    ]
    if found["drivers"] is not None:
        listing.append(_finding("drivers", "What drives the predictions?", found["drivers"]))
    trusted = _trusted(found["trust"], found["alone"])
    listing.append(_finding("trust", "Can its intervals be trusted?", trusted))
    listing.append(_finding("more", "Would more data help?", found["more"]))
    return listing


def _finding(key: str, question: str, words: dict[str, Any]) -> dict[str, str]:
    return {"key": key, "question": question, "short": words["short"], "long": words["long"]}


def _check(held: HeldOut, found: dict[str, Any]) -> dict[str, str]:
    check, sure, rare = found["check"], found["doubt"], found["quality"].get("rare")
    named = [str(each["row"]) for each in check["rows"][:MOST_NAMED]]
    first = f"{check['called']} {listed(named)} come first."
    if not held.is_classifier:
        short = f"The {len(check['rows'])} of {counted(held.n, 'row')} that the model knows least."
    elif rare:
        short = f"Those with the highest possible probability of “{rare['name']}”."
    elif sure["doubtful"]:
        short = f"The {counted(sure['doubtful'], 'doubtful row')}."
    else:
        short = "None has to be: no row is doubtful. The least sure are listed."
    listed_below = "They are listed below with their intervals."
    doubtful = 0 if rare else sure.get("doubtful", 0)
    if doubtful > len(check["rows"]):
        listed_below = (
            f"The first {len(check['rows'])} are listed below with their intervals; "
            "nearbayes predict (predict_interval in Python) gives those of all rows."
        )
    elif doubtful:
        others = len(check["rows"]) - doubtful
        listed_below = "All are listed below with their intervals"
        listed_below += f", and the {others} least sure of the others." if others else "."
    counting = " Line 1 of the file is its header." if by_line(check) else ""
    return {"short": short, "long": f"{first}{counting} {listed_below}{_wrong(check)}"}


def _wrong(check: dict[str, Any]) -> str:
    """Wrong answers that a check of these rows would not find."""
    missed = check["wrong_elsewhere"]
    if not missed:
        return ""
    named = f" ({check['called'].lower()} {listed(missed)})"
    which = "that is" if len(missed) == 1 else "that are"
    return f" {counted(len(missed), 'answer')} {which} not listed turned out wrong{named}."


def by_line(check: dict[str, Any]) -> bool:
    """Whether rows are named by their lines in a file."""
    return bool(check["called"] == "Line")


def _trusted(trust: dict[str, Any], alone: str | None) -> dict[str, str]:
    """What the diagnosis says of the intervals, in a few words."""
    warnings = [line for line in trust["lines"] if line["status"] == "warning"]
    if warnings:
        return {"short": "Only with care.", "long": warnings[0]["words"]}
    checks = sum(line["status"] == "good" for line in trust["lines"])
    if not checks:
        return {"short": "That was not checked.", "long": "A diagnosis would tell."}
    words = f"None of {counted(checks, 'check')} of the draws and of the model warns."
    if alone is None:
        return {"short": "Nothing speaks against it.", "long": words}
    return {
        "short": f"Only if {quoted(alone)} may be used.",
        "long": f"{words} But checks cannot tell whether {quoted(alone)} is known before the "
        "outcome; if not, nothing on this page holds.",
    }
