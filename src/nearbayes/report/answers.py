"""Answers: how often the most likely class is right, against always answering the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest
from sklearn.metrics import roc_auc_score

from nearbayes.report.heldout import MOST_CLASSES, HeldOut
from nearbayes.report.rounding import counted, likely, listed, quoted, rounded

__all__ = ["answers"]

RARE = 0.1  # share of the rarer of two classes below which accuracy says nothing
SURE = 0.9  # coverage of the interval of the accuracy
WIDE = 0.04  # width of that interval from which it is told
CLEAR = 0.05  # p value of a comparison, row by row, with always answering the same
LOOKED_AT = 0.05  # share of the rows with the highest probabilities that might be looked at
SHADES = 9
FEW_CLASSES = 4  # of each of which it is said how often it is found


def answers(held: HeldOut) -> dict[str, Any] | None:
    """Accuracy, the constant answer, and what comes out for each class; None for regression.

    Returns
    -------
    dict with "right", "rows", "accuracy", "interval", "constant", "verdict", "rare", "classes",
    "confusion" and words for the first screen: "short" and "long"
    """
    if not held.is_classifier:
        return None
    answered = held.mean.argmax(axis=1)
    right, n = answered == held.y, held.n
    counts = np.bincount(held.y, minlength=len(held.classes))
    usual = int(counts.argmax())
    interval = binomtest(int(right.sum()), n).proportion_ci(SURE, method="wilson")
    found: dict[str, Any] = {
        "rows": n,
        "right": int(right.sum()),
        "accuracy": rounded(right.mean()),
        "interval": rounded([interval.low, interval.high]),
        "constant": {
            "class": held.classes[usual],
            "right": int(counts[usual]),
            "share": rounded(counts[usual] / n),
            "same": bool((answered == usual).all()),
        },
        "verdict": _verdict(right, held.y == usual),
        "rare": _rare(held, answered, counts),
        "classes": [_of_class(held, answered, k) for k in _shown(counts)],
        "confusion": _confusion(held, answered),
    }
    short, long = (_rare_words if found["rare"] else _words)(found)
    return {**found, "short": short, "long": long}


def _verdict(right: NDArray[np.bool_], constant: NDArray[np.bool_]) -> str:
    """Whether answers are better than always the same one: the sign test of rows that differ."""
    ours, theirs = int((right & ~constant).sum()), int((constant & ~right).sum())
    if ours + theirs == 0:
        return "same"
    if binom.sf(max(ours, theirs) - 1, ours + theirs, 0.5) > CLEAR:
        return "unclear"
    return "better" if ours > theirs else "worse"


def _shown(counts: NDArray[np.intp]) -> list[int]:
    """Classes in their order; of many, the most frequent ones."""
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CLASSES].tolist())


def _of_class(held: HeldOut, answered: NDArray[np.intp], k: int) -> dict[str, Any]:
    """How often a class occurs, is found, and is right where it is answered."""
    is_k, says_k = held.y == k, answered == k
    hits = int((is_k & says_k).sum())
    both = 0 < is_k.sum() < held.n
    return {
        "name": held.classes[k],
        "rows": int(is_k.sum()),
        "share": rounded(is_k.mean()),
        "expected": rounded(held.mean[:, k].mean()),
        "answered": int(says_k.sum()),
        "hits": hits,
        "found": rounded(hits / is_k.sum()) if is_k.any() else None,
        "precise": rounded(hits / says_k.sum()) if says_k.any() else None,
        "auc": rounded(roc_auc_score(is_k, held.mean[:, k])) if both else None,
    }


def _confusion(held: HeldOut, answered: NDArray[np.intp]) -> dict[str, Any] | None:
    """Rows by observed class and answer, and how dark each cell is; None for many classes."""
    n_classes = len(held.classes)
    if n_classes > MOST_CLASSES:
        return None
    counts = np.zeros((n_classes, n_classes), dtype=np.intp)
    np.add.at(counts, (held.y, answered), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return {
        "classes": held.classes,
        "counts": counts.tolist(),
        "shades": np.ceil(SHADES * shares).astype(int).tolist(),
    }


def _rare(
    held: HeldOut, answered: NDArray[np.intp], counts: NDArray[np.intp]
) -> dict[str, Any] | None:
    """The rarer of two classes, if it is so rare that accuracy says nothing."""
    if len(held.classes) != 2 or not 0 < counts.min() < RARE * held.n:
        return None
    k = int(counts.argmin())
    looked = max(1, round(LOOKED_AT * held.n))
    highest = np.argsort(-held.mean[:, k], kind="stable")[:looked]
    return _of_class(held, answered, k) | {
        "code": k,
        "looked_at": looked,
        "among_them": int((held.y[highest] == k).sum()),
        "largest": rounded(held.mean[:, k].max()),
    }


def _words(found: dict[str, Any]) -> tuple[str, str]:
    """The answer in a few words, and its explanation."""
    constant = found["constant"]
    guess = f"Always answering {quoted(constant['class'])}"
    share = likely(constant["share"])
    said = {
        "better": f"{guess} would be right for {share}.",
        "unclear": f"{guess} would be right for {share}: the model is not clearly better.",
        "worse": f"{guess} would be right for {share}: the model is worse.",
        "same": f"{guess} is right as often: the model adds nothing.",
    }
    parts = [said[found["verdict"]]]
    low, high = found["interval"]
    if high - low > WIDE:
        parts.append(
            f"With only {counted(found['rows'], 'row')} to judge by, the share of right answers "
            f"may be {likely(low)} to {likely(high)} in the long run (90 % interval)."
        )
    if found["verdict"] == "better" and len(found["classes"]) <= FEW_CLASSES:
        shares = [
            f"{likely(each['found'])} of the {quoted(each['name'])} rows"
            for each in found["classes"]
            if each["found"] is not None
        ]
        parts.append(f"It finds {listed(shares)}.")
    right = f"{found['right']:,} of {counted(found['rows'], 'row')}"
    return f"Right for {likely(found['accuracy'])} of the rows ({right}).", " ".join(parts)


def _rare_words(found: dict[str, Any]) -> tuple[str, str]:
    """The same for a rare class, where always answering the other one is nearly always right."""
    rare, constant = found["rare"], found["constant"]
    name, other = quoted(rare["name"]), quoted(constant["class"])
    short = f"Finds {rare['hits']} of the {rare['rows']} {name} rows."
    if rare["answered"] == 0:
        short = f"It never answers {name}, so it finds none of the {rare['rows']} such rows."
    elif rare["answered"] > rare["hits"]:
        wrong = rare["answered"] - rare["hits"]
        short = f"{short[:-1]}, with {counted(wrong, 'false alarm')}."
    share = f"{rare['among_them']} of {rare['rows']}"
    return short, (
        f"It is right for {likely(found['accuracy'])} of all rows, but that says little: always "
        f"answering {other} is right for {likely(constant['share'])}, because only "
        f"{likely(rare['share'])} are {name}. Use the probabilities: among the "
        f"{counted(rare['looked_at'], 'row')} with the highest probability of {name} "
        f"({likely(rare['looked_at'] / found['rows'])} of all), there are {share} {name} rows."
    )
