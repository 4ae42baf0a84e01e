"""Baselines: linear, additive noise, and a flow; and the list of methods of the experiment.

A method is a function ``method(x_train, y_train, x_test, seed)`` that gives an array of shape
(n_values, n_test): equally likely values of y when x is set. They are quantiles where the
distribution is known, so that scores have no sampling error, and otherwise samples: at least 1,000,
because the CRPS of m samples is too high by about .5 / m.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import laplace, norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import Ridge

from experiments.causal_fmri.data import Array
from experiments.causal_fmri.diffusion import DIFFUSION
from experiments.causal_fmri.flow import TRAIN_SHARE, fitted_flow, predicted_median

Method = Callable[[Array, Array, Array, int], Array]
N_VALUES = 1_001  # odd: the median is one of them
LEVELS = (np.arange(N_VALUES) + 0.5) / N_VALUES
GP_NOISE = 25.0  # variance, as published: 25 times that of y
GP_RESTARTS = 10
LINEAR, LINEAR_RESIDUAL, LINEAR_FIRST = "linear", "linear + residual", "linear, first 80 %"
NO_CAUSE, ANM, FLOW = "cause ignored", "anm", "flow"


def no_cause(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """A standard normal number whatever x, since every run is standardised."""
    return np.repeat(norm.ppf(LEVELS)[:, None], len(x_test), axis=1)


def linear(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """Ridge regression with penalty 1, without noise: one value."""
    return _ridge(x_train, y_train, x_test)[None]


def linear_residual(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """Ridge regression and normal noise with the sd of its residuals."""
    residuals = y_train - _ridge(x_train, y_train, x_train)
    return _with_normal_noise(_ridge(x_train, y_train, x_test), residuals)


def linear_first(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """The same on the part of the series that the flow is trained on."""
    n = int(TRAIN_SHARE * len(x_train))
    return linear_residual(x_train[:n], y_train[:n], x_test, seed)


def additive_noise(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """A Gaussian process with the published noise variance, and normal residuals.

    With that much noise it is almost the constant 0.
    """
    process = GaussianProcessRegressor(
        ConstantKernel(1.0) * RBF(1.0),
        alpha=GP_NOISE,
        n_restarts_optimizer=GP_RESTARTS,
        random_state=seed,
    )
    with warnings.catch_warnings():  # its variance goes to the lower bound: so it is published
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(x_train[:, None], y_train)
    residuals = y_train - process.predict(x_train[:, None])
    return _with_normal_noise(process.predict(x_test[:, None]), residuals)


def flow(x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """The autoregressive flow, whose noise is Laplace of scale 1."""
    median = predicted_median(fitted_flow(x_train, y_train, seed), x_test)
    return np.asarray(median + laplace.ppf(LEVELS)[:, None])


METHODS: dict[str, Method] = {  # a further method is one more line
    NO_CAUSE: no_cause,
    LINEAR: linear,
    LINEAR_RESIDUAL: linear_residual,
    LINEAR_FIRST: linear_first,
    ANM: additive_noise,
    FLOW: flow,
    **DIFFUSION,
}
# The same with every seed; diffusion models average over 16 draws, so one seed serves.
ONE_SEED = (NO_CAUSE, LINEAR, LINEAR_RESIDUAL, LINEAR_FIRST, ANM, *DIFFUSION)


def _ridge(x_train: Array, y_train: Array, x: Array) -> Array:
    return np.asarray(Ridge(alpha=1.0).fit(x_train[:, None], y_train).predict(x[:, None]))


def _with_normal_noise(centre: Array, residuals: Array) -> Array:
    return np.asarray(centre + residuals.std() * norm.ppf(LEVELS)[:, None])
