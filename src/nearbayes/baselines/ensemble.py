"""Ensemble: the same rows, fresh randomness of the algorithm (Lakshminarayanan et al., 2017)."""

from __future__ import annotations

from typing import Any

from nearbayes.core.data import as_data
from nearbayes.core.engine import DrawWarning, draw
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Ensemble
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm
from nearbayes.core.run import Run
from nearbayes.telling import warn

__all__ = ["ensemble"]


def ensemble(algorithm: Algorithm | ChunkAlgorithm, data: Any, **run: Any) -> Posterior:
    """Fit the real rows repeatedly, with fresh randomness of the algorithm.

    A deterministic algorithm returns the same fit every time, without any uncertainty.

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data, pair (X, y), or array of observations
    **run : n_draws, random_state, n_jobs, executor, on_error, progress, resume, predict_on, ...
        As in `nearbayes.martingale_posterior`.
    """
    if not as_chunks(algorithm).traits.randomised:
        warn(
            "an ensemble of an algorithm without randomness has equal draws: "
            "use method='martingale' or 'bootstrap'.",
            DrawWarning,
        )
    return draw(algorithm, as_data(data), Ensemble(), Run(**run))[0]
