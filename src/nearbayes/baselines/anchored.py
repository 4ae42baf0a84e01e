r"""Anchored ensemble: MAP around draws of the prior (Pearce et al., 2020; eq. map-anchoring).

.. math:: \hat f = \arg\min_f \sum_i (f(x_i) - y_i)^2 + \sigma^2 \|f - \tilde f_0\|^2,
          \quad \tilde f_0 \sim \text{prior}

The paper prints the weight :math:`\sigma^2 / n` for this sum; with the weight of Pearce, used here,
sum and norm are those of the log posterior. All uncertainty comes from the start, so there is too
little of it near the data.
"""

from __future__ import annotations

from typing import Any

from nearbayes.core.data import as_data
from nearbayes.core.engine import draw
from nearbayes.core.paths import Ensemble
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm
from nearbayes.core.run import Run

__all__ = ["anchored", "around_prior"]


def anchored(algorithm: Any, data: Any, **run: Any) -> Posterior:
    """Fit each draw around its own draw of the prior, only to the real rows.

    Parameters
    ----------
    algorithm : nearbayes.gp.RandomFeatureGP or a network of `nearbayes.neural`
    data : Data or pair (X, y)
    **run : n_draws, random_state
        As in `nearbayes.martingale_posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import nearbayes as nb
    >>> process = nb.gp.RandomFeatureGP(n_features=50)
    >>> nb.baselines.anchored(process, (np.eye(3), np.arange(3.0)), n_draws=4, random_state=0)
    <Posterior: 4 anchored draws>
    """
    return around_prior(algorithm, data, "anchored", Run(**run))


def around_prior(algorithm: Any, data: Any, method: str, run: Run) -> Posterior:
    """First fits, each around its own draw of the prior, for a given method."""
    if not isinstance(algorithm, Algorithm | ChunkAlgorithm):
        raise TypeError(
            f"algorithm must be a nearbayes.Algorithm with a prior, such as "
            f"nearbayes.gp.RandomFeatureGP(), got {algorithm!r}."
        )
    return draw(algorithm.for_method(method), as_data(data), Ensemble(method=method), run)[0]
