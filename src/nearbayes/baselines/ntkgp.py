r"""NTKGP ensemble: networks around draws of the process of their tangent kernel.

He, Lakshminarayanan and Teh (2020), "NTKGP-param": every network is trained with a fixed random
function added to it, and regularised towards its start, so that, in the limit of wide networks, the
ensemble is the posterior of a Gaussian process with the neural tangent kernel (`neural/priors.py`).
"""

from __future__ import annotations

from typing import Any

from nearbayes.baselines.anchored import around_prior
from nearbayes.core.posterior import Posterior
from nearbayes.core.run import Run

__all__ = ["ntkgp"]


def ntkgp(algorithm: Any, data: Any, **run: Any) -> Posterior:
    """Fit each network around its own random function, only to the real rows.

    Parameters
    ----------
    algorithm : a network of `nearbayes.neural`
    data : Data or pair (X, y)
    **run : n_draws, random_state, n_jobs
        As in `nearbayes.martingale_posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import nearbayes as nb
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> network = nb.neural.MLPRegressor((16,), n_passes=20).algorithm()
    >>> nb.baselines.ntkgp(network, (X, np.sin(3 * X[:, 0])), n_draws=4, random_state=0)
    <Posterior: 4 ntkgp draws>
    """
    return around_prior(algorithm, data, "ntkgp", Run(**run))
