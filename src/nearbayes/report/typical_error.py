"""Typical error: how far predictions are off, against one guess for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.report.axes import Axis
from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import likely, plain, rounded, standard_error

__all__ = ["typical_error"]

Array = NDArray[np.float64]

CLEAR = 2.0  # standard errors that a clear difference must exceed
MOST_POINTS = 300


def typical_error(held: HeldOut) -> dict[str, Any] | None:
    """Errors of the predictions and of the best constant guess; None for classes.

    Half of the errors are smaller than the typical (median) error, nine in ten smaller than the
    large one. The constant guess is the median of these very rows, which favours it.
    """
    if held.is_classifier:
        return None
    errors, guess = np.abs(held.y - held.mean), float(np.median(held.y))
    constant = np.abs(held.y - guess)
    found: dict[str, Any] = {
        "typical": rounded(np.median(errors)),
        "large": rounded(np.quantile(errors, 0.9)),
        "mean": rounded(errors.mean()),
        "guess": rounded(guess),
        "typical_of_guess": rounded(np.median(constant)),
        "mean_of_guess": rounded(constant.mean()),
        "explained": rounded(_explained(held)),
        "verdict": _verdict(errors - constant),
        "picture": _picture(held),
    }
    return {**found, **_words(found, float(np.median(errors)), float(np.quantile(errors, 0.9)))}


def _explained(held: HeldOut) -> float:
    """Share of the variance of the outcome that predictions explain (R squared)."""
    total = float(np.var(held.y))
    return 1 - float(np.mean((held.y - held.mean) ** 2)) / total if total > 0 else 0.0


def _verdict(gaps: Array) -> str:
    """Whether errors are smaller than those of the guess, compared row by row."""
    mean, error = float(gaps.mean()), standard_error(gaps)
    if not abs(mean) > CLEAR * error:
        return "unclear"
    return "better" if mean < 0 else "worse"


def _words(found: dict[str, Any], typical: float, large: float) -> dict[str, str]:
    guess = (
        f"Always guessing the middle value, {plain(found['guess'])}, would be off by "
        f"{plain(found['typical_of_guess'])}"
    )
    ends = {
        "better": ".",
        "unclear": ": the model is not clearly better than that.",
        "worse": ": the model is worse than that.",
    }
    usual = found["typical_of_guess"]
    smaller = 1 - found["typical"] / usual if usual else 0.0
    gain = f" The typical error is {likely(smaller)} smaller." if smaller > 0 else ""
    return {
        "short": f"Typically off by {plain(typical)}; nine in ten are off by less than "
        f"{plain(large)}.",
        "long": f"{guess}{ends[found['verdict']]}{gain if found['verdict'] == 'better' else ''}",
    }


def _picture(held: HeldOut) -> dict[str, Any]:
    """Observed against predicted values, in percent of the picture."""
    rows = held.shown[:: -(-len(held.shown) // MOST_POINTS)]
    predicted, observed = held.mean[rows], held.y[rows]
    axis = Axis.around(np.concatenate([predicted, observed]))
    return {
        "ticks": axis.ticks(),
        "points": [
            {"x": axis.at(x), "y": round(100 - axis.at(y), 2)}
            for x, y in zip(predicted, observed, strict=True)
        ],
        "rows": len(rows),
    }
