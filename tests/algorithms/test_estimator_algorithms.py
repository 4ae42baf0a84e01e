import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

import nearbayes as nb
from nearbayes.algorithms.estimators import (
    ClassifierAlgorithm,
    DensityAlgorithm,
    NoisyRegressor,
    RegressorAlgorithm,
)
from nearbayes.core.data import Block, Data, Rows
from nearbayes.fits.estimator_fit import EXACT_WITH_MEANS
from nearbayes.predictives.noise import GaussianNoise

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X @ [1.0, -1.0] + RNG.normal(size=60)
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, [-0.5, 0.5])]


def rng():
    return np.random.default_rng(1)


def prepared_classifier(estimator, y=LABELS):
    return ClassifierAlgorithm.of(estimator).prepare(Data.of(X, y), rng())


def prepared_regressor(estimator, noise="gaussian", y=Y):
    return RegressorAlgorithm.of(estimator, noise).prepare(Data.of(X, y), rng())


def test_labels_become_codes():
    algorithm, data = prepared_classifier(GaussianNB())
    assert algorithm.classes.tolist() == ["low", "mid", "top"]
    assert (algorithm.classes[data.y] == LABELS).all()
    model = algorithm.fit(data, rng())
    assert model.classes_.tolist() == ["low", "mid", "top"]
    probabilities = algorithm.predict(model, X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X))
    codes = algorithm.sample(model, Rows.every(X), rng())
    assert set(codes.tolist()) <= {0, 1, 2}


