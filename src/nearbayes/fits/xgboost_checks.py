"""Checks for XGBoost: arguments of `fit`, evaluation sets and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

__all__ = ["check_outcomes", "check_params"]

Array = NDArray[np.float64]

# For each objective: a test of valid outcomes, its description, and a noise that respects it.
OUTCOMES: dict[str, tuple[Callable[[Array], Any], str, str]] = {
    "count:poisson": (lambda y: y >= 0, "of at least 0", "noise='auto'"),
    "reg:tweedie": (lambda y: y >= 0, "of at least 0", "noise='auto'"),
    "reg:gamma": (lambda y: y > 0, "above 0", "noise='auto'"),
    "reg:logistic": (
        lambda y: (y >= 0) & (y <= 1),
        "from 0 to 1",
        "a noise such as noise=lambda mean, x, rng: rng.binomial(1, mean)",
    ),
}


def check_params(estimator: Any, params: Mapping[str, Any]) -> None:
    """Refuse arguments of `fit` that XGBoost lacks, or that imputed rows cannot have."""
    for name, value in params.items():
        if not has_fit_parameter(estimator, name):
            raise TypeError(
                f"{type(estimator).__name__}.fit has no argument {name!r}: remove it, or check its "
                "spelling."
            )
        if name.startswith("base_margin") and value is not None:
            raise ValueError(
                f"{name} must not be passed to fit, because imputed rows would have none: add it "
                "as a column of X, or subtract it from y."
            )
    _check_evaluation(estimator, params)


def _check_evaluation(estimator: Any, params: Mapping[str, Any]) -> None:
    """Check that early stopping has rows to evaluate, and that evaluation sets are pairs."""
    sets = params.get("eval_set") or ()
    if estimator.early_stopping_rounds and not sets:
        raise ValueError(
            f"early_stopping_rounds={estimator.early_stopping_rounds} needs an eval_set, got none: "
            "fit(X, y, eval_set=[(X_validation, y_validation)])."
        )
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in sets):
        raise ValueError(
            f"eval_set must be a list of pairs, got {type(sets).__name__} of "
            f"{', '.join(type(part).__name__ for part in sets)}: "
            "fit(X, y, eval_set=[(X_validation, y_validation)])."
        )
    weights = params.get("sample_weight_eval_set")
    if weights is not None and len(weights) != len(sets):
        raise ValueError(
            "sample_weight_eval_set must have one array per pair of eval_set, got "
            f"{len(weights)} for {len(sets)}: use None for a pair without weights."
        )


def check_outcomes(y: Array, objective: Any) -> None:
    """Refuse outcomes that are invalid for an objective; the noise may have made them."""
    if callable(objective) or objective not in OUTCOMES:
        return
    fits, words, noise = OUTCOMES[objective]
    bad = y[~fits(y)]
    if len(bad):
        raise ValueError(
            f"objective={objective!r} needs y {words}, got {bad[0]:.3g}: choose another objective "
            f"or, if that y was imputed, {noise}."
        )
