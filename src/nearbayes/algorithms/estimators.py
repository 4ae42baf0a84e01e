"""Estimators: any scikit-learn classifier, regressor or density estimator as an algorithm."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression

from nearbayes.core.data import Block, Data, Rows
from nearbayes.core.protocols import Algorithm, Rng, Traits
from nearbayes.core.schedule import usual_schedule
from nearbayes.core.seeds import integer_seed
from nearbayes.core.tables import Table
from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.estimator_fit import EstimatorFit, has_no_missing
from nearbayes.fits.targets import class_codes
from nearbayes.predictives.noise import Noise, NoiseName, learn_noise
from nearbayes.predictives.positive import PowerNoise
from nearbayes.predictives.predictive import CategoricalPredictive, Predictive
from nearbayes.predictives.recalibration import Recalibration, learn_recalibration

__all__ = ["ClassifierAlgorithm", "DensityAlgorithm", "NoisyRegressor", "RegressorAlgorithm"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassifierAlgorithm(Algorithm):
    """A classifier with `predict_proba`: labels are imputed from its probabilities.

    Parameters
    ----------
    fitting : EstimatorFit
        The estimator and what its `fit` is called with.
    classes : array of shape (n_classes,), optional
        Class labels; learned from the data when left out.
    labels : array of shape (n_classes,), optional
        What the estimator calls the classes: mostly the same.
    recalibration : Recalibration, optional
        From predicted probabilities to those that labels are imputed from; learned from the data
        for flexible learners and for those with class weights.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> posterior = nb.martingale_posterior(
    ...     ClassifierAlgorithm.of(GaussianNB()), load_iris(return_X_y=True),
    ...     n_draws=5, random_state=0)
    >>> posterior.predict(load_iris().data[:2]).shape
    (5, 2, 3)
    """

    fitting: EstimatorFit
    classes: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    recalibration: Recalibration | None = None

    @classmethod
    def of(cls, estimator: Any, **fit_params: Any) -> ClassifierAlgorithm:
        """Wrap a classifier; further arguments go to its `fit`."""
        return cls(fitting_of(estimator, fit_params))

    @cached_property
    def traits(self) -> Traits:
        """Those of the estimator; probabilities are spread on the scale of log-odds."""
        return replace(self.fitting.traits, link="logit", classes=self.classes)

    def prepare(self, data: Data, rng: Rng) -> tuple[ClassifierAlgorithm, Data]:
        """Check the estimator and turn labels into class codes."""
        estimator = self.fitting.estimator
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, but {type(estimator).__name__} as configured "
                "has none: wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        seen = np.unique(data.y)
        if len(seen) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got only the class {seen[0]!r}: "
                "there is nothing to classify."
            )
        classes = seen if self.classes is None else self.classes
        codes = class_codes(data.y, classes, "y")
        fitting, labels = self.fitting.for_table(data.table).for_classes(classes)
        coded = replace(data, y=codes)
        tuned = fitting.tuned(coded, rng)
        prepared = replace(self, fitting=tuned, classes=classes, labels=labels)
        return prepared._recalibrated(coded, rng), coded

    def _recalibrated(self, data: Data, rng: Rng) -> ClassifierAlgorithm:
        """Learn from which probabilities to impute labels, where those of a fit may mislead.

        A fit that real rows stop is not over-confident: correcting it made predictions worse.
        """
        weighted = self.fitting.has_class_weights
        trusted = self.fitting.stops_on_real_rows or not self.fitting.traits.calibrate
        if trusted and not weighted:
            return self
        learned = learn_recalibration(
            self.fit,
            self.predict,
            data,
            len(self.classes),  # type: ignore[arg-type]
            rng,
            with_slope=not weighted,
        )
        return replace(self, recalibration=learned)

    def simulate(
        self, outcomes: Callable[[Table], NDArray[Any]], data: Data
    ) -> tuple[ClassifierAlgorithm, Data]:
        """Other labels at the real inputs, and how to fit them: evaluation sets get others, too."""
        fitting = self.fitting.with_outcomes(lambda x, y: outcomes(x))
        return replace(self, fitting=fitting), replace(data, y=outcomes(data.x))

    def fit(self, data: Data, rng: Rng) -> Any:
        """Fit a clone; data with one class left gives that class probability 1."""
        if len(np.unique(data.y)) == 1:  # a bootstrap sample that lost the others
            return DummyClassifier().fit(data.x, self.labels[data.y])  # type: ignore[index]
        return self.fitting.fit(data, integer_seed(rng), self.labels)

    def refit(self, data: Data, new: Block, model: Any, rng: Rng) -> Any:
        """Fit a clone from scratch on real and imputed rows."""
        return self.fitting.fit(data, integer_seed(rng), self.labels)

    def sample(self, model: Any, x: Rows, rng: Rng) -> NDArray[np.intp]:
        """Class codes drawn from the predicted probabilities, recalibrated if need be."""
        probabilities = self.predict(model, x.distinct)
        if self.recalibration is not None:
            probabilities = self.recalibration.applied(probabilities)
        return CategoricalPredictive(probabilities).sample(x, rng)

    def predict(self, model: Any, x: Table) -> Array:
        """Class probabilities, shape (n_rows, n_classes), in the order of `classes`."""
        assert self.labels is not None
        self.fitting.check_inputs(x)
        seen = has_no_missing(np.asarray(model.predict_proba(x), dtype=np.float64), model)
        probabilities = np.zeros((len(seen), len(self.labels)))
        probabilities[:, np.searchsorted(self.labels, model.classes_)] = seen
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def predictive(self, model: Any, x: Table) -> CategoricalPredictive:
        """Distribution of the class code at each row."""
        return CategoricalPredictive(self.predict(model, x))


@dataclass(frozen=True)
class NoisyRegressor:
    """A fitted regressor and the noise around it: what one draw of a regression is."""

    estimator: Any
    noise: Noise


@dataclass(frozen=True)
class RegressorAlgorithm(Algorithm):
    """A regressor and a noise model: outcomes are imputed as prediction plus noise.

    Parameters
    ----------
    fitting : EstimatorFit
        The estimator and what its `fit` is called with.
    noise : name or callable
        What is around the prediction; see `PosteriorRegressor`.
    learned : Noise, optional
        The noise as learned from the real rows.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> posterior = nb.martingale_posterior(
    ...     RegressorAlgorithm.of(LinearRegression()), load_diabetes(return_X_y=True),
    ...     n_draws=5, random_state=0)
    >>> posterior.apply(lambda model: model.coef_).values.shape
    (5, 10)
    """

    fitting: EstimatorFit
    noise: NoiseName | Callable[..., Any] = "auto"
    learned: Noise | None = None

    @classmethod
    def of(
        cls, estimator: Any, noise: NoiseName | Callable[..., Any] = "auto", **fit_params: Any
    ) -> RegressorAlgorithm:
        """Wrap a regressor; further arguments go to its `fit`."""
        return cls(fitting_of(estimator, fit_params), noise)

    @cached_property
    def traits(self) -> Traits:
        """Those of the estimator; what cannot be negative is spread on the log scale."""
        positive = isinstance(self.learned, PowerNoise)
        return replace(self.fitting.traits, link="log" if positive else "identity")

    def prepare(self, data: Data, rng: Rng) -> tuple[RegressorAlgorithm, Data]:
        """Learn the noise from real rows."""
        numeric = replace(data, y=np.asarray(data.y, dtype=np.float64))
        if (numeric.y == numeric.y[0]).all():
            raise ValueError(
                f"y is constant ({np.ravel(numeric.y)[0]:g} in every row): there is no noise to "
                "learn from, so there is no posterior to draw."
            )
        fitting = self.fitting.for_table(data.table).tuned(numeric, rng)
        learned = learn_noise(self.noise, fitting, numeric, rng)
        return replace(self, fitting=fitting, learned=learned), numeric

    def simulate(
        self, outcomes: Callable[[Table], NDArray[Any]], data: Data
    ) -> tuple[RegressorAlgorithm, Data]:
        """Other outcomes at the real inputs; evaluation sets get others, too."""
        fitting = self.fitting.with_outcomes(lambda x, y: outcomes(x))
        return replace(self, fitting=fitting), replace(data, y=outcomes(data.x))

    def fit(self, data: Data, rng: Rng) -> NoisyRegressor:
        """Fit a clone."""
        assert self.learned is not None
        return NoisyRegressor(self.fitting.fit(data, integer_seed(rng)), self.learned)

    def refit(self, data: Data, new: Block, model: NoisyRegressor, rng: Rng) -> NoisyRegressor:
        """Fit a clone from scratch on real and imputed rows, and move the noise level."""
        mean = new.x.repeat(self.predict(model, new.x.distinct))
        noise = model.noise.updated(new.x, new.y, mean, new.size / new.total)
        return NoisyRegressor(self.fitting.fit(data, integer_seed(rng)), noise)

    def sample(self, model: NoisyRegressor, x: Rows, rng: Rng) -> Array:
        """Outcomes drawn around the prediction."""
        return self.predictive(model, x.distinct).sample(x, rng)

    def predict(self, model: NoisyRegressor, x: Table) -> Array:
        """The regression function, shape (n_rows,) or (n_rows, n_outputs)."""
        self.fitting.check_inputs(x)
        mean = np.asarray(model.estimator.predict(x), dtype=np.float64)
        return has_no_missing(mean, model.estimator)

    def predictive(self, model: NoisyRegressor, x: Table) -> Predictive:
        """Distribution of y at each row."""
        return model.noise.around(model.estimator, x, self.predict(model, x))

    def reveal(self, model: NoisyRegressor) -> Any:
        """The fitted estimator."""
        return model.estimator


@dataclass(frozen=True)
class DensityAlgorithm(Algorithm):
    """A density estimator with `fit` and `sample` (GaussianMixture, KernelDensity).

    Refits start from the previous fit where the estimator has `warm_start`, so that mixture
    components keep their places along a path.

    Parameters
    ----------
    fitting : EstimatorFit

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.mixture import GaussianMixture
    >>> z = np.random.default_rng(0).normal(size=(60, 2))
    >>> posterior = nb.martingale_posterior(
    ...     DensityAlgorithm.of(GaussianMixture(1)), z, n_draws=4, random_state=0)
    >>> posterior.apply(lambda mixture: mixture.means_[0]).values.shape
    (4, 2)
    """

    fitting: EstimatorFit

    @classmethod
    def of(cls, estimator: Any, **fit_params: Any) -> DensityAlgorithm:
        """Wrap a density estimator; further arguments go to its `fit`."""
        if not (hasattr(estimator, "fit") and hasattr(estimator, "sample")):
            raise TypeError(
                f"estimator must have fit and sample, but {type(estimator).__name__} has not: "
                "use nearbayes.algorithm(fit, sample)."
            )
        return cls(EstimatorFit(estimator, fit_params))

    @cached_property
    def traits(self) -> Traits:
        """Those of the estimator, but without short forms: there are no inputs to repeat."""
        return replace(self.fitting.traits, counts=False, schedule=usual_schedule)

    def fit(self, data: Data, rng: Rng) -> Any:
        """Fit a clone to the observations."""
        return self.fitting.fit(_as_inputs(data), integer_seed(rng))

    def refit(self, data: Data, new: Block, model: Any, rng: Rng) -> Any:
        """Fit again, from the previous fit where the estimator can."""
        if "warm_start" not in model.get_params():
            return self.fit(data, rng)
        rows = _as_inputs(data if data.count is None else data.repeat())
        started = copy.deepcopy(model).set_params(warm_start=True)
        return started.fit(rows.x, **self.fitting.params)

    def sample(self, model: Any, x: Rows, rng: Rng) -> Array:
        """Observations drawn from the fitted density."""
        if "random_state" in inspect.signature(model.sample).parameters:
            return np.asarray(model.sample(len(x), random_state=integer_seed(rng)))
        seeded = copy.copy(model).set_params(random_state=integer_seed(rng))
        drawn = seeded.sample(len(x))
        # GaussianMixture gives the component of each observation, too, and sorts by it
        return np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)


def _as_inputs(data: Data) -> Data:
    """Observations as the table that scikit-learn's density estimators call X."""
    if data.y.ndim != 2:
        raise ValueError(
            f"data must have rows and columns for a density estimator, got shape {data.y.shape}: "
            "use z[:, None] for one column."
        )
    return Data(data.y, None, np.zeros(len(data.y)), data.count)


def example() -> tuple[RegressorAlgorithm, Data]:
    """Linear regression, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return RegressorAlgorithm.of(LinearRegression()), Data.of(X, X[:, 0] + rng.normal(size=60))
