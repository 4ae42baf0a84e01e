"""Findings: what a fit found, in three sentences for people who know no statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from nearbayes.cli.modelfile import ModelFile

__all__ = ["findings"]

SURE = 0.9
COVERAGE = 0.9
HARDLY_CHANCE = 1e-3
NO_ERROR, ALL_RIGHT = 0.01, 0.995  # of the error of the mean; of the rows
TOO_GOOD = (
    "That is nearly without error: make sure that no column is computed from the outcome, or known "
    "only after it (--drop leaves a column out)."
)


def findings(made: ModelFile) -> list[str]:
    """How good predictions are, how sure they are, and where not.

    Judged at the held-out rows, against always saying what is most frequent or the mean.
    """
    if made.held_out is None:
        return [
            "No rows were held out, so nobody knows how well the model predicts.",
            "Give it rows with known outcomes: nearbayes report MODEL --data FILE.",
        ]
    X, y = made.schema.labelled(made.held_out)
    if made.schema.task == "classification":
        return _of_classes(made, X, y)
    return _of_numbers(made, X, y)


def _of_classes(made: ModelFile, X: pd.DataFrame, y: NDArray[Any]) -> list[str]:
    model, n = made.model, len(y)
    probability = model.predict_proba(X)
    right = model.classes_[probability.argmax(axis=1)] == y
    names, times = np.unique(y, return_counts=True)
    usual, share = names[times.argmax()], times.max() / n
    compared = "better than" if right.mean() > share else "no better than"
    sure = probability.max(axis=1) >= SURE
    open_rows = _open(model.predict_interval(X, COVERAGE), probability)
    return [
        f"Of {n} rows that the fit had not seen, the model is right for {_percent(right.mean())}"
        f", {compared} always saying {str(usual)!r} ({_percent(share)}).",
        f"Where it is at least {_percent(SURE)} sure, which is so for {_percent(sure.mean())} of "
        f"them, it is right for {_percent(right[sure].mean())}."
        if sure.any()
        else f"It is nowhere {_percent(SURE)} sure of a class.",
        TOO_GOOD if right.mean() >= ALL_RIGHT and share < ALL_RIGHT else _to_check(open_rows),
    ]


def _to_check(open_rows: int) -> str:
    """Say how many rows a person should check.

    Examples
    --------
    >>> _to_check(0)
    'For none of them do the data leave open which class is the likeliest.'
    """
    if open_rows == 0:
        return "For none of them do the data leave open which class is the likeliest."
    return (
        f"For {open_rows} of them the data leave open which class is the likeliest: have a look "
        "at these by hand."
    )


def _open(bounds: NDArray[np.float64], probability: NDArray[np.float64]) -> int:
    """Rows where another class may be as likely as the predicted one, by their intervals."""
    rows, first = np.arange(len(probability)), probability.argmax(axis=1)
    others = bounds[:, :, 1].copy()
    others[rows, first] = 0.0
    return int((others.max(axis=1) > bounds[rows, first, 0]).sum())


def _of_numbers(made: ModelFile, X: pd.DataFrame, y: NDArray[Any]) -> list[str]:
    model, target, n = made.model, made.schema.target, len(y)
    mean, sd = model.predict(X, return_std=True)
    bounds = model.predict_interval(X, COVERAGE)
    inside = int(((bounds[:, 0] <= y) & (y <= bounds[:, 1])).sum())
    missed, usual = np.abs(y - mean).mean(), np.abs(y - y.mean()).mean()
    compared = "less than" if missed < usual else "no less than"
    width = _number(np.median(bounds[:, 1] - bounds[:, 0]))
    draws = model.posterior_.of_predictions(model.posterior_predictions(X))
    share = float(np.mean(draws.adjusted("inflated").var(axis=0)) / np.mean(sd**2))
    return [
        f"Of {n} rows that the fit had not seen, {target} was missed by {_number(missed)} on "
        f"average, {compared} by always saying the mean ({_number(usual)}).",
        f"{inside} of these {n} values are inside their {_percent(COVERAGE)} intervals, which are "
        f"typically {width} wide{_warning(inside, n)}.",
        TOO_GOOD
        if missed < NO_ERROR * usual
        else f"With many more rows like these, {_percent(min(share, 1.0))} of the uncertainty "
        "would go away; the rest is in what the columns do not say.",
    ]


def _warning(inside: int, n: int) -> str:
    """Say so if fewer values are in their intervals than chance explains."""
    if binom.cdf(inside, n, COVERAGE) >= HARDLY_CHANCE:
        return ""
    return ": too few, so do not rely on them (are the held-out rows unlike the others?)"


def _percent(share: float) -> str:
    """A share for people, who read 99.7 % as all.

    Examples
    --------
    >>> _percent(0.912), _percent(0.9996), _percent(1.0), _percent(0.0004)
    ('91 %', 'nearly 100 %', '100 %', 'less than 1 %')
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.995 <= share < 1:
        return "nearly 100 %"
    return f"{share:.0%}".replace("%", " %")


def _number(value: float) -> str:
    """A number with two or three digits that count.

    Examples
    --------
    >>> _number(1234.56), _number(0.01234), _number(2.0)
    ('1,230', '0.0123', '2')
    """
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    digits = 2 - int(np.floor(np.log10(abs(value))))
    rounded = round(float(value), digits)
    if not -6 < digits < 9:
        return f"{value:.3g}"
    text = f"{rounded:,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
