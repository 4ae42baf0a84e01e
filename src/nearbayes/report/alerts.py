"""Alerts: what a reader must know before anything else on the page."""

from __future__ import annotations

from typing import Any

from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import counted, likely, quoted

__all__ = ["alerts", "deciding_column", "one_column_alerts"]

SEEN = 0.05  # share of rows of the fit from which scores cannot be trusted
FEW_ROWS = 50
NEARLY_ALL, ONE_COLUMN = 0.95, 0.8  # right answers or variance explained; share of importance


def alerts(
    held: HeldOut, quality: dict[str, Any], doubt: dict[str, Any], calibration: dict[str, Any]
) -> list[dict[str, str]]:
    """Warnings and notes, the gravest first: dicts with "kind" and "words"."""
    found = [
        *_seen(held),
        *(_rare(quality) if held.is_classifier else []),
        *_useless(quality, held),
        *_ranges(doubt, held),
        *_uncalibrated(held, calibration),
        *_few(held),
        *_draws(held),
    ]
    return [{"kind": kind, "words": words} for kind, words in found]


def deciding_column(quality: dict[str, Any], importance: dict[str, Any] | None) -> str | None:
    """The column that alone decides nearly all predictions of a very good model, if one does."""
    good = max(quality.get("accuracy", 0.0), quality.get("explained", 0.0))
    if good < NEARLY_ALL or quality["verdict"] != "better" or importance is None:
        return None
    sizes = [abs(each or 0.0) for each in importance["mean"]]
    if len(sizes) < 2 or sizes[0] < ONE_COLUMN * sum(sizes):
        return None
    return str(importance["name"][0])


def one_column_alerts(alone: str | None) -> list[dict[str, str]]:
    """A warning of a column that decides alone: it may be known only after the outcome."""
    if alone is None:
        return []
    words = (
        f"{quoted(alone)} alone decides nearly all predictions. Make sure that it is known before "
        "the outcome is, and not computed from it; otherwise all scores here mean nothing."
    )
    return [{"kind": "warning", "words": words}]


def _seen(held: HeldOut) -> list[tuple[str, str]]:
    if held.share_seen is None:
        return [
            (
                "note",
                "It cannot be told whether the model was fitted to some of these rows. If it was, "
                "the scores below are too good.",
            )
        ]
    if held.share_seen < SEEN:
        return []
    share = "These rows were" if held.share_seen > 0.99 else f"{likely(held.share_seen)} were"
    return [
        (
            "warning",
            f"{share} used to fit the model. The scores below are too good, and new rows will be "
            "predicted worse: use rows that the model has not seen.",
        )
    ]


def _rare(quality: dict[str, Any]) -> list[tuple[str, str]]:
    rare = quality["rare"]
    if rare is None:
        return []
    name, other = quoted(rare["name"]), quoted(quality["constant"]["class"])
    rows = f"Only {rare['rows']:,} of {counted(quality['rows'], 'row')} ({likely(rare['share'])})"
    start = f"{rows} {'is' if rare['rows'] == 1 else 'are'} {name}"
    if quality["constant"]["same"]:
        return [
            (
                "warning",
                f"{start}, and the model never answers {name}: its answers are the same as always "
                f"answering {other}. Use its probabilities, not its answers.",
            )
        ]
    return [
        (
            "warning",
            f"{start}. A high share of right answers means nothing here: always answering {other} "
            f"is right for {likely(quality['constant']['share'])}.",
        )
    ]


def _useless(quality: dict[str, Any], held: HeldOut) -> list[tuple[str, str]]:
    if quality["verdict"] == "better" or (held.is_classifier and quality["rare"]):
        return []
    what = "always giving the same answer" if held.is_classifier else "always guessing the middle"
    how = "worse" if quality["verdict"] == "worse" else "not clearly better"
    return [("warning", f"On these rows, the model is {how} than {what}.")]


def _ranges(doubt: dict[str, Any], held: HeldOut) -> list[tuple[str, str]]:
    if doubt["honest"] != "too sure":
        return []
    what = (
        "Its probabilities are too extreme" if held.is_classifier else "Its ranges are too narrow"
    )
    return [
        (
            "warning",
            f"{what}: on these rows the model was more sure of itself than it was right. Rows may "
            "differ from those of the fit.",
        )
    ]


def _uncalibrated(held: HeldOut, calibration: dict[str, Any]) -> list[tuple[str, str]]:
    if calibration["calibrated"] or not held.posterior.chunks.traits.calibrate:
        return []
    return [
        (
            "note",
            "Intervals were not calibrated by simulation. For a flexible model such as this, they "
            "are probably too narrow.",
        )
    ]


def _few(held: HeldOut) -> list[tuple[str, str]]:
    if held.n >= FEW_ROWS:
        return []
    return [("note", f"There are only {held.n} rows to judge by: all shares below are rough.")]


def _draws(held: HeldOut) -> list[tuple[str, str]]:
    posterior = held.posterior
    found = []
    if posterior.failed:
        found.append(("note", f"{counted(len(posterior.failed), 'draw')} failed: see Diagnostics."))
    if posterior.provenance.interrupted:
        made = f"{len(posterior)} of {counted(posterior.provenance.n_draws, 'draw')}"
        found.append(("note", f"The fit was interrupted: {made} were made."))
    return found
