"""Noise: the distribution of y around a prediction, learned from out-of-fold residuals.

Training residuals of a flexible model are too small, so residuals come from models that were not
fitted to their row, and only from real rows. The noise level is part of the model: as rows are
imputed it is updated by sequential maximum likelihood (eq. seq-MLE-EF), so draws also differ in
their noise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.model_selection import KFold

from nearbayes.core.data import Data, Rows
from nearbayes.core.protocols import Rng
from nearbayes.core.seeds import integer_seed
from nearbayes.fits.estimator_fit import EstimatorFit, has_no_missing
from nearbayes.predictives.positive import COUNTS, GAMMA, PowerNoise, check_positive
from nearbayes.predictives.predictive import Empirical, Frozen, Normal, Predictive, Simulated
from nearbayes.tables.table import Table

__all__ = [
    "QUICK",
    "USUAL",
    "Folds",
    "Noise",
    "NoiseName",
    "learn_noise",
    "not_normal",
    "out_of_fold",
]

Array = NDArray[np.float64]
NoiseName = Literal[
    "auto", "gaussian", "residual", "heteroscedastic", "poisson", "gamma", "tweedie", "estimator"
]
NAMES = get_args(NoiseName)
POWERS = {"poisson": COUNTS, "gamma": GAMMA, "tweedie": 1.5}
MOST_LEFT_OUT = 400  # for fewer rows, each is left out once if leverage is needed
SMALLEST_SHARE = 1e-3  # share of a residual that a row of leverage 1 keeps
NOT_NORMAL = 0.001  # p-value below which "auto" treats residuals as not normal


@dataclass(frozen=True)
class Folds:
    """Rows from which noise is learned: folds are left out in turn, until there are enough rows.

    Attributes
    ----------
    n : int
    enough : int
        Sufficient number of rows for the size and shape of the noise; large fits are slow.
    """

    n: int
    enough: int


USUAL = Folds(
    10, 20_000
)  # with 5, models see a fifth fewer rows than the fit, and have clearly larger errors
QUICK = Folds(5, 200)


class Noise(Protocol):
    """Distribution of y around a prediction."""

    def around(self, estimator: Any, x: Table, mean: Array) -> Predictive:
        """Distribution of y at `x`, where the fitted `estimator` predicts `mean`."""

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> Noise:
        """Noise after imputing y at `x`, around `mean`; the new rows are a `share` of all rows."""


@dataclass(frozen=True)
class GaussianNoise:
    """The same normal noise everywhere; outputs may be correlated.

    Attributes
    ----------
    covariance : array of shape (n_outputs, n_outputs)
    """

    covariance: Array

    @classmethod
    def learned(cls, residuals: Array, weights: Array) -> GaussianNoise:
        """Second moments of out-of-fold residuals."""
        return cls(_second_moment(residuals, weights))

    def scaled(self, factor: float) -> GaussianNoise:
        """The same noise, larger or smaller."""
        return GaussianNoise(factor**2 * self.covariance)

    def around(self, estimator: Any, x: Table, mean: Array) -> Normal:
        """N(mean, covariance)."""
        sd = np.sqrt(np.diag(self.covariance))
        if mean.ndim == 1:
            return Normal(mean, sd[0])
        return Normal(mean, sd, _correlation_root(self.covariance))

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> GaussianNoise:
        """Sequential maximum likelihood of the covariance (eq. seq-MLE-EF)."""
        new = _second_moment(y - mean, np.ones(len(y)))
        return GaussianNoise(self.covariance + share * (new - self.covariance))


@dataclass(frozen=True)
class ResidualNoise:
    """Resampled residuals: noise of any shape, the same everywhere.

    Attributes
    ----------
    residuals : array of shape (m,) or (m, n_outputs)
    weights : array of shape (m,), summing to 1
    """

    residuals: Array
    weights: Array

    @classmethod
    def learned(cls, residuals: Array, weights: Array) -> ResidualNoise:
        """Centred out-of-fold residuals; a constant offset belongs to the model."""
        shares = weights / weights.sum()
        centred = residuals - shares @ residuals
        return cls(centred, shares)

    def scaled(self, factor: float) -> ResidualNoise:
        """The same noise, larger or smaller."""
        return replace(self, residuals=factor * self.residuals)

    def around(self, estimator: Any, x: Table, mean: Array) -> Empirical:
        """Mean plus a residual."""
        return Empirical(mean, self.residuals, self.weights)

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> ResidualNoise:
        """Polya urn over residuals: those drawn become more likely."""
        drawn = np.bincount(_nearest(self.residuals, y - mean), minlength=len(self.weights))
        weights = self.weights + share * (drawn / drawn.sum() - self.weights)
        # noise keeps mean 0, because the regressor learns the mean of imputed outcomes
        return ResidualNoise(self.residuals - weights @ self.residuals, weights)


@dataclass(frozen=True)
class HeteroscedasticNoise:
    """Normal noise whose variance depends on x.

    The variance is ``level * exp(slope * g(x))``, where g is a clone of the user's estimator,
    fitted to log squared out-of-fold residuals. `slope`, learned from out-of-fold predictions of
    g, is between 0 and 1. If g has no predictive value, it is 0 and the noise is the same
    everywhere.

    Attributes
    ----------
    log_square : fitted estimator
    slope, level : array of shape (n_outputs,)
    """

    log_square: Any
    slope: Array
    level: Array

    @classmethod
    def learned(
        cls, fitting: EstimatorFit, data: Data, residuals: Array, rng: Rng
    ) -> HeteroscedasticNoise:
        """Fit the log squared residuals, and learn slope and level out of fold."""
        squares = residuals**2
        floor = 1e-6 * squares.mean(axis=0) + np.finfo(float).tiny
        logs = Data(data.table, data.index, np.log(squares + floor), data.count)
        fitting = fitting.with_outcomes(_log_squares(fitting, data, floor, rng)).tuned(logs, rng)
        seen = out_of_fold(fitting, logs, rng)
        slope = _shrinkage(seen, logs.y, data.counts)
        level = np.average(squares / np.exp(slope * seen), axis=0, weights=data.counts)
        model = fitting.fit(logs, integer_seed(rng))
        return cls(model, np.atleast_1d(slope), np.atleast_1d(level))

    def around(self, estimator: Any, x: Table, mean: Array) -> Normal:
        """N(mean, variance at x)."""
        return Normal(mean, np.sqrt(self.variance_at(x, mean.shape)))

    def variance_at(self, x: Table, shape: tuple[int, ...]) -> Array:
        """Noise variance, one per row and output."""
        g = np.asarray(self.log_square.predict(x)).reshape(shape)
        return np.asarray(self.level * np.exp(self.slope * g))

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> HeteroscedasticNoise:
        """Sequential maximum likelihood of the level; the shape over x is kept."""
        shape = (-1, *y.shape[1:])
        parts = [part.repeat(self.variance_at(part.distinct, shape)) for part in x.pieces()]
        ratio = (y - mean) ** 2 / np.concatenate(parts)
        return replace(self, level=self.level * (1 + share * (ratio.mean(axis=0) - 1)))


@dataclass(frozen=True)
class OwnNoise:
    """The estimator's own distribution: ``predict(X, return_std=True)`` or ``pred_dist(X)``."""

    def around(self, estimator: Any, x: Table, mean: Array) -> Normal | Frozen:
        """Ask the estimator; `mean` is its prediction."""
        if hasattr(estimator, "pred_dist"):
            return Frozen(mean, estimator.pred_dist(x).dist, np.zeros(len(mean)))
        _, sd = estimator.predict(x, return_std=True)
        return Normal(mean, np.asarray(sd).reshape(mean.shape))

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> OwnNoise:
        """Unchanged: the refit of the estimator updates it."""
        return self


