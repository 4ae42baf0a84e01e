"""PosteriorClassifier: posterior draws of any classifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import entropy
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from nearbayes.algorithms.classifiers import classifier_algorithm
from nearbayes.core.data import Data
from nearbayes.core.engine import DrawWarning
from nearbayes.core.protocols import Inputs
from nearbayes.core.schedule import Schedule
from nearbayes.draws.functional import Functional, Spread
from nearbayes.estimators.face import Method, PosteriorEstimator
from nearbayes.estimators.rare import warn_of_rare_classes
from nearbayes.execution.executor import OnError
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.learners.smooth_trees import SmoothTreesClassifier
from nearbayes.telling import warn

__all__ = ["PosteriorClassifier", "Uncertainty"]


@dataclass(frozen=True)
class Uncertainty:
    """Entropy of the prediction, split in two, in nats; arrays of shape (n_rows,).

    Attributes
    ----------
    total : array
        Entropy of the mean probabilities.
    aleatoric : array
        Mean entropy of the draws' probabilities: what more rows would not remove.
    epistemic : array
        The difference, the mutual information of class and model: what more rows would remove.
    """

    total: NDArray[np.float64]
    aleatoric: NDArray[np.float64]
    epistemic: NDArray[np.float64]

    @classmethod
    def of(cls, predictions: Functional) -> Uncertainty:
        """Split class probabilities of draws, which have the spread of their intervals."""
        if len(predictions.values) < 2:
            raise ValueError(
                "epistemic uncertainty needs at least 2 draws, got 1: draw again with a larger "
                "n_draws."
            )
        spread = predictions.adjusted()
        draws = spread / spread.sum(axis=-1, keepdims=True)
        total = entropy(draws.mean(axis=0), axis=1)
        aleatoric = entropy(draws, axis=2).mean(axis=0)
        # Jensen's inequality says >= 0; equal draws may miss it by rounding error.
        return cls(total, aleatoric, np.maximum(total - aleatoric, 0.0))


class PosteriorClassifier(ClassifierMixin, PosteriorEstimator):  # type: ignore[misc]
    """Bayesian uncertainty for any classifier with `predict_proba`, without a prior.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier with `predict_proba`; never changed. Default:
        `SmoothTreesClassifier`, boosted trees blended with a smooth model, which accepts
        missing values and categorical columns. AutoGluon's `TabularPredictor`, configured but not
        fitted, also works.
    n_draws : int or "quick"
        Number of posterior draws; each is a fitted estimator. "quick" is a first look, in at most
        three times the time of a 5-fold cross-validation: 6 draws with one refit, and rough
        intervals, which are not calibrated. To refine it, fit again with ``n_draws=50`` and
        ``warm_start=True``.
    n_refits : int, optional
        Refits per draw; default 8, 4 for boosted trees, 1 for AutoGluon. More refits capture more
        of the posterior variance; intervals are corrected for the rest. With 0, draws
        are first fits. Boosted trees and AutoGluon use equal blocks up to a horizon of n rows,
        which predict best for them (docs/design.md); other estimators use the blocks that capture
        the most variance.
    method : "martingale", "bootstrap", "parametric_bootstrap", "ensemble", "anchored" or "ntkgp"
        Martingale posterior (the paper's Algorithm 1), or a baseline; the last two are for
        networks.
    inputs : "urn", "kde" or object of `nearbayes.inputs`
        Where imputed rows of X come from.
    schedule : Schedule or "auto", optional
        Overrides `n_refits`. "auto" chooses among a few schedules by held-out log score; each
        candidate costs a trial run with up to 16 draws.
    calibration : "auto", "simulation" or None
        Whether intervals of the prediction are calibrated by simulation (`calibration.py`), at
        about 1.4 times the cost of the draws. "auto" calibrates flexible learners (trees, forests,
        networks, ...), which need it, but not linear ones, and not AutoGluon, for which it would
        take hours.
    n_jobs : int, optional
        Number of processes; None uses the setting of ``joblib.parallel_config``.
    random_state : None, int, numpy Generator or RandomState
    on_error : "report" or "raise"
        Report draws that fail and keep the others, or raise the first error.
    progress : bool, optional
        Show a progress bar with a cost estimate; None shows it on a terminal.
    warm_start : bool
        Whether `fit`, called again with the same data and settings, keeps existing draws and makes
        only missing ones: after Ctrl-C, or with a larger `n_draws`.
    executor : str or Dask client, optional
        Where draws and simulated data sets run: "serial", "threads", "processes", "dask",
        "ray", the address of a Dask scheduler or a Dask client. None uses the
        setting of ``joblib.parallel_config``. Draws are the same everywhere, bit for bit.
    checkpoint : path or str, optional
        A folder, or an address such as s3://bucket/prefix, where finished draws and simulated data
        sets are stored. The same `fit`, in another process, continues from there. It contains
        pickles, so trust it only as much as the code that wrote it.
    draw_timeout : float, optional
        Time limit per draw in seconds; its worker process is then stopped and the draw counts as
        failed. The first fit, in this process, has no limit.
    draw_memory : float, optional
        Memory limit in bytes: how much a worker process may grow during a draw before it is stopped
        and the draw counts as failed; on Linux.

    Attributes
    ----------
    posterior_ : Posterior
        The draws; ``posterior_.predict(X)`` has shape (n_draws, n_rows, n_classes).
    classes_ : array of shape (n_classes,)
    schedule_ : Schedule
        The schedule used (method "martingale").
    schedule_scores_ : dict
        Held-out scores of the candidates (schedule "auto").
    estimators_ : list
        The fitted estimator of every draw.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = nb.PosteriorClassifier(GaussianNB(), n_draws=20, random_state=0).fit(X, y)
    >>> model.predict_interval(X[:3], coverage=0.9).shape
    (3, 2, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
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
    ) -> PosteriorClassifier:
        """Draw the posterior.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, sparse matrix, pandas or polars data frame; passed to the estimator unchanged.
        y : array of shape (n_rows,)
            Class labels.
        sample_weight : array of shape (n_rows,), optional
            Counts of rows: weight 2 means that the row occurs twice, weight 0 that it is absent.
        predict_on : table of shape (n_new_rows, n_columns), optional
            Keep only the predictions of a draw at these rows, for models that are too large to
            keep. Prediction then works only for this table.
        **fit_params : dict
            Further arguments of the estimator's `fit`, the same at every fit.
        """
        table = self._table(X, reset=True)
        labels = self._checked_target(y)
        data = Data.of(table, labels, sample_weight)
        check_classification_targets(labels)
        self._fit_posterior(self._algorithm(fit_params), data, predict_on)
        self.classes_ = self.posterior_.algorithm.classes
        self._warn_of_lost_classes()
        warn_of_rare_classes(self.posterior_.algorithm, data)
        return self

    def _algorithm(self, fit_params: dict[str, Any]) -> Any:
        """The algorithm that fits the classifier."""
        routed = self._routed(fit_params)
        return classifier_algorithm(self._base_estimator(), routed, self._is_quick)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Posterior mean of the class probabilities, shape (n_rows, n_classes)."""
        return np.asarray(self.posterior_predictions(X).mean(axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class under the posterior mean, shape (n_rows,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_interval(
        self, X: Any, coverage: float | Sequence[float] = 0.9, *, spread: Spread | None = None
    ) -> NDArray[np.float64]:
        """Credible interval of every class probability, the same as `posterior_.interval`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        coverage : float or sequence of float
        spread : "raw", "inflated" or "calibrated", optional
            By default the best available, ``posterior_.spread``: calibrated by simulation, or
            inflated for the truncated schedule; on the log-odds scale.

        Returns
        -------
        array of shape (n_rows, n_classes, 2), or (n_rows, n_classes, 2, n_levels)
        """
        return self.posterior_.interval(self._new_table(X), coverage, spread=spread)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Split the entropy of each prediction into aleatoric and epistemic parts.

        The draws have the spread of the intervals of `predict_interval`.
        """
        return Uncertainty.of(self.posterior_.predictions(self._new_table(X)))

    def posterior_predictions(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of every draw, shape (n_draws, n_rows, n_classes)."""
        table = self._new_table(X)
        return self.posterior_.predict(table)

    def _base_estimator(self) -> Any:
        return SmoothTreesClassifier() if self.estimator is None else self.estimator

    def _checked_target(self, y: ArrayLike) -> NDArray[Any]:
        try:
            return np.asarray(column_or_1d(y, warn=True))
        except ValueError as error:
            if np.ndim(y) < 2:
                raise
            raise ValueError(
                f"{error} For several labels per row, fit one classifier for each, such as y[:, 0]."
            ) from error

    def _warn_of_lost_classes(self) -> None:
        """Warn if draws never saw a class: bootstrap samples can miss a rare one."""
        seen = [set(draw.classes_.tolist()) for draw in self.posterior_.draws]
        names = self.posterior_.algorithm.labels.tolist()
        for label, name in zip(self.classes_.tolist(), names, strict=True):
            lost = sum(name not in classes for classes in seen)
            if lost:
                warn(
                    f"class {label!r} was in no resampled row of {lost} of {len(seen)} draws, "
                    "which give it probability 0: use method='martingale', which keeps all rows.",
                    DrawWarning,
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags
