"""Credible intervals of a regression function by Bayesian additive regression trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from stochtree import BARTModel

from nearbayes.draws.credible import credible_interval

Array = NDArray[np.float64]


def bart_interval(X: Array, y: Array, points: Array, level: float, seed: int) -> Array:
    """Interval at points, shape (n_points, 2), from 1,000 MCMC samples with stochtree's priors."""
    model = BARTModel()
    model.sample(
        X_train=X,
        y_train=y,
        X_test=points,
        num_gfr=10,
        num_burnin=0,
        num_mcmc=1_000,
        general_params={"random_seed": seed},
    )
    return credible_interval(np.asarray(model.predict(points, terms="y_hat")).T, level)