@dataclass(frozen=True)
class FunctionNoise:
    """The user's function of mean, inputs and rng."""

    function: Callable[[Array, Table, Rng], Any]

    def around(self, estimator: Any, x: Table, mean: Array) -> Simulated:
        """Distribution known only through samples."""
        return Simulated(mean, x, self.function)

    def updated(self, x: Rows, y: Array, mean: Array, share: float) -> FunctionNoise:
        """Unchanged: the function is fixed."""
        return self


def learn_noise(
    noise: NoiseName | Callable[..., Any],
    fitting: EstimatorFit,
    data: Data,
    rng: Rng,
    folds: Folds = USUAL,
) -> Noise:
    """Learn a noise model from real rows.

    Parameters
    ----------
    noise : name or callable
        "auto" uses the distribution of the estimator's loss if that is for counts or positive
        outcomes; else "gaussian", or "residual" if residuals are clearly not normal.
    fitting : EstimatorFit
        How to fit the user's estimator.
    data : Data
        Real rows.
    rng : numpy.random.Generator
    folds : Folds
        Of the predictions that residuals come from.
    """
    if callable(noise):
        return FunctionNoise(noise)
    if noise not in NAMES:
        raise ValueError(
            f"noise must be one of {', '.join(map(repr, NAMES))} or a function of (mean, x, rng), "
            f"got {noise!r}."
        )
    if noise == "estimator":
        _check_has_distribution(fitting.estimator)
        return OwnNoise()
    power = _power(noise, fitting)
    if power is not None:
        check_positive(data.y, power)
        data, predicted = _left_out(fitting, data, rng, folds)
        return PowerNoise.learned(power, data.y, predicted, data.counts)
    if fitting.is_linear:
        residuals = linear_residuals(fitting, data, rng)
    else:
        data, predicted = _left_out(fitting, data, rng, folds)
        residuals = data.y - predicted
    if noise == "residual" or (noise == "auto" and not_normal(residuals, data.counts)):
        return ResidualNoise.learned(residuals, data.counts)
    if noise == "heteroscedastic":
        return HeteroscedasticNoise.learned(fitting, data, residuals, rng)
    return GaussianNoise.learned(residuals, data.counts)


