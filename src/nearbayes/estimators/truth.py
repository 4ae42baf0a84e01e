r"""Truth: a plausible function behind the real data, for simulated data sets.

The fit itself is a poor choice: an untuned learner is smoother or rougher than the function it was
fitted to, and data simulated from it would be easier for it than the real ones. So the truth is a
*reference*: boosted trees whose number of rounds is chosen by cross-validation. It is also smoother
than the function it was fitted to, so half of its bias on data simulated from itself is removed
(half a step of twicing):

.. math:: f^* = f + \tfrac12 (f - \overline{f'}), \quad f' \text{ fitted to data simulated from } f

The first fit is the truth for linear models, whose class does not contain trees, for tables that
the trees do not accept, and for learners that tune themselves out of fold, which are better
references.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from nearbayes.algorithms.estimators import ClassifierAlgorithm, RegressorAlgorithm
from nearbayes.core.data import Data, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng
from nearbayes.core.seeds import integer_seed
from nearbayes.estimators.known import as_fitted
from nearbayes.fits.smooth_trees_fit import SmoothTreesFit
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor
from nearbayes.predictives.noise import (
    GaussianNoise,
    HeteroscedasticNoise,
    Noise,
    ResidualNoise,
    not_normal,
)
from nearbayes.predictives.predictive import CategoricalPredictive
from nearbayes.tables.table import Table, as_table

__all__ = ["Reference", "Truth", "likely_truth"]

Array = NDArray[np.float64]
RATE, MOST_ROUNDS, DEPTH, N_FOLDS = 0.1, 300, 3, 5
TRIED = np.array([1, 2, 3, 5, 7, *range(10, MOST_ROUNDS + 1, 5)])  # numbers of rounds
WORSE = 0.25  # standard errors by which fewer rounds may be worse than the best
MORE_ROUNDS = 1.1  # all rows support a few more rounds than four fifths of them
N_TWICED, STEP = 8, 0.5
LEAST_NOISE = 0.3  # of the variance of residuals
SMALLEST_SHARE = 1e-3  # of the mean of outcomes that are positive
UNSEEN = -20.0  # score of a class that a fit has not seen


class Truth(Protocol):
    """A known function of the inputs, and outcomes around it."""

    @property
    def words(self) -> str:
        """Short description."""

    def values(self, x: Table) -> Array:
        """The function, or class probabilities, at each row."""

    def sample(self, x: Table, rng: Rng) -> NDArray[Any]:
        """One outcome, or class label, per row."""

    def as_estimator(self, labels: NDArray[Any] | None) -> Any:
        """The truth as a fitted estimator with these class labels."""


@dataclass(frozen=True)
class FirstFit:
    """The first fit to the real data as the truth."""

    algorithm: ChunkAlgorithm
    model: Any
    words: str = "the first fit"

    def values(self, x: Table) -> Array:
        """Predictions of the fit."""
        return np.asarray(self.algorithm.predict([self.model], x)[0])

    def sample(self, x: Table, rng: Rng) -> NDArray[Any]:
        """Outcomes around its predictions."""
        (predictive,) = self.algorithm.predictives([self.model], x)
        drawn = predictive.sample(Rows.every(as_table(x)), rng)
        classes = self.algorithm.traits.classes
        return np.asarray(drawn if classes is None else classes[drawn])

    def as_estimator(self, labels: NDArray[Any] | None) -> Any:
        """The fitted estimator."""
        return self.algorithm.reveal(self.model)


@dataclass(frozen=True)
class Reference:
    """Boosted trees with rounds by cross-validation, corrected for half of their bias.

    Attributes
    ----------
    trees : fitted estimator
    bias : dict of int to fitted estimator
        Fitted to the bias of a score at the real rows, by its column.
    classes : array of shape (n_classes,), optional
    noise : Noise, optional
        Around the function, if outcomes are numbers.
    """

    trees: Any
    bias: dict[int, Any]
    classes: NDArray[Any] | None = None
    noise: Noise | None = None
    words: str = "boosted trees tuned by cross-validation"

    def values(self, x: Table) -> Array:
        """The function, or class probabilities, at each row."""
        scores = _scores(self.trees, x, 0 if self.classes is None else len(self.classes))
        for column, each in self.bias.items():
            scores[:, column] += STEP * each.predict(x)
        return scores[:, 0] if self.classes is None else np.asarray(softmax(scores, axis=1))

    def sample(self, x: Table, rng: Rng) -> NDArray[Any]:
        """Outcomes around the function, or labels by the probabilities."""
        values, rows = self.values(x), Rows.every(as_table(x))
        if self.classes is None:
            assert self.noise is not None
            return np.asarray(self.noise.around(None, x, values).sample(rows, rng))
        return np.asarray(self.classes[CategoricalPredictive(values).sample(rows, rng)])

    def as_estimator(self, labels: NDArray[Any] | None) -> Any:
        """The function without the noise, which contains residuals of real rows."""
        return as_fitted(replace(self, noise=None), self.trees, labels)


@dataclass(frozen=True)
class TunedLearner:
    """The default learner, tuned on the real rows, with outcomes around it as the algorithm's.

    For algorithms that are not estimators refitted from scratch, such as networks. Their own first
    fit is smooth or random, and data simulated from it are too easy for them.

    Attributes
    ----------
    learner : fitted estimator
    algorithm : ChunkAlgorithm
    first : object
        The first fit, which knows the noise.
    """

    learner: Any
    algorithm: ChunkAlgorithm
    first: Any
    words: str = "boosted trees and a smooth model, blended and tuned by cross-validation"

    def values(self, x: Table) -> Array:
        """The function, or class probabilities, at each row."""
        if self.algorithm.traits.classes is not None:
            return np.asarray(self.learner.predict_proba(x), dtype=np.float64)
        found = np.asarray(self.learner.predict(x), dtype=np.float64)
        positive = self.algorithm.traits.link == "log"
        return np.maximum(found, SMALLEST_SHARE * found.mean()) if positive else found

    def sample(self, x: Table, rng: Rng) -> NDArray[Any]:
        """Outcomes around the function, or labels by the probabilities."""
        values, rows = self.values(x), Rows.every(as_table(x))
        classes = self.algorithm.traits.classes
        if classes is not None:
            return np.asarray(classes[CategoricalPredictive(values).sample(rows, rng)])
        (predictive,) = self.algorithm.predictives([self.first], x)
        return np.asarray(predictive.moved(values).sample(rows, rng))

    def as_estimator(self, labels: NDArray[Any] | None) -> Any:
        """The fitted learner."""
        return self.learner

    @classmethod
    def fitted(cls, algorithm: ChunkAlgorithm, first: Any, data: Data, rng: Rng) -> TunedLearner:
        """Tune and fit the learner to the real rows."""
        several = algorithm.traits.classes is not None
        kind = SmoothTreesClassifier if several else SmoothTreesRegressor
        learner = kind(random_state=integer_seed(rng))
        return cls(learner.fit(data.x, data.y, data.count), algorithm, first)


def likely_truth(algorithm: ChunkAlgorithm, first: Any, data: Data, rng: Rng) -> Truth:
    """A reference if the learner is flexible and trees can be fitted, else the first fit.

    Parameters
    ----------
    algorithm : ChunkAlgorithm
    first : object
        The first fit.
    data : Data
        The real rows, with outcomes or labels as the user passed them.
    rng : numpy.random.Generator
    """
    plain = getattr(algorithm, "algorithm", algorithm)
    own = FirstFit(algorithm, first)
    tunes_itself = isinstance(getattr(plain, "fitting", None), SmoothTreesFit)
    if not algorithm.traits.calibrate or data.y.ndim > 1 or tunes_itself:
        return own
    try:
        if isinstance(plain, ClassifierAlgorithm):
            assert plain.classes is not None
            return _reference(data, plain.classes, None, rng)
        if isinstance(plain, RegressorAlgorithm) and isinstance(
            plain.learned, GaussianNoise | ResidualNoise | HeteroscedasticNoise
        ):
            return _reference(data, None, plain.learned, rng)
        if plain is algorithm:
            return TunedLearner.fitted(algorithm, first, data, rng)
    except (TypeError, ValueError) as error:  # a table that these trees do not accept
        why = " ".join(str(error).split())[:100]
        return FirstFit(algorithm, first, f"the first fit, as trees do not take this table ({why})")
    return own


def _reference(
    data: Data, classes: NDArray[Any] | None, learned: Noise | None, rng: Rng
) -> Reference:
    """Fit the reference and its bias."""
    y = data.y if classes is None else np.searchsorted(classes, data.y)
    n_classes = 0 if classes is None else len(classes)
    rounds, out_of_fold = _rounds(data, y, n_classes, rng)
    trees = _fitted(data, y, n_classes, rounds, rng)
    truth = Reference(trees, {}, classes, None if classes is not None else learned)
    if classes is None and not isinstance(learned, HeteroscedasticNoise):
        truth = Reference(trees, {}, None, _noise(y - out_of_fold[:, 0], data.counts))
    scores = _scores(trees, data.x, n_classes)
    again = np.stack([_scores_of_simulated(truth, data, rounds, rng) for _ in range(N_TWICED)])
    gap = scores - again.mean(axis=0)
    columns = [1] if n_classes == 2 else range(gap.shape[1])  # of two classes, one score is 0
    bias = {column: _fitted(data, gap[:, column], 0, rounds, rng) for column in columns}
    noise = truth.noise
    if isinstance(noise, GaussianNoise | ResidualNoise):
        size = np.average((y - out_of_fold[:, 0]) ** 2, weights=data.counts)
        spread = again.var(axis=0, ddof=1).mean()
        square = max(0.0, np.mean(gap**2) - spread / N_TWICED)
        share = np.clip((size - square) / (size + spread), LEAST_NOISE, 1.0)
        noise = noise.scaled(float(np.sqrt(share)))
    return Reference(trees, bias, classes, noise)


def _scores_of_simulated(truth: Reference, data: Data, rounds: int, rng: Rng) -> Array:
    """Scores at the real rows of trees fitted to outcomes of the truth."""
    y = truth.sample(data.x, rng)
    if truth.classes is None:
        return _scores(_fitted(data, y, 0, rounds, rng), data.x, 0)
    codes, n_classes = np.searchsorted(truth.classes, y), len(truth.classes)
    return _scores(_fitted(data, codes, n_classes, rounds, rng), data.x, n_classes)


def _noise(residuals: Array, weights: Array) -> GaussianNoise | ResidualNoise:
    kind = ResidualNoise if not_normal(residuals, weights) else GaussianNoise
    return kind.learned(residuals, weights)


def _rounds(data: Data, y: NDArray[Any], n_classes: int, rng: Rng) -> tuple[int, Array]:
    """Rounds by cross-validation, and out-of-fold scores with as many."""
    n = len(y)
    scores = np.empty((len(TRIED), n, max(n_classes, 1)))
    folds = KFold(min(N_FOLDS, n), shuffle=True, random_state=integer_seed(rng))
    for train, test in folds.split(np.zeros(n)):
        kept = data.select(train)
        model = _fitted(kept, y[train], n_classes, MOST_ROUNDS, rng)
        scores[:, test] = _staged_scores(model, data.select(test).x, n_classes)
    losses = _losses(scores, y, n_classes)
    means = np.average(losses, axis=1, weights=data.counts)
    best = int(means.argmin())
    error = (losses - losses[best]).std(axis=1) / np.sqrt(n)
    chosen = int(np.argmax(means <= means[best] + WORSE * error))
    return max(1, round(MORE_ROUNDS * TRIED[chosen])), scores[chosen]


def _losses(scores: Array, y: NDArray[Any], n_classes: int) -> Array:
    """Loss of each row, shape (n_tried, n_rows)."""
    if not n_classes:
        return np.asarray((y - scores[..., 0]) ** 2)
    return np.asarray(-log_softmax(scores, axis=-1)[:, np.arange(len(y)), y])


def _fitted(data: Data, y: NDArray[Any], n_classes: int, rounds: int, rng: Rng) -> Any:
    """Boosted trees; with only one class, nothing can be learned."""
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    model = kind(
        learning_rate=RATE,
        max_iter=rounds,
        max_depth=DEPTH,
        min_samples_leaf=5,
        max_bins=63,
        early_stopping=False,
        random_state=integer_seed(rng),
    )
    return model.fit(data.x, y, sample_weight=data.count)


def _scores(model: Any, x: Table, n_classes: int) -> Array:
    """Predictions, shape (n_rows, 1), or scores of the classes, (n_rows, n_classes)."""
    if not n_classes:
        return np.asarray(model.predict(x), dtype=np.float64)[:, None]
    return _by_class(np.asarray(model.decision_function(x)), model.classes_, n_classes)


def _staged_scores(model: Any, x: Table, n_classes: int) -> Array:
    """Scores after each number of rounds that is tried, shape (n_tried, n_rows, n_scores)."""
    if not n_classes:
        predicted = np.stack(list(model.staged_predict(x)))
        return np.asarray(predicted[TRIED - 1, :, None])
    stages = [np.asarray(each) for each in model.staged_decision_function(x)]
    return np.stack([_by_class(stages[k - 1], model.classes_, n_classes) for k in TRIED])


def _by_class(decision: Array, classes: NDArray[Any], n_classes: int) -> Array:
    """A score for every class: 0 for the first of two, very low for a class that was not seen."""
    scores = np.full((len(decision), n_classes), UNSEEN)
    if len(classes) == 2:
        scores[:, classes] = np.stack([np.zeros(len(decision)), decision.ravel()], axis=1)
    else:
        scores[:, classes] = decision
    return scores