def test_a_class_that_a_fit_did_not_see_has_probability_zero():
    algorithm, data = prepared_classifier(GaussianNB())
    seen = np.flatnonzero(data.y != 1)
    probabilities = algorithm.predict(algorithm.fit(data.select(seen), rng()), X)
    assert probabilities.shape == (60, 3)
    assert (probabilities[:, 1] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_one_class_left_has_probability_one():
    algorithm, data = prepared_classifier(LogisticRegression())
    model = algorithm.fit(data.select(np.flatnonzero(data.y == 2)), rng())
    assert isinstance(model, DummyClassifier)
    assert algorithm.predict(model, X).tolist() == [[0.0, 0.0, 1.0]] * 60


def test_classifiers_refuse_what_they_cannot_do():
    with pytest.raises(TypeError, match="must have predict_proba, but LinearSVC as configured"):
        prepared_classifier(LinearSVC())
    with pytest.raises(ValueError, match=r"at least 2 classes, got only the class .*7"):
        prepared_classifier(GaussianNB(), np.full(60, 7))


def test_who_takes_counts():
    assert ClassifierAlgorithm.of(LogisticRegression()).traits.counts == "labels"
    balanced = LogisticRegression(class_weight="balanced")
    assert ClassifierAlgorithm.of(balanced).traits.counts is False
    assert ClassifierAlgorithm.of(RandomForestClassifier()).traits.counts is False

    class Subclass(LogisticRegression):
        """May do anything with its weights."""

    assert ClassifierAlgorithm.of(Subclass()).traits.counts is False
    assert RegressorAlgorithm.of(Ridge()).traits.counts == "means"
    assert RegressorAlgorithm.of(RidgeCV()).traits.counts is False
    assert DensityAlgorithm.of(GaussianMixture()).traits.counts is False


@pytest.mark.parametrize("kind", EXACT_WITH_MEANS)
def test_means_with_counts_say_all_that_labels_say(kind):
    positive = np.exp(Y / 2)
    data = Data.of(X, positive)
    x = Rows.repeated(data.table, np.arange(60) % 5)
    block = Block(x, positive[x.positions] * np.exp(RNG.normal(size=x.size) / 3), 60 + x.size)
    tight = {"tol": 1e-10, "max_iter": 10_000} if "tol" in kind().get_params() else {}
    if kind is LinearRegression:
        tight = {}
    algorithm = RegressorAlgorithm.of(kind(**tight))
    fits = [
        algorithm.fitting.fit(data.extend(block, counts), 0).predict(X)
        for counts in ("means", False)
    ]
    np.testing.assert_allclose(*fits, rtol=1e-5, atol=1e-7)


def test_randomness_and_packages():
    assert ClassifierAlgorithm.of(RandomForestClassifier()).traits.randomised
    assert not RegressorAlgorithm.of(LinearRegression()).traits.randomised
    assert DensityAlgorithm.of(GaussianMixture()).traits.randomised
    algorithms = (ClassifierAlgorithm.of(GaussianNB()), RegressorAlgorithm.of(Ridge()))
    assert [a.traits.packages for a in algorithms] == [(), ()]
    assert DensityAlgorithm.of(KernelDensity()).traits.packages == ()


def test_fit_params_are_kept():
    assert RegressorAlgorithm.of(Ridge(), "residual", flavour=1).fitting.params == {"flavour": 1}
    assert ClassifierAlgorithm.of(GaussianNB(), flavour=1).fitting.params == {"flavour": 1}


def test_a_regressor_draws_around_its_prediction():
    algorithm, data = prepared_regressor(LinearRegression())
    model = algorithm.fit(data, rng())
    assert isinstance(model, NoisyRegressor)
    assert algorithm.reveal(model) is model.estimator
    sd = np.sqrt(model.noise.covariance[0, 0])
    x = Rows.repeated(X, np.array([20_000] + [0] * 59))
    y = algorithm.sample(model, x, rng())
    expected = algorithm.predict(model, X[:1])[0]
    assert abs(y.mean() - expected) < 4 * sd / np.sqrt(20_000)
    assert y.std() == pytest.approx(sd, rel=4 / np.sqrt(40_000))


def test_refit_moves_the_noise_by_the_residuals_of_the_previous_fit():
    algorithm, data = prepared_regressor(LinearRegression())
    model = algorithm.fit(data, rng())
    x = Rows.repeated(data.table, np.array([5, 0, 15] + [0] * 57))
    y = algorithm.sample(model, x, rng())
    block = Block(x, y, 80)
    refitted = algorithm.refit(data.extend(block, "means"), block, model, rng())
    residuals = y - model.estimator.predict(x.values)
    expected = 0.75 * model.noise.covariance + 0.25 * np.mean(residuals**2)
    np.testing.assert_allclose(refitted.noise.covariance, expected)
    rows = data.extend(block)
    plain = LinearRegression().fit(rows.x, rows.y)
    np.testing.assert_allclose(refitted.estimator.coef_, plain.coef_)


def test_whole_number_outcomes_become_floats():
    algorithm, data = prepared_regressor(LinearRegression(), y=np.arange(60))
    assert data.y.dtype == np.float64
    assert isinstance(algorithm.learned, GaussianNoise)


def test_constant_outcomes_are_refused():
    with pytest.raises(ValueError, match=r"y is constant \(3 in every row\)"):
        prepared_regressor(LinearRegression(), y=np.full(60, 3))
    with pytest.raises(ValueError, match="y is constant"):
        prepared_regressor(LinearRegression(), y=np.ones((60, 2)))


def test_density_estimators():
    with pytest.raises(TypeError, match="must have fit and sample, but Ridge lacks them"):
        DensityAlgorithm.of(Ridge())
    algorithm = DensityAlgorithm.of(KernelDensity())
    message = r"rows and columns for a density estimator, got shape \(60,\): use z\[:, None\]"
    with pytest.raises(ValueError, match=message):
        algorithm.fit(Data.of(Y), rng())


@pytest.mark.parametrize(
    "estimator",
    [GaussianMixture(2), BayesianGaussianMixture(n_components=2, max_iter=2000), KernelDensity()],
)
def test_density_samples_come_from_rng_alone(estimator):
    algorithm = DensityAlgorithm.of(estimator)
    model = algorithm.fit(Data.of(X), rng())
    x = Rows.without_inputs(7)
    once, again = (algorithm.sample(model, x, rng()) for _ in range(2))
    assert once.shape == (7, 2)
    assert np.array_equal(once, again)
    assert not np.array_equal(once, algorithm.sample(model, x, np.random.default_rng(9)))


def test_a_mixture_refit_starts_from_the_previous_fit():
    z = np.concatenate([RNG.normal(-3, 1, size=(50, 1)), RNG.normal(3, 1, size=(50, 1))])
    algorithm, data = DensityAlgorithm.of(GaussianMixture(2)), Data.of(z)
    model = algorithm.fit(data, rng())
    before = model.means_.copy()
    block = Block(
        Rows.without_inputs(20), algorithm.sample(model, Rows.without_inputs(20), rng()), 120
    )
    refitted = algorithm.refit(data.extend(block), block, model, rng())
    assert np.array_equal(model.means_, before)
    assert np.abs(refitted.means_ - before).max() < 0.5
    assert not np.array_equal(refitted.means_, before)


@pytest.mark.parametrize("estimator", [GaussianMixture(1), KernelDensity()])
def test_weights_of_observations_count_at_every_refit(estimator):
    algorithm = DensityAlgorithm.of(estimator)
    weighted = Data.of(X, None, np.where(X[:, 0] > 0, 5, 1))
    block = Block(Rows.without_inputs(2), np.zeros((2, 2)), weighted.size + 2)
    model = algorithm.fit(weighted, rng())
    scores = [
        algorithm.refit(data.extend(block), block, model, rng()).score_samples(X)
        for data in (weighted, weighted.repeat())
    ]
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_a_posterior_of_weighted_observations_stays_where_the_weights_are(seed):
    z = np.concatenate([np.linspace(-1, 1, 20), np.linspace(9, 11, 20)])[:, None]
    data = Data.of(z, None, np.repeat([9, 1], 20))
    algorithm = DensityAlgorithm.of(GaussianMixture(1))
    posterior = nb.martingale_posterior(algorithm, data, n_draws=50, random_state=seed)
    mean = posterior.apply(lambda mixture: mixture.means_[0, 0])
    assert abs(mean.mean - 1.0) < 4 * mean.mc_error


@pytest.mark.parametrize(
    "estimator",
    [
        XGBClassifier(n_estimators=5, early_stopping_rounds=2),
        LGBMClassifier(n_estimators=5, early_stopping_round=2, verbosity=-1),
    ],
)
def test_probabilities_of_a_fit_that_real_rows_stop_are_taken_as_they_are(estimator):
    stopped = ClassifierAlgorithm.of(estimator, eval_set=[(X, Y > 0)])
    assert stopped.prepare(Data.of(X, Y > 0), rng())[0].recalibration is None
    name = next(name for name in estimator.get_params() if name.startswith("early_stopping_round"))
    never = ClassifierAlgorithm.of(estimator.set_params(**{name: 0}))
    assert never.prepare(Data.of(X, Y > 0), rng())[0].recalibration is not None
