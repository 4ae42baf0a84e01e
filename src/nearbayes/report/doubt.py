"""Doubt: how sure predictions are, and for how many rows they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from nearbayes.diagnostics.imputed_noise import PREDICTION
from nearbayes.report.answered import LEVEL, Answered
from nearbayes.report.axes import Axis
from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import counted, likely, percent, plain, points, quoted, rounded

__all__ = ["doubt"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FAR = 2.0  # standard errors by which a stated probability is off
WIDER = 1.5  # times the usual width
MOST_DRAWN = 120  # rows in the picture
MOST_NAMED = 5  # wide rows
N_PARTS, UNLIKELY = 3, 0.03  # parts of the rows, by prediction; chance of so few values in ranges


def doubt(
    held: HeldOut,
    covered: dict[str, Any],
    rare: dict[str, Any] | None = None,
    warned: bool = False,
    where: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """How sure predictions are, in words and in a picture of rows with their intervals.

    Parameters
    ----------
    held : HeldOut
    covered : dict
        See `held_out_coverage`.
    rare : dict, optional
        The rare class of two, if there is one: see `answers`.
    warned : bool
        Whether the diagnosis warns, so that ranges cannot be relied on without a reserve.
    where : dict, optional
        Above or below which value ("side", "end") of what ("of") ranges hold too few outcomes.
    """
    if held.is_classifier:
        return _of_classes(Answered(held), rare)
    return _of_outcomes(held, covered, warned, where)


def _of_classes(found: Answered, rare: dict[str, Any] | None) -> dict[str, Any]:
    held, doubtful = found.held, found.doubtful
    right = found.answered == held.y
    probability, bounds = found.of(None)
    sd = float(np.sqrt(np.mean(probability * (1 - probability)) / held.n))
    gap = float(right.mean() - probability.mean())
    numbers = {
        "rare": rare is not None,
        "doubtful": int(doubtful.sum()),
        "clear": int((~doubtful).sum()),
        "right_if_clear": rounded(right[~doubtful].mean()) if (~doubtful).any() else None,
        "right_if_doubtful": rounded(right[doubtful].mean()) if doubtful.any() else None,
        "half_width": rounded(np.median(bounds[:, 1] - bounds[:, 0]) / 2),
        "expected": rounded(probability.mean()),
        "happened": rounded(right.mean()),
        "honest": "yes" if abs(gap) <= FAR * sd else "too sure" if gap < 0 else "too careful",
    }
    k = held.focus if len(held.classes) == 2 else None
    about = "the answer" if k is None else quoted(held.classes[k])
    two = len(held.classes) == 2
    words = _class_words(numbers, two) if rare is None else _rare_words(found, rare, numbers)
    return {**numbers, **words, "picture": _class_picture(found, k, about, rare)}


def _class_words(numbers: dict[str, Any], two: bool) -> dict[str, str]:
    doubtful, clear = numbers["doubtful"], numbers["clear"]
    short = f"{counted(clear, 'answer')} {'is' if clear == 1 else 'are'} clear, {doubtful:,} "
    short += f"{'is' if doubtful == 1 else 'are'} doubtful."
    parts = []
    if doubtful and clear:
        parts.append(
            f"Clear answers are right for {likely(numbers['right_if_clear'])} of the rows, "
            f"doubtful ones for {likely(numbers['right_if_doubtful'])}."
        )
    crossed = "reaches across 50 %, so that the other" if two else "is so wide that another"
    parts.append(
        f"Doubtful means that the 90 % interval of the probability {crossed} answer may be the "
        "likelier one. For half of the rows, the probability is known to within "
        f"±{points(numbers['half_width'])}."
    )
    return {"short": short, "long": " ".join([*parts, _honest(numbers)])}


def _rare_words(found: Answered, rare: dict[str, Any], numbers: dict[str, Any]) -> dict[str, str]:
    """For a rare class: which rows may have it, as far as the data tell."""
    _, bounds = found.of(rare["code"])
    possible, is_rare = bounds[:, 1] >= 0.5, found.held.y == rare["code"]
    name, n = quoted(rare["name"]), int(possible.sum())
    return {
        "short": f"For {counted(n, 'row')}, the probability of {name} may be 50 % or more; for "
        f"{found.held.n - n:,} it is below that.",
        "long": f"Of the first, {(is_rare & possible).sum():,} are {name}; of the others, "
        f"{(is_rare & ~possible).sum():,} are {name} all the same. {_honest(numbers)}",
    }


def _honest(numbers: dict[str, Any]) -> str:
    expected = f"it expected to be right for {likely(numbers['expected'])} of the rows and was for "
    expected += likely(numbers["happened"])
    return {
        "yes": f"Its probabilities fit what happened: {expected}.",
        "too sure": f"It is too sure of itself: {expected}. Do not take its probabilities at face "
        "value.",
        "too careful": f"It is more careful than it needs to be: {expected}.",
    }[numbers["honest"]]


def _class_picture(found: Answered, k: int | None, about: str, rare: Any) -> dict[str, Any]:
    """Rows from the lowest to the highest probability, each with its interval.

    With a rare class, the highest ones: nearly all others are near 0.
    """
    held = found.held
    probability, bounds = found.of(k)
    happened = found.answered == held.y if k is None else held.y == k
    order = np.argsort(probability, kind="stable")
    rows = _spaced(order) if rare is None else order[-MOST_DRAWN:]
    axis = Axis(0.0, 1.0)
    return {
        "about": about,
        "highest": rare is not None,
        "rows": len(rows),
        "of": held.n,
        "ticks": [{"at": 100 * share, "text": percent(share)} for share in (0, 0.25, 0.5, 0.75, 1)],
        "half": len(held.classes) == 2,
        "marks": [
            {
                "x": round(100 * (place + 0.5) / len(rows), 2),
                "inner": [100 - axis.at(bounds[row, 1]), 100 - axis.at(bounds[row, 0])],
                "middle": round(100 - axis.at(probability[row]), 2),
                "seen": 0.0 if happened[row] else 100.0,
                "odd": bool(found.doubtful[row]),
            }
            for place, row in enumerate(rows.tolist())
        ],
    }


def _spaced(order: Index) -> Index:
    """At most so many rows as a picture has room for, evenly spaced."""
    few = min(len(order), MOST_DRAWN)
    return order[np.linspace(0, len(order) - 1, few).round().astype(np.intp)]


def _of_outcomes(
    held: HeldOut, covered: dict[str, Any], warned: bool, where: dict[str, Any] | None
) -> dict[str, Any]:
    rows = held.scored
    outer = held.at(rows, lambda x: held.model.predict_interval(x, LEVEL))
    inner = held.at(rows, lambda x: held.model.predict_interval(x, LEVEL, kind="credible"))
    width, known = outer[:, 1] - outer[:, 0], inner[:, 1] - inner[:, 0]
    widest = np.argsort(-width, kind="stable")
    widest = widest[width[widest] > WIDER * np.median(width)]
    at_level = next(each for each in covered["levels"] if each["level"] == LEVEL)
    share, (low, high) = at_level["covered"], at_level["band"]
    numbers = {
        "covered": share,
        "honest": "yes" if low <= share <= high else "too sure" if share < low else "too careful",
        "width": rounded(np.median(width)),
        "width_of_mean": rounded(np.median(known)),
        "wide": len(widest),
        "widest": [str(held.labels[row]) for row in rows[widest[:MOST_NAMED]].tolist()],
        "rows": len(rows),
        "warned": warned,
        "placed": where is not None,
        "there": _there(held.mean[rows], where),
        "uneven": _uneven(
            held.mean[rows], (outer[:, 0] <= held.y[rows]) & (held.y[rows] <= outer[:, 1])
        ),
    }
    picture = _outcome_picture(held, outer, inner)
    return {**numbers, **_outcome_words(numbers, held), "picture": picture}


def _there(predicted: Array, where: dict[str, Any] | None) -> int | None:
    """How many predictions a warning is about, if it is about predictions."""
    if where is None or where["of"] != PREDICTION or where["side"] == "":
        return None
    if where["side"] == "between":
        inside = (predicted >= where["end"]) & (predicted < where["to"])
    else:
        inside = predicted > where["end"] if where["side"] == "above" else predicted < where["end"]
    return int(inside.sum())


def _uneven(predicted: Array, inside: NDArray[np.bool_]) -> dict[str, Any] | None:
    """The third of the rows, by prediction, that ranges hold far too few values of, if any."""
    order = np.argsort(predicted, kind="stable")
    thirds = np.array_split(order, N_PARTS)
    chances = [binom.cdf(inside[part].sum(), len(part), LEVEL) for part in thirds]
    worst = int(np.argmin(chances))
    if chances[worst] * N_PARTS >= UNLIKELY:
        return None
    part = thirds[worst]
    return {
        "covered": rounded(inside[part].mean()),
        "rows": len(part),
        "low": rounded(predicted[part].min()),
        "high": rounded(predicted[part].max()),
    }


def _outcome_words(numbers: dict[str, Any], held: HeldOut) -> dict[str, str]:
    held_by = f"{percent(LEVEL)} ranges hold {likely(numbers['covered'])} of the values"
    short = {
        "yes": f"You can rely on the ranges: {held_by}.",
        "too sure": f"The ranges are too narrow: {held_by}.",
        "too careful": f"The ranges are wider than they need to be: {held_by}.",
    }[numbers["honest"]]
    if numbers["honest"] == "yes" and (numbers["warned"] or numbers["uneven"]):
        short = f"{held_by[:1].upper()}{held_by[1:]} here, but may be wrong: see the warning above."
        if numbers["placed"] or numbers["uneven"]:
            short = f"Not equally sure everywhere: {held_by}, but not at all kinds of rows."
    wide = "All ranges are about equally wide."
    if numbers["wide"]:
        wide = (
            f"For {numbers['wide']:,} of {counted(numbers['rows'], 'row')} the range is more than "
            f"{WIDER:g} times as wide as that."
        )
    uneven = numbers["uneven"]
    parts = [
        f"A value is typically known to ±{plain(numbers['width'] / 2)} (in 9 of 10 cases). {wide} "
        "What rows with the same inputs are on average is known to "
        f"±{plain(numbers['width_of_mean'] / 2)}."
    ]
    if uneven:
        parts.append(
            f"Where predictions are between {plain(uneven['low'])} and {plain(uneven['high'])}, "
            f"ranges hold only {likely(uneven['covered'])} of the values: do not rely on them "
            "there."
        )
    elif numbers["placed"] and numbers["honest"] == "yes":
        said = "The warning above is judged by more rows, those of the fit."
        if numbers["there"] is not None:
            said += f" It is about {numbers['there']:,} of these {numbers['rows']:,} predictions."
        parts.append(said)
    return {"short": short, "long": " ".join(parts)}


def _outcome_picture(held: HeldOut, outer: Array, inner: Array) -> dict[str, Any]:
    rows = held.scored
    order = _spaced(np.argsort(held.mean[rows], kind="stable"))
    axis = Axis.around(np.concatenate([outer[order].ravel(), held.y[rows][order]]))

    def down(value: float) -> float:
        return round(100 - axis.at(value), 2)

    return {
        "about": "",
        "highest": False,
        "rows": len(order),
        "of": held.n,
        "ticks": axis.ticks(5),
        "half": False,
        "marks": [
            {
                "x": round(100 * (place + 0.5) / len(order), 2),
                "outer": [down(outer[k, 1]), down(outer[k, 0])],
                "inner": [down(inner[k, 1]), down(inner[k, 0])],
                "middle": down(held.mean[rows[k]]),
                "seen": down(held.y[rows[k]]),
                "odd": not outer[k, 0] <= held.y[rows[k]] <= outer[k, 1],
            }
            for place, k in enumerate(order.tolist())
        ],
    }
