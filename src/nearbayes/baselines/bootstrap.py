"""Bootstrap: refit on rows resampled with replacement (bagging; App. A.3 of the paper)."""

from __future__ import annotations

from typing import Any

from nearbayes.core.data import as_data
from nearbayes.core.engine import draw
from nearbayes.core.paths import Bootstrap
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm
from nearbayes.core.run import Run

__all__ = ["bootstrap"]


def bootstrap(algorithm: Algorithm | ChunkAlgorithm, data: Any, **run: Any) -> Posterior:
    """Draw by the nonparametric bootstrap: each draw is fitted to n rows resampled from the n.

    Parameters
    ----------
    algorithm : Algorithm or ChunkAlgorithm
    data : Data, pair (X, y), or array of observations
    **run : n_draws, random_state, n_jobs, executor, on_error, progress, resume, predict_on, ...
        As in `nearbayes.martingale_posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import nearbayes as nb
    >>> z = np.random.default_rng(0).normal(size=100)
    >>> mean = nb.algorithm(np.mean, lambda m, size, rng: rng.normal(m, 1.0, size))
    >>> nb.baselines.bootstrap(mean, z, n_draws=10, random_state=0)
    <Posterior: 10 bootstrap draws>
    """
    return draw(algorithm, as_data(data), Bootstrap(), Run(**run))[0]
