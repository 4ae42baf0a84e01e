"""Drivers: in words, which columns predictions depend on, and how sure that is."""

from __future__ import annotations

from typing import Any

from nearbayes.report.axes import Axis
from nearbayes.report.heldout import LEVELS
from nearbayes.report.rounding import likely, listed, plain, quoted

__all__ = ["drivers"]

AT = LEVELS.index(0.9)
MOST_DRAWN = 8
MOST_NAMED = 3
MOST_UNSURE = 3
SLIGHT = 0.1  # of the largest change
SURELY, MAYBE = 0.9, 0.1  # probability of being the most important


def drivers(
    importance: dict[str, Any] | None, effects: dict[str, Any] | None, outcome: str
) -> dict[str, Any] | None:
    """The ranking of columns in words and as bars; None if importances are not known.

    Parameters
    ----------
    importance, effects : dict or None
        See `importance` and `effects`.
    outcome : str
        What the predictions are of, for sentences.
    """
    if importance is None or not importance["name"]:
        return None
    matters = _matters(importance)
    return {
        "short": _short(importance, matters),
        "long": " ".join(
            [*_directions(effects, importance, matters, outcome), *_unsure(importance, matters)]
        ),
        "rows": _bars(importance, matters),
        "of": importance["of"],
    }


def _matters(importance: dict[str, Any]) -> list[bool]:
    """Whether the interval of each importance excludes 0."""
    bounds = importance["intervals"][AT]
    return [
        low is not None and high is not None and (low > 0 or high < 0)
        for low, high in zip(bounds["lower"], bounds["upper"], strict=True)
    ]


def _short(importance: dict[str, Any], matters: list[bool]) -> str:
    if not any(matters):
        return "No single column clearly matters: all intervals of importances contain 0."
    names, chances = importance["name"], importance["largest"]
    top = max(range(len(names)), key=lambda k: chances[k])
    if chances[top] >= SURELY:
        return f"{quoted(names[top])} matters most (probability {likely(chances[top])})."
    rivals = sorted((k for k in range(len(names)) if chances[k] > MAYBE), key=lambda k: -chances[k])
    named = [f"{quoted(names[k])} ({likely(chances[k])})" for k in rivals[:MOST_NAMED]]
    if len(named) < 2:
        return f"{quoted(names[top])} probably matters most ({likely(chances[top])})."
    return f"It is open which column matters most: with these probabilities, {listed(named)}."


def _directions(
    effects: dict[str, Any] | None,
    importance: dict[str, Any],
    matters: list[bool],
    outcome: str,
) -> list[str]:
    """How the average prediction changes along the columns that matter, or along the first."""
    if effects is None:
        return []
    chosen = {
        place for place, sure in zip(importance["feature"], matters, strict=True) if sure
    } or {importance["feature"][0]}
    shown = [each for each in effects["features"] if each["feature"] in chosen][:MOST_NAMED]
    most = max((abs(_change(each)) for each in shown), default=0.0)
    return [_direction(each, outcome, SLIGHT * most) for each in shown]


def _ends(feature: dict[str, Any]) -> tuple[int, int]:
    """Places of the first and ninth decile of a number, or of the extremes of categories."""
    mean, at = feature["curves"][0]["mean"], feature["at"]
    if not feature["numeric"]:
        low, high = (pick(range(len(at)), key=lambda k: mean[k]) for pick in (min, max))
        return low, high
    low, high = (
        min(range(len(at)), key=lambda k: abs(at[k] - feature["deciles"][end])) for end in (0, -1)
    )
    return low, high


def _change(feature: dict[str, Any]) -> float:
    low, high = _ends(feature)
    mean = feature["curves"][0]["mean"]
    return float(mean[high] - mean[low])


def _direction(feature: dict[str, Any], outcome: str, slight: float) -> str:
    """How the average prediction changes along a column."""
    mean, at = feature["curves"][0]["mean"], feature["at"]
    low, high = _ends(feature)
    shown = [(plain if feature["numeric"] else quoted)(at[k]) for k in (low, high)]
    said = likely if outcome.startswith("probability") else plain
    values = [said(mean[k]) for k in (low, high)]
    if values[0] == values[1] or abs(_change(feature)) <= slight:
        return f"The average {outcome} hardly changes with {quoted(feature['name'])}."
    way = "rises" if mean[high] > mean[low] else "falls"
    return (
        f"The average {outcome} {way} from {values[0]} where {quoted(feature['name'])} is "
        f"{shown[0]} to {values[1]} where it is {shown[1]}."
    )


def _unsure(importance: dict[str, Any], matters: list[bool]) -> list[str]:
    """Columns that may not matter at all."""
    unsure = [
        quoted(name) for name, sure in zip(importance["name"], matters, strict=True) if not sure
    ]
    if not any(matters):
        return ["Columns that say the same share the credit, so that none seems to matter alone."]
    if not unsure:
        return []
    return [f"{listed(unsure, MOST_UNSURE)} may not matter at all."]


def _bars(importance: dict[str, Any], matters: list[bool]) -> list[dict[str, Any]]:
    """Importances with intervals on one axis that holds 0, in percent of the picture."""
    bounds, mean = importance["intervals"][AT], importance["mean"]
    shown = range(min(MOST_DRAWN, len(mean)))
    ends = [value for k in shown for value in (bounds["lower"][k], bounds["upper"][k], mean[k])]
    axis = Axis.around([0.0, *(value for value in ends if value is not None)])

    def at(value: float | None, instead: float) -> float:
        return axis.at(instead if value is None else value)

    return [
        {
            "name": importance["name"][k],
            "zero": axis.at(0.0),
            "low": at(bounds["lower"][k], axis.low),
            "middle": at(mean[k], 0.0),
            "high": at(bounds["upper"][k], axis.high),
            "largest": likely(importance["largest"][k]),
            "matters": matters[k],
        }
        for k in shown
    ]
