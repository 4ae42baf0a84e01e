"""PosteriorRegressor: posterior draws of any regressor and its noise."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from nearbayes.algorithms.regressors import regressor_algorithm
from nearbayes.core.data import Data, Rows
from nearbayes.core.protocols import Inputs
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import Seeds
from nearbayes.draws.credible import as_levels
from nearbayes.draws.functional import Spread
from nearbayes.estimators.conformal import conformal_interval, conformal_layer
from nearbayes.estimators.face import Method, PosteriorEstimator
from nearbayes.estimators.mixture import (
    mixture_log_density,
    mixture_quantiles,
    mixture_samples,
    mixture_std,
    noise_factor,
)
from nearbayes.execution.executor import OnError
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.learners.smooth_trees import SmoothTreesRegressor
from nearbayes.predictives.noise import NoiseName
from nearbayes.predictives.predictive import Predictive
from nearbayes.tables.table import Table, as_table, n_rows

__all__ = ["PosteriorRegressor"]

Array = NDArray[np.float64]
MOST_POINTS = 1_000


class PosteriorRegressor(RegressorMixin, PosteriorEstimator):  # type: ignore[misc]
    """Bayesian uncertainty for any regressor, without a prior.

    Parameters
    ----------
    estimator : regressor, optional
        Any scikit-learn regressor; never changed. Default: `SmoothTreesRegressor`, boosted trees
        blended with a smooth model, which accepts missing values and categorical
        columns. AutoGluon's `TabularPredictor`, configured but not fitted, also works.
    noise : str or callable
        Distribution around the prediction, learned from out-of-fold predictions: "gaussian"
        (normal), "residual" (resampled residuals: skewed, heavy tails), "heteroscedastic" (normal
        with a variance that depends on x), "poisson" (counts, overdispersed if needed), "gamma"
        (positive) or "tweedie" (positive or 0). "auto" is one of the last three if that is the
        estimator's loss; else "gaussian", or "residual" if residuals are clearly not normal
        (Jarque-Bera, p < 0.001). "estimator" uses the estimator's own distribution (``predict(X,
        return_std=True)`` or NGBoost's ``pred_dist``). A function ``noise(mean, x, rng)`` returns
        one y per row.
    n_draws, n_refits, method, inputs, schedule, calibration, n_jobs, random_state
    on_error, progress, warm_start, executor, checkpoint, draw_timeout, draw_memory
        As in `PosteriorClassifier`.

    Attributes
    ----------
    posterior_ : Posterior
        The draws; ``posterior_.predict(X)`` has shape (n_draws, n_rows[, n_outputs]).
    noise_factor_ : float
        Factor for the noise in predictive intervals: out-of-fold residuals contain the error of the
        fit, which the spread of the draws contains again.
    calibration_, schedule_, schedule_scores_, estimators_
        As in `PosteriorClassifier`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = nb.PosteriorRegressor(Ridge(), n_draws=20, random_state=0).fit(X, y)
    >>> model.predict_interval(X[:3], coverage=0.9, kind="credible").shape
    (3, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        noise: NoiseName | Callable[..., Any] = "auto",
        n_draws: int | Literal["quick"] = 50,
        n_refits: int | None = None,
        method: Method = "martingale",
        inputs: Inputs | str = "urn",
        schedule: Schedule | Literal["auto"] | None = None,
        calibration: Literal["auto", "simulation"] | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        on_error: OnError = "report",
        progress: bool | None = None,
        warm_start: bool = False,
        executor: ExecutorChoice = None,
        checkpoint: str | os.PathLike[str] | None = None,
        draw_timeout: float | None = None,
        draw_memory: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.n_draws = n_draws
        self.n_refits = n_refits
        self.method = method
        self.inputs = inputs
        self.schedule = schedule
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.on_error = on_error
        self.progress = progress
        self.warm_start = warm_start
        self.executor = executor
        self.checkpoint = checkpoint
        self.draw_timeout = draw_timeout
        self.draw_memory = draw_memory

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        predict_on: Any = None,
        **fit_params: Any,
    ) -> PosteriorRegressor:
        """Draw the posterior.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, sparse matrix, pandas or polars data frame; passed to the estimator unchanged.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional
            Counts of rows: weight 2 means that the row occurs twice, weight 0 that it is absent.
        predict_on : table of shape (n_new_rows, n_columns), optional
            Keep only the predictions of a draw at these rows, for models that are too large to
            keep. Prediction then works only for this table.
        **fit_params : dict
            Further arguments of the estimator's `fit`, the same at every fit.
        """
        table = self._table(X, reset=True)
        data = Data.of(table, self._checked_target(y), sample_weight)
        self._fit_posterior(self._algorithm(fit_params), data, predict_on)
        self.noise_factor_ = self._noise_factor(data, predict_on)
        return self

    def _algorithm(self, fit_params: dict[str, Any]) -> Any:
        """The algorithm that fits the regressor and its noise."""
        routed = self._routed(fit_params)
        return regressor_algorithm(self._base_estimator(), self.noise, routed, self._is_quick)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Posterior mean of the regression function.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        return_std : bool
            Whether to also return the standard deviation of y, for the regression function
            (corrected for truncation) and the noise together.

        Returns
        -------
        mean, or (mean, std), each of shape (n_rows,) or (n_rows, n_outputs)
        """
        if not return_std:
            return self.posterior_predictions(X).mean(axis=0)
        predictives = self._predictives(X)
        mean = np.mean([part.mean for part in predictives], axis=0)
        return mean, mixture_std(predictives, self._rows(X), self._fixed_rng())

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        *,
        kind: Literal["predictive", "credible", "conformal"] = "predictive",
        spread: Spread | None = None,
    ) -> Array:
        """Interval of a new y ("predictive", "conformal") or of the regression function.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        coverage : float or sequence of float
        kind : "predictive", "credible" or "conformal"
            "credible" is for the regression function, the same as `posterior_.interval`;
            "conformal" needs `conformalize`.
        spread : "raw", "inflated" or "calibrated", optional
            How draws are spread. By default the best available: for "credible",
            ``posterior_.spread``; for "predictive", "inflated", with noise scaled so that both
            together have the variance of residuals ("raw": neither is scaled).

        Returns
        -------
        array of shape (n_rows, 2), or (n_rows, 2, n_levels) for several levels; with several
        outputs (n_rows, n_outputs, 2) and (n_rows, n_outputs, 2, n_levels)
        """
        if kind == "credible":
            return self.posterior_.interval(self._new_table(X), coverage, spread=spread)
        if kind == "conformal":
            return self._conformal_interval(X, coverage)
        if kind != "predictive":
            raise ValueError(f"kind must be 'predictive', 'credible' or 'conformal', got {kind!r}.")
        levels = np.atleast_1d(np.asarray(coverage, dtype=np.float64))
        tails = np.concatenate([(1 - levels) / 2, (1 + levels) / 2])
        quantiles = self.predict_quantiles(X, tails, spread=spread)
        bounds = quantiles.reshape(*quantiles.shape[:-1], 2, len(levels))
        return bounds[..., 0] if np.ndim(coverage) == 0 else bounds

    def conformalize(self, X: Any, y: ArrayLike) -> PosteriorRegressor:
        """Learn the width of conformal predictive intervals from rows that `fit` has not seen.

        Then ``predict_interval(X, kind="conformal")`` has at least its nominal coverage, over new
        rows like these, for any noise. Needs crepes: ``pip install 'nearbayes[conformal]'``.

        Examples
        --------
        >>> import nearbayes as nb
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = nb.PosteriorRegressor(Ridge(), n_draws=20, random_state=0).fit(X[:300], y[:300])
        >>> model = model.conformalize(X[300:400], y[300:400])
        >>> model.predict_interval(X[400:], kind="conformal").shape
        (42, 2)
        """
        mean, std = self.predict(X, return_std=True)
        self.conformal_ = conformal_layer(mean, std, np.asarray(y, dtype=np.float64))
        return self

    def _conformal_interval(self, X: Any, coverage: float | Sequence[float]) -> Array:
        if not hasattr(self, "conformal_"):
            raise ValueError(
                "kind='conformal' needs rows that fit has not seen: call conformalize(X, y) first."
            )
        mean, std = self.predict(X, return_std=True)
        return conformal_interval(self.conformal_, mean, std, coverage)

    def predict_quantiles(
        self, X: Any, quantiles: float | Sequence[float] | Array, *, spread: Spread | None = None
    ) -> Array:
        """Quantiles of a new y, shape (n_rows[, n_outputs], n_quantiles).

        `spread` is "inflated" (the default) or "raw", as in `predict_interval`.
        """
        levels = as_levels(quantiles, "quantiles")
        if spread not in (None, "inflated", "raw"):
            raise ValueError(
                f"spread must be 'inflated' or 'raw' for a new y, got {spread!r}: calibrated "
                "intervals are for the regression function, kind='credible'."
            )
        predictives = self._predictives(X, spread or "inflated")
        return mixture_quantiles(predictives, self._rows(X), levels, self._fixed_rng())

    def sample(self, X: Any, n_samples: int = 100, *, random_state: Any = None) -> Array:
        """Outcomes from the posterior predictive, shape (n_samples, n_rows[, n_outputs]).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        n_samples : int
        random_state : None, int, numpy Generator or RandomState
        """
        rng = Seeds(random_state).shared()
        return mixture_samples(self._predictives(X), self._rows(X), n_samples, rng)

    def log_density(self, X: Any, y: ArrayLike) -> Array:
        """Log density of outcomes under the posterior predictive, shape (n_rows,).

        Its mean over test rows, negated, is the NLPD.
        """
        outcomes = np.asarray(y, dtype=np.float64)
        return mixture_log_density(self._predictives(X), outcomes)

    def posterior_predictions(self, X: Any) -> Array:
        """The regression function of every draw, shape (n_draws, n_rows[, n_outputs])."""
        table = self._new_table(X)
        return self.posterior_.predict(table)

    def _predictives(self, X: Any, spread: Spread = "inflated") -> list[Predictive]:
        """Predictive distribution of every draw; noise and spread together match the residuals."""
        parts = self._spread(self._new_table(X), spread)
        if spread == "raw" or self.noise_factor_ == 1:
            return parts
        return [part.scaled(self.noise_factor_) for part in parts]  # type: ignore[attr-defined]

    def _noise_factor(self, data: Data, predict_on: Any) -> float:
        """Factor for the noise, from some training rows or the rows of kept predictions."""
        traits = self.posterior_.chunks.traits
        if traits.own_variance or not traits.calibrate:  # noise without the error of the fit
            return 1.0
        if predict_on is not None:
            table = as_table(predict_on)
            return noise_factor(self._spread(table), np.ones(n_rows(table)))
        few = data.select(np.arange(len(data.y))[:: -(-len(data.y) // MOST_POINTS)])
        return noise_factor(self._spread(few.x), few.counts)

    def _spread(self, table: Table, spread: Spread = "inflated") -> list[Predictive]:
        """Predictive distribution of every draw, with means spread to correct for truncation."""
        parts = self.posterior_.predictives(table)
        if self.posterior_.chunks.traits.own_variance:
            return parts
        means = self.posterior_.of_predictions(np.stack([part.mean for part in parts]))
        return [part.moved(mean) for part, mean in zip(parts, means.adjusted(spread), strict=True)]

    def _rows(self, X: Any) -> Rows:
        return Rows.every(as_table(X))

    def _fixed_rng(self) -> np.random.Generator:
        """The same numbers for the same fit, so that predictions can be repeated."""
        return Seeds(self.posterior_.provenance.seed).shared()

    def _base_estimator(self) -> Any:
        return SmoothTreesRegressor() if self.estimator is None else self.estimator

    def _checked_target(self, y: ArrayLike) -> Array:
        if y is None:
            raise ValueError(
                "PosteriorRegressor requires y to be passed, but the target y is None: "
                "call fit(X, y)."
            )
        outcomes = check_array(
            y, ensure_2d=False, dtype="numeric", ensure_all_finite=False, input_name="y"
        ).astype(np.float64)
        multi_output = self.__sklearn_tags__().target_tags.multi_output
        if outcomes.ndim == 2 and (outcomes.shape[1] == 1 or not multi_output):
            return np.asarray(column_or_1d(outcomes, warn=True))
        return np.asarray(outcomes)
