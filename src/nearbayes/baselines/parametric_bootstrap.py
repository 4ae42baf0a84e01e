"""Parametric bootstrap: refit on n rows imputed from the first fit, real rows discarded.

Section 4 of the paper: Algorithm 1 with Δn = N = n, without the original data set.
"""

from __future__ import annotations

from typing import Any

from nearbayes.core.data import as_data
from nearbayes.core.engine import draw
from nearbayes.core.paths import ParametricBootstrap, checked_inputs
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm, Inputs
from nearbayes.core.run import Run

__all__ = ["parametric_bootstrap"]


def parametric_bootstrap(
    algorithm: Algorithm | ChunkAlgorithm,
    data: Any,
    *,
    inputs: Inputs | str | None = None,
    **run: Any,
) -> Posterior:
    """Draw by the parametric bootstrap: each draw is fitted to n rows imputed from the first fit.

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data, pair (X, y), or array of observations
    inputs : Inputs or str, optional
        Where imputed x come from; default a Polya urn over the real inputs.
    **run : n_draws, random_state, n_jobs, executor, on_error, progress, resume, predict_on, ...
        As in `nearbayes.martingale_posterior`.
    """
    sampler, observed = checked_inputs(inputs, as_data(data))
    return draw(algorithm, observed, ParametricBootstrap(sampler), Run(**run))[0]
