"""Redrawing: outcomes that a draw finds likely, and posteriors of real rows together with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes import baselines
from nearbayes.core.data import Data, Rows
from nearbayes.core.posterior import Posterior, Provenance
from nearbayes.core.schedule import Schedule
from nearbayes.diagnostics.refitting import Case
from nearbayes.methods.martingale import martingale_posterior

__all__ = ["Draw", "Replicate", "replicates", "same_method"]

Array = NDArray[np.float64]
Draw = Callable[..., Posterior]


def same_method(provenance: Provenance) -> Draw:
    """The method that a posterior was drawn by, with urn inputs."""
    if provenance.method == "martingale":
        return partial(martingale_posterior, schedule=Schedule.parsed(provenance.schedule))
    return getattr(baselines, provenance.method)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Replicate:
    """A draw taken as the truth, and real rows with as many imputed from that truth.

    Attributes
    ----------
    truth : array of shape (n_rows, n_columns)
        Predictions of the draw at all real rows, spread as intervals are.
    data : Data
        Real rows, then replicated ones, with outcomes or labels as the user knows them.
    """

    truth: Array
    data: Data


def replicates(case: Case, n_sets: int, part: int) -> list[Replicate]:
    """Some draws taken as truths; part is that of the randomness of the diagnosis."""
    posterior, data, rng, truths = case.posterior, case.data, case.rng(part), case.truths
    models = [posterior.models[place] for place in truths.places[:n_sets]]
    found = []
    for truth, predictive in zip(truths.values, case.imputing(models, data.x, True), strict=False):
        y = _outcomes(case, predictive, truth, rng)
        both = data.select(np.tile(np.arange(len(data.y)), 2))
        both = replace(both, y=np.concatenate([data.y, y]))
        found.append(Replicate(truth, both))
    return found


def _outcomes(case: Case, predictive: Any, mean: Array, rng: Any) -> NDArray[Any]:
    """Outcomes of the truth, one per real row."""
    classes, rows = case.algorithm.traits.classes, Rows.every(case.data.x)
    if classes is not None:
        chances = mean / mean.sum(axis=1, keepdims=True)
        codes = replace(predictive, probabilities=chances).sample(rows, rng)
        return np.asarray(np.asarray(classes)[codes])
    if case.algorithm.traits.own_variance:  # the predictive holds what the draw does not know
        return np.asarray(predictive.sample(rows, rng))
    return np.asarray(predictive.moved(mean.reshape(predictive.mean.shape)).sample(rows, rng))
