"""EmpiricalBayesGP: Gaussian process regression with learned hyperparameters, in JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nearbayes.compiled.precision import Precision, computing_in
from nearbayes.compiled.shapes import padded_size
from nearbayes.core.data import Data
from nearbayes.core.protocols import DrawsFailedError, Rng
from nearbayes.core.seeds import Seeds
from nearbayes.gp.kernels import KernelName, check_kernel
from nearbayes.gp.lbfgs import Minimum
from nearbayes.gp.marginal import (
    Collapsed,
    Factor,
    Model,
    factored,
    maximised,
    negative_log_marginal,
    predicted,
    stacked,
)

__all__ = ["EmpiricalBayesGP", "Fitted", "FittedMany", "Scaling", "fitted_many", "predict_many"]

Array = NDArray[np.float64]
ROWS_AT_ONCE, SMALLEST_SIZE = 2_048, 8
SPREAD = 0.5  # of the logarithms of random starts
SLACK = 10.0


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of real rows, used to standardise inputs and outcomes."""

    x_mean: Array
    x_sd: Array
    y_mean: float
    y_sd: float

    @classmethod
    def of(cls, x: Array, y: Array, count: Array) -> Scaling:
        """Scaling of rows with counts; constant columns are kept, a constant y is refused.

        The mean is subtracted first, which avoids cancellation in any units.
        """
        x_mean, y_mean = np.average(x, axis=0, weights=count), np.average(y, weights=count)
        with np.errstate(over="ignore"):  # refused below
            x_sd = np.sqrt(np.average((x - x_mean) ** 2, axis=0, weights=count))
            y_sd = float(np.sqrt(np.average((y - y_mean) ** 2, weights=count)))
        if not (np.isfinite(x_sd).all() and np.isfinite(y_sd)):
            raise ValueError(
                "X and y must be finite, and small enough that their squares are: rescale them."
            )
        if y_sd <= 1e-12 * abs(y_mean) or y_sd == 0:
            raise ValueError(
                f"y must not be constant, got {y_mean:g} in every row: there is nothing to learn."
            )
        flat = x_sd <= 1e-12 * np.abs(x_mean)
        return cls(x_mean, np.where(flat | (x_sd == 0), 1.0, x_sd), float(y_mean), y_sd)

    def inputs(self, x: Array) -> Array:
        """Inputs in standard units."""
        return np.asarray((x - self.x_mean) / self.x_sd)

    def outcomes(self, y: Array) -> Array:
        """Outcomes in standard units."""
        return np.asarray((y - self.y_mean) / self.y_sd)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Learned hyperparameters of one fit and the data it predicts from, in standard units.

    Attributes
    ----------
    logs : array of shape (n_parameters,)
        Unbounded parameters; see `Model.unpacked`.
    data : Collapsed
    value : float
        Negative log marginal likelihood, per outcome.
    steps : int
    inverse_hessian : array of shape (n_parameters, n_parameters)
        Approximate inverse Hessian of `value`; the next search of a draw starts with it.
    """

    logs: Array
    data: Collapsed
    value: float
    steps: int
    inverse_hessian: Array


@dataclass(frozen=True, eq=False)
class FittedMany(Sequence[Fitted]):
    """Fits of all draws of a chunk, in the arrays that programs give and take.

    Attributes
    ----------
    logs, value, steps, inverse_hessian : array
        As in `Fitted`, with a leading axis.
    parts : list of Collapsed
        Data of each draw.
    data : Collapsed
        The same with a leading axis, padded.
    factors : Factor
        Factors for predictions.
    """

    logs: Array
    value: Array
    steps: Array
    inverse_hessian: Array
    parts: list[Collapsed]
    data: Collapsed
    factors: Factor

    @classmethod
    def of(
        cls, fits: Sequence[Fitted], estimator: EmpiricalBayesGP, size: int | None = None
    ) -> FittedMany:
        """Put fits together, with their data padded to `size` rows."""
        if isinstance(fits, FittedMany):
            return fits
        parts = [fit.data for fit in fits]
        data, logs = stacked(parts, size), np.stack([fit.logs for fit in fits])
        with computing_in(estimator.precision):
            factors = factored(estimator.model, logs, data)
        return cls(
            logs,
            np.array([fit.value for fit in fits]),
            np.array([fit.steps for fit in fits]),
            np.stack([fit.inverse_hessian for fit in fits]),
            parts,
            data,
            factors,
        )

    def __len__(self) -> int:
        return len(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # without factors, which are large and soon computed again

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, int | np.integer):
            return [self[each] for each in np.arange(len(self))[place].tolist()]
        return Fitted(
            self.logs[place],
            self.parts[place],
            float(self.value[place]),
            int(self.steps[place]),
            self.inverse_hessian[place],
        )


class EmpiricalBayesGP(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Gaussian process regression whose hyperparameters maximise the marginal likelihood.

    A weak penalty on short length scales is added, which can be turned off (`scale_penalty`).
    Learns a length scale per column (ARD), the noise and, unless it is given, the prior variance
    by L-BFGS in float64; inputs and outcomes are standardised first. As the estimator of
    `nearbayes.PosteriorRegressor`, all draws are refitted in one compiled program, each starting at
    its last optimum, and rows drawn from an urn are counted, not repeated.

    Parameters
    ----------
    kernel : "matern12", "matern32", "matern52" or "rbf"
    variance : float, optional
        Prior variance of f(x) in units of the variance of y; learned if None. The paper's
        experiment uses 1.
    noise_floor : float
        Smallest standard deviation of the noise, in units of that of y. Without it, the marginal
        likelihood of a few rows may be largest for interpolation, with extreme test densities.
    scale_penalty : float
        Penalty in nats for a column whose length scale is its standard deviation; half that scale
        costs twice as much. If the columns say little about y, the marginal likelihood alone is
        often largest for a fit that interpolates every row and predicts worse than the mean. Any
        clear signal outweighs the penalty. The paper's experiment uses 0.
    initial : "default" or "random"
        Start of the search: 1 for all parameters, or random values around 1.
    n_restarts : int
        Number of additional random starts; the best result is used.
    max_steps, tolerance : int, float
        A search ends after `max_steps` steps of L-BFGS, or when the gradient per outcome is below
        `tolerance`. Refits of a posterior use ten times the tolerance, because draws differ by much
        more than that.
    precision : "float64" or "float32"
    random_state : None, int, numpy Generator or RandomState

    Attributes
    ----------
    length_scale_ : array of shape (n_columns,)
        In the units of X; infinite for a constant column, and at least a thousandth of the standard
        deviation of a column.
    noise_, variance_ : float
        Standard deviation of the noise and prior variance of f(x), in the units of y.
    log_marginal_likelihood_ : float

    Examples
    --------
    >>> import nearbayes as nb
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(40, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=40)
    >>> model = nb.gp.EmpiricalBayesGP().fit(X, y)
    >>> bool(0.2 < model.noise_ < 0.4)
    True
    """

    def __init__(
        self,
        kernel: KernelName = "matern32",
        *,
        variance: float | None = None,
        noise_floor: float = 0.01,
        scale_penalty: float = 1.0,
        initial: Literal["default", "random"] = "default",
        n_restarts: int = 0,
        max_steps: int = 200,
        tolerance: float = 1e-4,
        precision: Precision = "float64",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.variance = variance
        self.noise_floor = noise_floor
        self.scale_penalty = scale_penalty
        self.initial = initial
        self.n_restarts = n_restarts
        self.max_steps = max_steps
        self.tolerance = tolerance
        self.precision = precision
        self.random_state = random_state

    @property
    def model(self) -> Model:
        """Checked settings of the process."""
        check_kernel(self.kernel)
        if self.variance is not None and not 0 < self.variance < np.inf:
            raise ValueError(f"variance must be None or a positive number, got {self.variance!r}.")
        if not 0 < self.noise_floor < 1:
            raise ValueError(f"noise_floor must be between 0 and 1, got {self.noise_floor!r}.")
        if not 0 <= self.scale_penalty < np.inf:
            raise ValueError(
                f"scale_penalty must be a number, 0 or more, got {self.scale_penalty!r}."
            )
        if self.initial not in ("default", "random"):
            raise ValueError(f"initial must be 'default' or 'random', got {self.initial!r}.")
        return Model(self.kernel, self.variance, self.noise_floor, self.scale_penalty)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> EmpiricalBayesGP:
        """Learn the hyperparameters; a `sample_weight` of 2 counts a row twice."""
        rows, outcomes = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        data = Data.of(rows, outcomes, sample_weight)
        scaling = Scaling.of(data.x, data.y, data.counts)
        starts = self.starts(data.x.shape[1], Seeds(self.random_state).shared())
        part = _standardised(data, scaling)
        with one_error():
            return self.with_fit(fitted_many(self, starts[None], [part])[0], scaling)

    def with_fit(self, fitted: Fitted, scaling: Scaling) -> EmpiricalBayesGP:
        """Set the fitted attributes, and return self."""
        n_columns = len(scaling.x_mean)
        self.fitted_, self.scaling_, self.n_features_in_ = fitted, scaling, n_columns
        with computing_in("float64"):
            unpacked = self.model.unpacked(fitted.logs, n_columns)
        scales, noise, variance = (np.asarray(part) for part in unpacked)
        constant = np.ptp(np.asarray(fitted.data.x), axis=0) == 0
        self.length_scale_ = np.where(constant, np.inf, scales * scaling.x_sd)
        self.noise_ = float(np.sqrt(noise) * scaling.y_sd)
        self.variance_ = float(variance * scaling.y_sd**2)
        total = float(np.sum(fitted.data.count))
        self.log_marginal_likelihood_ = -total * (fitted.value + np.log(scaling.y_sd))
        return self

    def starts(self, n_columns: int, rng: Rng) -> Array:
        """Logarithms of the starts of the search, shape (1 + n_restarts, n_parameters)."""
        size = (1 + self.n_restarts, self.model.n_parameters(n_columns))
        starts = SPREAD * rng.standard_normal(size)
        if self.initial == "default":
            starts[0] = 0.0
        return np.asarray(starts)

    def condition(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> EmpiricalBayesGP:
        """Return a model with the same hyperparameters that predicts from other data.

        A draw of a posterior predicts from real and imputed rows, so draws differ as functions. If
        they are conditioned on the real rows, they differ only in their hyperparameters, and their
        average prediction has less Monte Carlo error.
        """
        check_is_fitted(self, "fitted_")
        rows, outcomes = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=False)
        data = Data.of(rows, outcomes, sample_weight)
        part = _standardised(data, self.scaling_)
        with computing_in(self.precision):
            value = float(negative_log_marginal(self.model, self.fitted_.logs, part))
        given = replace(self.fitted_, data=part, value=value)
        return type(self)(**self.get_params()).with_fit(given, self.scaling_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of f(x) and, if `return_std`, the standard deviation of a new y, noise included."""
        check_is_fitted(self, "fitted_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        with one_error():
            mean, variance, noise = predict_many(self, [self.fitted_], self.scaling_, rows[None])
        if not return_std:
            return mean[0]
        return mean[0], np.sqrt(variance[0] + noise[0])


def _standardised(data: Data, scaling: Scaling) -> Collapsed:
    """Data in standard units, one outcome per row."""
    return Collapsed(scaling.inputs(data.x), scaling.outcomes(data.y), data.counts, 0.0)


def fitted_many(
    estimator: EmpiricalBayesGP,
    starts: Array,
    parts: list[Collapsed],
    size: int | None = None,
    before: Sequence[Fitted] | None = None,
) -> FittedMany:
    """Fit many data sets at once, from `starts` of shape (n_draws, n_starts, n_parameters).

    They are padded to `size` rows. Refits start from the fits `before`, and their tolerance is
    `SLACK` times as large.
    """
    data = stacked(parts, size)
    with computing_in(estimator.precision):
        found, factors = maximised(
            estimator.model,
            starts,
            data,
            None if before is None else np.stack([fit.inverse_hessian for fit in before]),
            max_steps=estimator.max_steps,
            tolerance=estimator.tolerance * (1.0 if before is None else SLACK),
        )
    found = Minimum(*(np.asarray(part, dtype=np.float64) for part in found))
    refuse_draws(
        ~np.isfinite(found.value),
        "the marginal likelihood is not finite at any start: X may have rows that differ by less "
        "than floating-point precision, or noise_floor is too small for this precision; "
        "raise it.",
    )
    return FittedMany(*found, parts, data, factors)


def refuse_draws(bad: NDArray[np.bool_], message: str) -> None:
    """Report which of many fits failed, if any."""
    if bad.any():
        raise DrawsFailedError({int(k): FloatingPointError(message) for k in np.flatnonzero(bad)})


@contextmanager
def one_error() -> Iterator[None]:
    """Raise the error of a single fit unchanged."""
    try:
        yield
    except DrawsFailedError as failed:
        raise failed.errors[0] from None


def predict_many(
    estimator: EmpiricalBayesGP,
    fits: Sequence[Fitted],
    scaling: Scaling,
    x: Array,
    size: int | None = None,
) -> tuple[Array, Array, Array]:
    """Mean and variance of f(x), shape (n_fits, n_rows), and noise variance (n_fits, 1).

    `x` has shape (n_fits, n_rows, n_columns). Inputs and results are in the units of the user.
    """
    many = FittedMany.of(fits, estimator, size)
    means, variances = [], []
    for start in range(0, max(x.shape[1], 1), ROWS_AT_ONCE):
        rows = scaling.inputs(x[:, start : start + ROWS_AT_ONCE])
        n_rows = rows.shape[1]
        padded = np.zeros((len(rows), padded_size(n_rows, SMALLEST_SIZE), rows.shape[2]))
        padded[:, :n_rows] = rows
        with computing_in(estimator.precision):
            mean, variance, noise = predicted(
                estimator.model, many.logs, many.factors, many.data.x, padded
            )
        means.append(np.asarray(mean, dtype=np.float64)[:, :n_rows])
        variances.append(np.asarray(variance, dtype=np.float64)[:, :n_rows])
    mean = scaling.y_mean + scaling.y_sd * np.concatenate(means, axis=1)
    refuse_draws(
        ~np.asarray(np.isfinite(mean).all(axis=1)),
        "predictions are not finite: raise noise_floor, or use precision='float64'.",
    )
    unit = scaling.y_sd**2
    return (
        mean,
        unit * np.concatenate(variances, axis=1),
        unit * np.asarray(noise, dtype=np.float64)[:, None],
    )
