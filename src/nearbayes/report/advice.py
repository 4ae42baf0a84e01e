"""Advice: what to do with the results, and what not to conclude from them."""

from __future__ import annotations

from typing import Any

from nearbayes.report.alerts import SEEN
from nearbayes.report.heldout import HeldOut
from nearbayes.report.more_rows import LITTLE, MUCH
from nearbayes.report.rounding import counted, likely, listed, quoted
from nearbayes.report.trust import warnings_of

__all__ = ["not_to_conclude", "to_do"]

RELIABLE = 0.95  # share of right answers from which clear ones may pass
NEARLY_ALL = 0.97  # share of right answers from which nobody needs to predict better


def to_do(
    held: HeldOut,
    quality: dict[str, Any],
    doubt: dict[str, Any],
    more: dict[str, Any],
    trusted: dict[str, Any],
    alone: str | None = None,
) -> list[str]:
    """Some things to do, the most important first; `alone` is a column that decides all."""
    if held.share_seen is not None and held.share_seen >= SEEN:
        return ["Make this report again with rows that were not used in the fit."]
    own = (
        _class_advice(quality, doubt)
        if held.is_classifier
        else _outcome_advice(quality, doubt, held)
    )
    if quality["verdict"] == "better":
        own += [line["advice"] for line in warnings_of(trusted)]
    if alone is not None:
        own.insert(
            0,
            f"Find out whether {quoted(alone)} is known before the outcome is; if not, "
            "leave it out and fit again.",
        )
    return [*own, *([] if quality.get("accuracy", 0.0) >= NEARLY_ALL else _about_rows(more))]


def _class_advice(quality: dict[str, Any], doubt: dict[str, Any]) -> list[str]:
    rare = quality["rare"]
    if rare is not None:
        name = quoted(rare["name"])
        return [
            f"Decide by the probability of {name}, not by the answer: look at all rows above a "
            "threshold that depends on what a missed one and a false alarm cost.",
            f"Expect many false alarms at any threshold, and collect more {name} rows.",
        ]
    if quality["verdict"] != "better":
        return ["Do not act on these answers: look for columns that say more."]
    found = []
    if doubt["doubtful"]:
        start = f"Have a person check the {counted(doubt['doubtful'], 'doubtful row')}."
        if (doubt["right_if_clear"] or 0) >= RELIABLE:
            share = likely(doubt["right_if_clear"])
            start = f"{start[:-1]}, and let clear ones pass if {share} right answers are enough."
        found.append(start)
    found.append(
        "If one kind of mistake costs more than the other, decide by the probability and its "
        "interval, not by the most likely answer."
    )
    return found


def _named(doubt: dict[str, Any], held: HeldOut) -> str:
    """Rows with a wide range, by their names if they are few."""
    if doubt["wide"] > len(doubt["widest"]):
        return counted(doubt["wide"], "row")
    return f"{held.rows.called.lower()} {listed(doubt['widest'])}"


def _outcome_advice(quality: dict[str, Any], doubt: dict[str, Any], held: HeldOut) -> list[str]:
    if quality["verdict"] != "better":
        return ["Do not act on these predictions: look for columns that say more."]
    found = ["Plan with the range of a row, not with its single number."]
    if doubt["warned"]:
        but = (
            "not with ranges that the warning above is about"
            if doubt["placed"]
            else ("with care: see the warning above")
        )
        found = [f"{found[0][:-1]}, but {but}."]
    if doubt["honest"] == "too sure":
        found = [
            "Use wider ranges, such as those for 95 %, until you know why they miss so often.",
        ]
    if doubt["wide"]:
        found.append(
            "Check the rows listed below, and those whose range is more than 1.5 times as wide as "
            f"usual: here {_named(doubt, held)}."
        )
    return found


def _about_rows(more: dict[str, Any]) -> list[str]:
    if more["share"] >= MUCH:
        return ["Collect more rows: much of the uncertainty comes from having few."]
    if more["share"] < LITTLE:
        return ["To predict better, look for columns that say more. More rows would help little."]
    return []


def not_to_conclude(
    held: HeldOut, target: str, doubt: dict[str, Any], alone: str | None = None
) -> list[str]:
    """Mistakes that readers make; `alone` is a column that decides all."""
    first = (
        "A probability of 80 % is not a promise: of such rows, one in five turns out otherwise, "
        "however narrow the interval is."
        if held.is_classifier
        else "The range for a single value and the range for an average are different things: "
        "single values scatter much more."
    )
    suspected = (
        []
        if alone is None
        else [
            f"Scores this good do not show that the model will predict {quoted(target)}: if "
            f"{quoted(alone)} is known only after the outcome, it cannot."
        ]
    )
    clear = doubt.get("right_if_clear")
    if clear is not None and doubt["doubtful"] and not doubt["rare"] and clear < RELIABLE:
        wrong = likely(1 - clear)
        suspected.append(f"Clear does not mean right: {wrong} of the clear answers are wrong.")
    if doubt.get("warned"):
        what = "hold 90 % everywhere" if doubt["placed"] else "are known to hold 90 %"
        suspected.append(f"Do not take it that 90 % ranges {what}: see the warning above.")
    return [
        *suspected,
        first,
        f"What drives the predictions need not cause {quoted(target)}: changing a column need not "
        "change the outcome.",
        "Nothing here is known for rows unlike those of the fit, such as other places, times or "
        "ranges of values.",
    ]
