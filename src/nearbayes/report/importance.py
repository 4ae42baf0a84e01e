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
    "inflated": "Intervals are not calibrated: they are widened for the finite schedule alone.",
    "raw": "Intervals are not calibrated: they are those of the draws.",
}
MOST_CORRELATED = 10


def importance(held: HeldOut, rng: Rng) -> dict[str, Any] | None:
    """Posterior of importances, largest first; None if only predictions of the draws were kept.

    Uses `feature_importances_` or `coef_` of the draws if these refer to columns of X, else
    permutation importance.
    """
    if not held.keeps_models:
        return None
    place = {name: j for j, name in enumerate(inspected.feature_names(held.model))}
    found = inspected.own_importances(held.model, held.table)
    if found is None or not set(found.names) <= set(place):
        found = inspected.permutation_importances(held.model, held.table, held.y, rng)
    values = found.draws.values
    order = np.argsort(-np.abs(found.draws.mean), kind="stable")[:MOST_SHOWN]
    columns = [place[found.names[k]] for k in order]
    top = found.draws.at(order)
    first = (np.abs(values).argmax(axis=1)[:, None] == order).mean(axis=0)
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


def _possible(kind: str, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds that shares of the importance can have."""
    return np.clip(bounds, 0.0, 1.0) if kind == "feature importance" else bounds


def _about(held: HeldOut, found: inspected.Importances) -> str:
    """Explain how the importances are defined, and what their intervals are."""
    return f"{_defined(held, found)} {INTERVALS[found.draws.spread]}"


def _defined(held: HeldOut, found: inspected.Importances) -> str:
    if found.kind == "feature importance":
        return "The estimator's own feature importances, scaled to sum to 1 in every draw."
    if "coefficient" in found.kind:
        return (
            f"{found.kind.capitalize()} times the standard deviation of the column in the held-out "
            "rows: the change of the linear predictor for a typical change of the feature."
        )
    chosen, rows = len(found.names), counted(min(held.n, inspected.MOST_ROWS), "held-out row")
    screened = f" Only the {chosen} columns most important to the base model were shuffled."
    return (
        f"Permutation importance: {found.kind} when the column is shuffled, on {rows} and in "
        f"{counted(len(found.draws.values), 'draw')}."
        f"{screened if chosen < len(held.names) else ''}"
    )
