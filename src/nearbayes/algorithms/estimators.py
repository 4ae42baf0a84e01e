"""Estimators: any scikit-learn classifier, regressor or density estimator as an algorithm."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression

from nearbayes.core.data import Block, Data, Rows
from nearbayes.core.protocols import Algorithm, Rng, Traits
from nearbayes.core.schedule import usual_schedule
from nearbayes.core.seeds import integer_seed
from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.estimator_fit import EstimatorFit, has_no_missing
from nearbayes.fits.targets import class_codes
from nearbayes.predictives.noise import QUICK, USUAL, Noise, NoiseName, learn_noise
from nearbayes.predictives.positive import PowerNoise
from nearbayes.predictives.predictive import CategoricalPredictive, Predictive
from nearbayes.predictives.recalibration import ENOUGH_ROWS, Recalibration, learn_recalibration
from nearbayes.tables.table import Table

__all__ = ["ClassifierAlgorithm", "DensityAlgorithm", "NoisyRegressor", "RegressorAlgorithm"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassifierAlgorithm(Algorithm):
    """A classifier with `predict_proba`: labels are imputed from its probabilities.

    Parameters
    ----------
    fitting : EstimatorFit
        The estimator and the arguments of its `fit`.
    classes : array of shape (n_classes,), optional
        Class labels; learned from the data by default.
    labels : array of shape (n_classes,), optional
        The estimator's own names of the classes, usually the same.
    recalibration : Recalibration, optional
        Maps predicted probabilities to those from which labels are imputed; learned from the data
        for flexible learners and for those with class weights.
    quick : bool
        Whether it is learned from a few folds, and all draws share the first fit.

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
    quick: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, estimator: Any, **fit_params: Any) -> ClassifierAlgorithm:
        """Wrap a classifier; further arguments go to its `fit`."""
        return cls(fitting_of(estimator, fit_params))

    @cached_property
    def traits(self) -> Traits:
        """Those of the estimator; probabilities are spread on the scale of log-odds."""
        traits = _shared_start(self.fitting.traits) if self.quick else self.fitting.traits
        return replace(traits, link="logit", classes=self.classes)

    def prepare(self, data: Data, rng: Rng) -> tuple[ClassifierAlgorithm, Data]:
        """Check the estimator and turn labels into class codes."""
        estimator = self.fitting.estimator
        _refuse_other_kind(estimator, "classifier")
        if not _gives_probabilities(estimator):
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

    def coded(self, data: Data) -> Data:
        """Labels as class codes."""
        assert self.classes is not None
        return replace(data, y=class_codes(data.y, self.classes, "y"))

    def _recalibrated(self, data: Data, rng: Rng) -> ClassifierAlgorithm:
        """Learn the probabilities for imputing labels, if those of a fit may be biased.

        A fit with early stopping on real rows is not overconfident: correction made predictions
        worse.
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
            enough=QUICK.enough if self.quick else ENOUGH_ROWS,
        )
        return replace(self, recalibration=learned)

    def simulate(
        self, outcomes: Callable[[Table], NDArray[Any]], data: Data
    ) -> tuple[ClassifierAlgorithm, Data]:
        """Simulated labels at the real inputs and in evaluation sets, and their algorithm."""
        fitting = self.fitting.with_outcomes(lambda x, y: outcomes(x))
        return replace(self, fitting=fitting), replace(data, y=outcomes(data.x))

    def fit(self, data: Data, rng: Rng) -> Any:
        """Fit a clone; if the data have only one class, it gets probability 1."""
        if len(np.unique(data.y)) == 1:  # a bootstrap sample without the other classes
            return DummyClassifier().fit(data.x, self.labels[data.y])  # type: ignore[index]
        return self.fitting.fit(data, integer_seed(rng), self.labels)

    def refit(self, data: Data, new: Block, model: Any, rng: Rng) -> Any:
        """Fit a clone from scratch on real and imputed rows."""
        return self.fitting.fit(data, integer_seed(rng), self.labels)

    def sample(self, model: Any, x: Rows, rng: Rng) -> NDArray[np.intp]:
        """Class codes drawn from the predicted probabilities, recalibrated if needed."""
        return np.concatenate([self._sampled(model, part, rng) for part in x.pieces()])

    def _sampled(self, model: Any, x: Rows, rng: Rng) -> NDArray[np.intp]:
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
    """A fitted regressor and the noise around it: one draw of a regression."""

    estimator: Any
    noise: Noise


@dataclass(frozen=True)
class RegressorAlgorithm(Algorithm):
    """A regressor and a noise model: outcomes are imputed as prediction plus noise.

    Parameters
    ----------
    fitting : EstimatorFit
        The estimator and the arguments of its `fit`.
    noise : name or callable
        Distribution around the prediction; see `PosteriorRegressor`.
    learned : Noise, optional
        The noise as learned from the real rows.
    quick : bool
        Whether the noise is learned from a few folds, and all draws share the first fit.

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
    quick: bool = field(default=False, compare=False)

    @classmethod
    def of(
        cls, estimator: Any, noise: NoiseName | Callable[..., Any] = "auto", **fit_params: Any
    ) -> RegressorAlgorithm:
        """Wrap a regressor; further arguments go to its `fit`."""
        return cls(fitting_of(estimator, fit_params), noise)

    @cached_property
    def traits(self) -> Traits:
        """Those of the estimator; nonnegative outcomes are spread on the log scale."""
        positive = isinstance(self.learned, PowerNoise)
        traits = _shared_start(self.fitting.traits) if self.quick else self.fitting.traits
        return replace(traits, link="log" if positive else "identity")

    def prepare(self, data: Data, rng: Rng) -> tuple[RegressorAlgorithm, Data]:
        """Learn the noise from real rows."""
        _refuse_other_kind(self.fitting.estimator, "regressor")
        numeric = self.coded(data)
        if (numeric.y == numeric.y[0]).all():
            raise ValueError(
                f"y is constant ({np.ravel(numeric.y)[0]:g} in every row): there is no noise to "
                "learn from, so there is no posterior to draw."
            )
        fitting = self.fitting.for_table(data.table).tuned(numeric, rng)
        folds = QUICK if self.quick else USUAL
        learned = learn_noise(self.noise, fitting, numeric, rng, folds)
        return replace(self, fitting=fitting, learned=learned), numeric

    def coded(self, data: Data) -> Data:
        """Outcomes as floats."""
        return replace(data, y=np.asarray(data.y, dtype=np.float64))

    def simulate(
        self, outcomes: Callable[[Table], NDArray[Any]], data: Data
    ) -> tuple[RegressorAlgorithm, Data]:
        """Simulated outcomes at the real inputs and in evaluation sets."""
        fitting = self.fitting.with_outcomes(lambda x, y: outcomes(x))
        return replace(self, fitting=fitting), replace(data, y=outcomes(data.x))

    def fit(self, data: Data, rng: Rng) -> NoisyRegressor:
        """Fit a clone."""
        assert self.learned is not None
        return NoisyRegressor(self.fitting.fit(data, integer_seed(rng)), self.learned)

    def refit(self, data: Data, new: Block, model: NoisyRegressor, rng: Rng) -> NoisyRegressor:
        """Fit a clone from scratch on real and imputed rows, and update the noise level."""
        parts = [part.repeat(self.predict(model, part.distinct)) for part in new.x.pieces()]
        mean = np.concatenate(parts)
        noise = model.noise.updated(new.x, new.y, mean, new.size / new.total)
        return NoisyRegressor(self.fitting.fit(data, integer_seed(rng)), noise)

    def sample(self, model: NoisyRegressor, x: Rows, rng: Rng) -> Array:
        """Outcomes drawn around the prediction."""
        parts = [self.predictive(model, part.distinct).sample(part, rng) for part in x.pieces()]
        return np.concatenate(parts)

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

    Refits start from the previous fit if the estimator has `warm_start`, so that mixture
    components keep their order along a path.

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
                f"estimator must have fit and sample, but {type(estimator).__name__} lacks them: "
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
        """Fit again, from the previous fit if the estimator can."""
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
        # GaussianMixture also returns the component of each observation, and sorts by it
        return np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)


def _shared_start(traits: Traits) -> Traits:
    """One first fit for all draws, even of a random algorithm: refits are random anyway."""
    return replace(traits, randomised=False)


def _as_inputs(data: Data) -> Data:
    """Observations as a table, the X of scikit-learn's density estimators."""
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


def _gives_probabilities(estimator: Any) -> bool:
    """Whether a fitted copy has `predict_proba`, even if that is not known before the fit."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    # scikit-learn's stacking takes a logistic regression if no final estimator is given
    stacked = getattr(last, "final_estimator", last) is None
    return hasattr(estimator, "predict_proba") or (stacked and hasattr(type(last), "predict_proba"))


def _refuse_other_kind(estimator: Any, wanted: str) -> None:
    """Reject a regressor as classifier, and a classifier as regressor."""
    other = "regressor" if wanted == "classifier" else "classifier"
    is_other = is_regressor if wanted == "classifier" else is_classifier
    if hasattr(estimator, "__sklearn_tags__") and is_other(estimator):
        raise TypeError(
            f"estimator must be a {wanted}, got the {other} {type(estimator).__name__}: use "
            f"Posterior{other.capitalize()}, or give a {wanted}."
        )
