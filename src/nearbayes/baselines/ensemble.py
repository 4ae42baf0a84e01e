"""Ensemble: the same rows, fresh randomness of the algorithm (Lakshminarayanan et al., 2017)."""

from __future__ import annotations

import warnings
from typing import Any

from nearbayes.core.data import Data, as_data
from nearbayes.core.engine import DrawWarning, FirstFit, draw_posterior
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, Model, Rng
from nearbayes.core.run import Run

__all__ = ["ensemble"]


def ensemble(algorithm: Algorithm, data: Any, **run: Any) -> Posterior:
    """Fit the real rows again and again, with fresh randomness of the algorithm.

    A deterministic algorithm gives the same fit every time: no uncertainty at all.

    Parameters
    ----------
    algorithm : Algorithm
    data : Data, pair (X, y), or array of observations
    **run : n_draws, random_state, n_jobs, on_error, progress
        As in `nearbayes.martingale_posterior`.
    """
    if not algorithm.randomised:
        warnings.warn(
            "an ensemble of an algorithm without randomness has equal draws: "
            "use method='martingale' or 'bootstrap'.",
            DrawWarning,
            stacklevel=2,
        )
    return draw_posterior(algorithm, as_data(data), _ensemble_path, Run(**run), method="ensemble")


def _ensemble_path(algorithm: Algorithm, data: Data, first: FirstFit, rng: Rng) -> Model:
    return first()
