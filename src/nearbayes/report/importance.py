"""Importance of features with posterior uncertainty, and correlations of importances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.protocols import Rng
from nearbayes.draws.functional import Functional
from nearbayes.inspection import importance as inspected
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.rounding import by_level, counted, rounded

__all__ = ["importance"]

MOST_SHOWN = 15
INTERVALS = {
    "calibrated": "Intervals are calibrated on simulated data sets.",
    "inflated": "Intervals are not calibrated, only widened for the number of refits.",
    "raw": "Intervals are not calibrated: they are those of the draws.",
}
MOST_CORRELATED = 10


def importance(held: HeldOut, rng: Rng) -> dict[str, Any] | None:
    """Posterior of importances, largest first; None without models or columns.

    Uses `feature_importances_` or `coef_` of the draws if these refer to columns of X, else
    permutation importance.
    """
    if not held.keeps_models or not held.names:
        return None
    place = {name: j for j, name in enumerate(inspected.feature_names(held.model))}
    found = inspected.own_importances(held.model, held.table)
    if found is None or not set(found.names) <= set(place):
        found = inspected.permutation_importances(held.model, held.table, held.y, rng)
    values = found.draws.values
    # a coefficient matters by its size; a score that shuffling improves does not matter
    sizes = np.abs(values) if "coefficient" in found.kind else values
    order = np.argsort(-_size(found), kind="stable")[:MOST_SHOWN]
    columns = [place[found.names[k]] for k in order]
    top = found.draws.at(order)
    first = (sizes.argmax(axis=1)[:, None] == order).mean(axis=0)
    return {
        "about": _about(held, found),
        "draws": len(values),
        "spread": top.spread,
        "of": len(held.names),
        "feature": columns,
        "name": [held.names[j] for j in columns],
        "mean": rounded(top.mean),
        "sd": rounded(top.std),
        "intervals": by_level(_possible(found.kind, top.interval(LEVELS))),
        "largest": rounded(first),
        "correlation": rounded(Functional(top.values[:, :MOST_CORRELATED]).correlation()),
    }


def _size(found: inspected.Importances) -> NDArray[np.float64]:
    """What features are ranked by: the mean, for coefficients without its sign."""
    mean = found.draws.mean
    return np.abs(mean) if "coefficient" in found.kind else mean


def _possible(kind: str, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds that shares of the importance can have."""
    return np.clip(bounds, 0.0, 1.0) if kind == "feature importance" else bounds


def _about(held: HeldOut, found: inspected.Importances) -> str:
    """Explain how the importances are defined, and what their intervals are."""
    return f"{_defined(held, found)} {INTERVALS[found.draws.spread]}"


def _defined(held: HeldOut, found: inspected.Importances) -> str:
    if found.kind == "feature importance":
        return (
            "The model's own importances: the share of its improvement that it owes to each column."
        )
    if "coefficient" in found.kind:
        return (
            f"{found.kind.capitalize()} times the standard deviation of the column: the change of "
            "the linear predictor for a typical change of the column."
        )
    chosen, rows = len(found.names), counted(min(held.n, inspected.MOST_ROWS), "row")
    screened = f" Only the {chosen} columns most important to the first fit were shuffled."
    return (
        f"How much worse predictions get when the column is shuffled ({found.kind}; permutation "
        f"importance), on {rows} and in {counted(len(found.draws.values), 'draw')}."
        f"{screened if chosen < len(held.names) else ''}"
    )
