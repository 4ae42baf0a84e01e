"""Bootstrap: refit on rows resampled with replacement (bagging; App. A.3 of the paper)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nearbayes.core.data import Data, as_data
from nearbayes.core.engine import FirstFit, draw_posterior
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, Model, Rng
from nearbayes.core.run import Run

__all__ = ["bootstrap"]


def bootstrap(algorithm: Algorithm, data: Any, **run: Any) -> Posterior:
    """Draw by the nonparametric bootstrap: each draw is fitted to n rows resampled from the n.

    Parameters
    ----------
    algorithm : Algorithm
    data : Data, pair (X, y), or array of observations
    **run : n_draws, random_state, n_jobs, on_error, progress
        As in `nearbayes.martingale_posterior`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> z = np.random.default_rng(0).normal(size=100)
    >>> mean = nb.algorithm(np.mean, lambda m, size, rng: rng.normal(m, 1.0, size))
    >>> nb.baselines.bootstrap(mean, z, n_draws=10, random_state=0)
    <Posterior: 10 bootstrap draws>
    """
    return draw_posterior(algorithm, as_data(data), _bootstrap_path, Run(**run), method="bootstrap")


def _bootstrap_path(algorithm: Algorithm, data: Data, first: FirstFit, rng: Rng) -> Model:
    return algorithm.fit(resampled(algorithm, data, rng), rng)


def resampled(algorithm: Algorithm, data: Data, rng: Rng) -> Data:
    """Resample n observations: as counts where the algorithm accepts them, else as rows."""
    times = rng.multinomial(round(data.n), data.counts / data.size)
    chosen = np.flatnonzero(times)
    table_rows = None if data.table is None else data.positions[chosen]
    counted = replace(
        data, index=table_rows, y=data.y[chosen], count=times[chosen].astype(np.float64)
    )
    return counted if algorithm.accepts_counts else counted.repeat()