def _power(noise: str, fitting: EstimatorFit) -> float | None:
    """Power of the variance function, for counts and positive outcomes; else None."""
    own = fitting.variance_power
    if noise == "auto" or (noise == "tweedie" and own is not None):
        return own
    return POWERS.get(noise)


def linear_residuals(fitting: EstimatorFit, data: Data, rng: Rng) -> Array:
    r"""Residuals of a linear smoother, scaled so that its posterior is the exact one.

    Out-of-fold residuals :math:`r_i` contain the error of the fit, which is large at rows of high
    leverage :math:`h_i`; the residuals of the fit, :math:`e_i = (1 - h_i) r_i`, are too small. With
    p the sum of the leverages, the posterior mean of the noise variance under the usual flat prior
    is :math:`\sum e_i^2 / (n - p - 2)`. Outcomes are imputed around a point estimate, not from the
    posterior predictive with its :math:`1 + h_i`, which reduces the variance of the path by
    p/(2n); this is corrected here. So

    .. math:: \hat\sigma^2 = \frac{\sum_i e_i^2}{n - p - 2} \left(1 + \frac{p}{2n}\right),

    and residuals are :math:`r_i \sqrt{1 - h_i}`, all of the same variance, in these units.
    """
    every_row = len(data.y) <= MOST_LEFT_OUT
    left_out = data.y - out_of_fold(fitting, data, rng, len(data.y) if every_row else USUAL.n)
    model = fitting.fit(data, integer_seed(rng))
    fitted = has_no_missing(np.asarray(model.predict(data.x), dtype=np.float64), model)
    own, n, weights = data.y - fitted.reshape(data.y.shape), data.n, _as_column(data)
    if every_row:
        ratio = np.divide(own, left_out, out=np.ones_like(own), where=left_out != 0)
        leverage = 1 - np.clip(ratio, SMALLEST_SHARE, 1)
    else:
        shared = (weights * own**2).sum(axis=0) / (weights * own * left_out).sum(axis=0)
        leverage = np.broadcast_to(1 - np.clip(shared, SMALLEST_SHARE, 1), own.shape)
    p = leverage.sum(axis=0)
    squares = (weights * own**2).sum(axis=0)
    variance = squares / np.maximum(n - p - 2, 1) * (1 + p / (2 * n))
    even = left_out * np.sqrt(1 - leverage)
    size = (weights * even**2).sum(axis=0) / n
    return np.asarray(even * np.sqrt(variance / np.where(size > 0, size, 1.0)))


def _as_column(data: Data) -> Array:
    """Counts in a shape that broadcasts to outcomes."""
    return data.counts.reshape(-1, *(1 for _ in data.y.shape[1:]))


def out_of_fold(fitting: EstimatorFit, data: Data, rng: Rng, n_folds: int = USUAL.n) -> Array:
    """Predict every real row by a model that was not fitted to it; the shape of ``data.y``."""
    return _left_out(fitting, data, rng, Folds(n_folds, len(data.y)))[1]


