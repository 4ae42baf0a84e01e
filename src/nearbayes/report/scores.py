"""Scores of the posterior, its base model and baselines on the rows of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Rows
from nearbayes.core.protocols import Rng
from nearbayes.core.seeds import integer_seed
from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor
from nearbayes.estimators.mixture import mixture_log_density, mixture_samples
from nearbayes.metrics import accuracy, brier, crps_samples, log_score
from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import in_digits, rounded, standard_error
from nearbayes.tables.table import take

__all__ = ["BASE", "OURS", "scores"]

Array = NDArray[np.float64]
Losses = dict[str, Array]

OURS, BASE = "This model", "One fit, without uncertainty"
N_SAMPLES = 200
CLEAR = 2.0  # standard errors that a clear difference must exceed


@dataclass(frozen=True)
class Metric:
    """A score: its name, its direction, and how it is aggregated over rows."""

    key: str
    name: str
    about: str
    higher_is_better: bool = False
    is_root: bool = False

    def value(self, rows: Array) -> float:
        """The score of all rows."""
        mean = float(rows.mean())
        return math.sqrt(mean) if self.is_root else mean

    def influence(self, rows: Array) -> Array:
        """First-order contribution of each row to the score, for standard errors."""
        return rows / (2 * max(self.value(rows), 1e-300)) if self.is_root else rows


CLASS_METRICS = (
    Metric(
        "log_score", "Log score", "minus log probability of the observed class; lower is better"
    ),
    Metric("brier", "Brier score", "squared error of all class probabilities; lower is better"),
    Metric("accuracy", "Accuracy", "share of rows whose most likely class was observed", True),
)
OUTCOME_METRICS = (
    Metric("crps", "CRPS", "distance of the predictive distribution from y; lower is better"),
    Metric("nlpd", "NLPD", "minus log predictive density of y; lower is better"),
    Metric("rmse", "RMSE", "root mean squared error of the mean; lower is better", is_root=True),
)


def scores(held: HeldOut, baselines: Mapping[str, Any], rng: Rng) -> dict[str, Any]:
    """Scores of every model, and their differences from the posterior's.

    Parameters
    ----------
    held : HeldOut
    baselines : mapping of str to fitted PosteriorClassifier or PosteriorRegressor
    rng : numpy Generator
        Used to sample predictive distributions (CRPS).
    """
    losses = _class_losses(held, baselines)
    if not held.is_classifier:
        losses = _outcome_losses(held, baselines, rng)
    available = losses[OURS]
    metrics = CLASS_METRICS if held.is_classifier else OUTCOME_METRICS
    used = [metric for metric in metrics if metric.key in available]
    return {
        "rows": len(held.scored),
        "of": held.n,
        "metrics": [
            {
                "key": m.key,
                "name": m.name,
                "about": m.about,
                "higher_is_better": m.higher_is_better,
            }
            for m in used
        ],
        "models": [
            {"name": name, "values": {m.key: _summary(m, rows[m.key]) for m in used}}
            for name, rows in losses.items()
        ],
        "differences": [
            difference(metric, name, available[metric.key], rows[metric.key])
            for name, rows in losses.items()
            if name != OURS
            for metric in used
        ],
    }


def _summary(metric: Metric, rows: Array) -> dict[str, Any]:
    with np.errstate(invalid="ignore"):
        value = metric.value(rows)
    return {
        "value": rounded(value),
        "error": rounded(standard_error(metric.influence(rows))),
        "text": in_digits(value, 4),
        "infinite_rows": int(np.isinf(rows).sum()),
    }


def difference(metric: Metric, against: str, ours: Array, theirs: Array) -> dict[str, Any]:
    """How much better the posterior is than another model, with its paired standard error.

    Parameters
    ----------
    metric : Metric
    against : str
        Name of the other model.
    ours, theirs : array of shape (n_rows,)
        Scores at the same rows.

    Returns
    -------
    dict with difference (ours - theirs), error, verdict ("better", "worse" or "unclear"), words
    """
    if np.isinf(ours).any() or np.isinf(theirs).any():
        return _infinite_difference(metric, against, ours, theirs)
    gap = metric.value(ours) - metric.value(theirs)
    error = standard_error(metric.influence(ours) - metric.influence(theirs))
    verdict = "unclear"
    if abs(gap) > CLEAR * error:
        verdict = "better" if (gap > 0) == metric.higher_is_better else "worse"
    words = {
        "unclear": "no clear difference on these rows",
        "better": "better by more than two standard errors",
        "worse": "worse by more than two standard errors",
    }
    return {
        "against": against,
        "metric": metric.key,
        "difference": rounded(gap),
        "error": rounded(error),
        "verdict": verdict,
        "words": words[verdict],
    }


def _infinite_difference(
    metric: Metric, against: str, ours: Array, theirs: Array
) -> dict[str, Any]:
    mine, other = int(np.isinf(ours).sum()), int(np.isinf(theirs).sum())
    verdict = "better" if mine == 0 else "worse" if other == 0 else "unclear"
    words = f"gives what happened the probability 0 in {mine} rows, the other in {other}"
    return {
        "against": against,
        "metric": metric.key,
        "difference": None,
        "error": None,
        "verdict": verdict,
        "words": words,
    }


def _class_losses(held: HeldOut, baselines: Mapping[str, Any]) -> dict[str, Losses]:
    if not held.is_classifier:
        return {}
    (base,) = held.posterior.chunks.predict([held.posterior.first], held.table)
    probabilities = {OURS: held.mean, BASE: base}
    for name, other in baselines.items():
        _check_kind(name, other, PosteriorClassifier)
        if other.classes_.tolist() != held.model.classes_.tolist():
            raise ValueError(
                f"baselines[{name!r}] must have the classes {held.classes}, got "
                f"{other.classes_.tolist()}: fit it to the same labels."
            )
        probabilities[name] = other.predict_proba(held.table)
    return {
        name: {
            "log_score": log_score(held.y, table, mean=False),
            "brier": brier(held.y, table, mean=False),
            "accuracy": accuracy(held.y, table, mean=False),
        }
        for name, table in probabilities.items()
    }


def _outcome_losses(held: HeldOut, baselines: Mapping[str, Any], rng: Rng) -> dict[str, Losses]:
    losses = {OURS: _losses_of(held, held.model, rng), BASE: _base_losses(held, rng)}
    for name, other in baselines.items():
        _check_kind(name, other, PosteriorRegressor)
        losses[name] = _losses_of(held, other, rng)
    if any("nlpd" not in rows for rows in losses.values()):  # a noise function has no density
        for rows in losses.values():
            rows.pop("nlpd", None)
    return losses


def _check_kind(name: str, model: Any, kind: type) -> None:
    if not isinstance(model, kind):
        raise TypeError(
            f"baselines[{name!r}] must be a fitted {kind.__name__}, got {type(model).__name__}."
        )


def _losses_of(held: HeldOut, model: PosteriorRegressor, rng: Rng) -> Losses:
    """Losses of a posterior on the scored rows."""
    table, y = take(held.table, held.scored), held.y[held.scored]
    samples = model.sample(table, N_SAMPLES, random_state=integer_seed(rng))
    losses = {
        "crps": crps_samples(y, samples, fair=True, mean=False),
        "rmse": (y - model.predict(table)) ** 2,
    }
    return losses if callable(model.noise) else losses | {"nlpd": -model.log_density(table, y)}


def _base_losses(held: HeldOut, rng: Rng) -> Losses:
    """Losses of the first fit with its noise, without epistemic uncertainty."""
    table, y = take(held.table, held.scored), held.y[held.scored]
    (predictive,) = held.posterior.chunks.predictives([held.posterior.first], table)
    samples = mixture_samples([predictive], Rows.every(table), N_SAMPLES, rng)
    losses = {
        "crps": crps_samples(y, samples, fair=True, mean=False),
        "rmse": (y - predictive.mean) ** 2,
    }
    if callable(held.model.noise):
        return losses
    return losses | {"nlpd": -mixture_log_density([predictive], y)}