def _left_out(fitting: EstimatorFit, data: Data, rng: Rng, folds: Folds) -> tuple[Data, Array]:
    """Rows that were left out, as many as are enough, and their predictions."""
    n = len(data.y)
    cutter = KFold(min(folds.n, n), shuffle=True, random_state=integer_seed(rng))
    predicted, tested = np.empty(data.y.shape), np.zeros(n, dtype=bool)
    for train, test in cutter.split(np.zeros(n)):
        model = fitting.fit(data.select(train), integer_seed(rng))
        held_out = data.select(test)
        found = [model.predict(part.distinct) for part in held_out.rows().pieces()]
        there = np.asarray(np.concatenate(found), dtype=np.float64)
        predicted[test] = has_no_missing(there, model).reshape(held_out.y.shape)
        tested[test] = True
        if tested.sum() >= folds.enough:
            break
    return (
        (data, predicted) if tested.all() else (data.select(tested.nonzero()[0]), predicted[tested])
    )


def _log_squares(
    fitting: EstimatorFit, data: Data, floor: Array, rng: Rng
) -> Callable[[Table, Array], Array]:
    """Log squared residuals at rows of evaluation sets, for early stopping."""
    fitted: list[Any] = []  # at most one model; none without evaluation sets

    def log_squares(x: Table, y: Array) -> Array:
        if not fitted:
            fitted.append(fitting.fit(data, integer_seed(rng)))
        residuals = np.asarray(y, dtype=np.float64) - fitted[0].predict(x)
        return np.asarray(np.log(residuals**2 + floor))

    return log_squares


def _check_has_distribution(estimator: Any) -> None:
    has_std = "return_std" in inspect.signature(estimator.predict).parameters
    if not has_std and not hasattr(estimator, "pred_dist"):
        raise ValueError(
            f"noise='estimator' needs predict(X, return_std=True) or pred_dist(X), but "
            f"{type(estimator).__name__} has neither: use noise='gaussian'."
        )


def not_normal(residuals: Array, weights: Array) -> bool:
    """Whether the Jarque-Bera test rejects normal residuals for any output.

    With few rows it seldom does, and a normal is then safer than quantiles of a few residuals.
    SciPy's test does not support weights.
    """
    shares, columns = weights / weights.sum(), residuals.reshape(len(residuals), -1)
    gap = columns - shares @ columns
    sd = np.sqrt(shares @ gap**2)
    white = gap[:, sd > 0] / sd[sd > 0]
    skewness, kurtosis = shares @ white**3, shares @ white**4
    statistic = weights.sum() / 6 * (skewness**2 + (kurtosis - 3) ** 2 / 4)
    return bool(np.any(np.exp(-statistic / 2) < NOT_NORMAL))  # chi-squared, 2 degrees of freedom


def _second_moment(residuals: Array, weights: Array) -> Array:
    columns = residuals.reshape(len(residuals), -1)
    return np.asarray((columns * weights[:, None]).T @ columns / weights.sum())


def _correlation_root(covariance: Array) -> Array:
    """Cholesky root of the correlation; an output without noise has correlation 0."""
    sd = np.sqrt(np.diag(covariance))
    safe = np.where(sd > 0, sd, 1.0)
    correlation = covariance / np.outer(safe, safe)
    np.fill_diagonal(correlation, 1.0)
    ridge = 1e-10 * np.eye(len(sd))  # outputs that are copies of each other
    return np.linalg.cholesky(correlation + ridge)


def _nearest(pool: Array, values: Array) -> NDArray[np.intp]:
    """Index of the nearest entry; y - mean equals a residual of the pool up to rounding error."""
    tree = KDTree(pool.reshape(len(pool), -1))
    return np.asarray(tree.query(values.reshape(len(values), -1))[1], dtype=np.intp)


def _shrinkage(predicted: Array, target: Array, weights: Array) -> Array:
    """Least-squares slope of target on prediction, kept between 0 and 1."""
    gap = predicted - np.average(predicted, axis=0, weights=weights)
    spread = np.average(gap**2, axis=0, weights=weights)
    slope = np.average(gap * target, axis=0, weights=weights) / np.where(spread > 0, spread, 1.0)
    return np.clip(slope, 0.0, 1.0)
