import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.tree import DecisionTreeRegressor

import nearbayes.predictives.noise as noise_module
from nearbayes.core.data import Data, Rows
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.predictives.noise import (
    NOT_NORMAL,
    FunctionNoise,
    GaussianNoise,
    HeteroscedasticNoise,
    OwnNoise,
    ResidualNoise,
    learn_noise,
    linear_residuals,
    not_normal,
    out_of_fold,
)
from nearbayes.predictives.predictive import Empirical, Frozen, Normal, Simulated

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X @ [1.0, -1.0] + RNG.normal(size=60)


class Memoriser(RegressorMixin, BaseEstimator):
    """Predicts 1 for rows it was fitted to, and 0 for others."""

    def fit(self, X, y):
        self.seen_ = {tuple(row) for row in np.asarray(X)}
        return self

    def predict(self, X):
        return np.array([float(tuple(row) in self.seen_) for row in np.asarray(X)])


@pytest.mark.parametrize("n", [2, 3, 5, 23])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_row_is_predicted_by_a_model_that_saw_it(n, weighted):
    weight = np.full(n, 2) if weighted else None
    data = Data.of(np.arange(float(n))[:, None], np.arange(float(n)), weight)
    predicted = out_of_fold(EstimatorFit(Memoriser()), data, np.random.default_rng(0))
    assert predicted.tolist() == [0.0] * n
    inside = EstimatorFit(Memoriser()).fit(data, 0).predict(data.x)
    assert inside.tolist() == [1.0] * n


@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
def test_out_of_fold_predictions_are_in_order_and_shape(outputs):
    y = np.tile(Y.reshape(60, *[1] * len(outputs)), (1, *outputs)) if outputs else Y
    data = Data.of(y.reshape(60, -1), y)
    predicted = out_of_fold(EstimatorFit(LinearRegression()), data, np.random.default_rng(0))
    np.testing.assert_allclose(predicted, y)


def test_out_of_fold_weights_reach_the_estimator():
    data = Data.of(X, np.where(np.arange(60) < 30, 0.0, 1.0), np.where(np.arange(60) < 30, 1, 99))
    predicted = out_of_fold(EstimatorFit(DummyRegressor()), data, np.random.default_rng(0))
    assert (predicted > 0.95).all()


moments = st.lists(st.floats(-10, 10), min_size=1, max_size=20).map(np.array)


@given(moments, moments)
@settings(deadline=None)
def test_gaussian_update_is_the_pooled_second_moment(old, new):
    noise = GaussianNoise.learned(old, np.ones(len(old)))
    share = len(new) / (len(old) + len(new))
    updated = noise.updated(None, new, np.zeros_like(new), share).covariance
    np.testing.assert_allclose(updated, [[np.mean(np.concatenate([old, new]) ** 2)]], atol=1e-10)


def test_gaussian_update_of_correlated_outputs():
    old, new = RNG.normal(size=(10, 2)), RNG.normal(size=(30, 2))
    updated = GaussianNoise.learned(old, np.ones(10)).updated(None, new, np.zeros_like(new), 0.75)
    both = np.concatenate([old, new])
    np.testing.assert_allclose(updated.covariance, both.T @ both / 40)
    weighted = GaussianNoise.learned(old, np.arange(10.0)).covariance
    repeated = np.repeat(old, np.arange(10), axis=0)
    np.testing.assert_allclose(weighted, repeated.T @ repeated / 45)


def test_gaussian_around():
    one = GaussianNoise(np.array([[4.0]])).around(None, X, np.zeros(60))
    assert (one.sd, one.root) == (2.0, None)
    covariance = np.array([[4.0, 1.0], [1.0, 9.0]])
    two = GaussianNoise(covariance).around(None, X, np.zeros((60, 2)))
    root = two.sd[:, None] * two.root
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-8)


@pytest.mark.parametrize("covariance", [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]]])
def test_outputs_that_are_copies_or_without_noise_can_be_sampled(covariance):
    predictive = GaussianNoise(np.array(covariance)).around(None, X, np.zeros((60, 2)))
    y = predictive.sample(Rows.every(X), np.random.default_rng(0))
    np.testing.assert_allclose(y[:, 1], y[:, 0] * covariance[0][1], atol=1e-3)


@pytest.mark.parametrize(
    ("outcomes", "kind"),
    [
        (lambda rng: rng.normal(size=400), GaussianNoise),
        (lambda rng: rng.standard_t(3, size=400), ResidualNoise),
        (lambda rng: rng.exponential(size=400), ResidualNoise),
        (lambda rng: rng.exponential(size=12), GaussianNoise),  # too few to tell
        (lambda rng: np.zeros(400), GaussianNoise),
        (lambda rng: np.stack([rng.normal(size=400), rng.exponential(size=400)], 1), ResidualNoise),
    ],
)
def test_auto_resamples_residuals_that_are_clearlynot_normal(outcomes, kind):
    rng = np.random.default_rng(0)
    y = outcomes(rng)
    fitting = EstimatorFit(DummyRegressor())
    assert isinstance(learn_noise("auto", fitting, Data.of(np.zeros((len(y), 1)), y), rng), kind)


@given(st.lists(st.integers(0, 3), min_size=30, max_size=30), st.floats(1.0, 3.0))
@settings(deadline=None)
def test_weights_speak_against_a_normal_as_repeated_rows_do(counts, tail):
    counts = np.array([1, *counts])
    residuals = np.sign(np.sin(np.arange(31))) * np.linspace(0, 1, 31) ** tail
    repeated = np.repeat(residuals, counts)
    by_weight = not_normal(residuals, counts.astype(float))
    assert by_weight == not_normal(repeated, np.ones(len(repeated)))
    if len(repeated) > 2:
        assert by_weight == (stats.jarque_bera(repeated).pvalue < NOT_NORMAL)


def test_residuals_are_centred_and_weighted():
    noise = ResidualNoise.learned(np.array([3.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    assert noise.residuals.tolist() == [1.75, -1.25, -0.25]
    assert noise.weights.tolist() == [0.25, 0.25, 0.5]
    assert isinstance(noise.around(None, X, np.zeros(60)), Empirical)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.floats(0.01, 0.99))
@settings(deadline=None)
def test_residual_weights_move_to_the_shares_drawn(chosen, share):
    noise = ResidualNoise.learned(np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 7.0]), np.ones(6))
    mean = np.linspace(-1e3, 1e3, len(chosen))
    residuals = (mean + noise.residuals[chosen]) - mean  # with the rounding error of y - mean
    updated = noise.updated(None, residuals, np.zeros_like(residuals), share)
    shares = np.bincount(chosen, minlength=6) / len(chosen)
    assert updated.weights.sum() == pytest.approx(1.0)
    assert (updated.weights >= 0).all()
    np.testing.assert_allclose(updated.weights, (1 - share) / 6 + share * shares, atol=1e-12)
    moved = noise.residuals - updated.weights @ noise.residuals
    np.testing.assert_allclose(updated.residuals, moved)
    assert updated.weights @ updated.residuals == pytest.approx(0.0, abs=1e-12)


def test_residual_pairs_that_tie_in_the_first_output_are_told_apart():
    """A discrete first output, say: the pair drawn must become likelier, not another one."""
    pairs = np.array([[-1.0, 0.0], [1.0, -5.0], [1.0, 5.0], [1.0, 0.0]])
    noise = ResidualNoise(pairs, np.full(4, 0.25))
    updated = noise.updated(None, pairs[[1, 1, 2, 3]], np.zeros((4, 2)), 0.5)
    np.testing.assert_allclose(updated.weights, [0.125, 0.375, 0.25, 0.25])


def test_heteroscedastic_update_is_sequential_maximum_likelihood():
    flat = DummyRegressor().fit(X, np.zeros(60))
    noise = HeteroscedasticNoise(flat, np.array([1.0]), np.array([4.0]))
    residuals = RNG.normal(size=30)
    x = Rows.repeated(X, np.array([10, 20] + [0] * 58))
    updated = noise.updated(x, residuals, np.zeros_like(residuals), 0.25)
    np.testing.assert_allclose(updated.level, 0.75 * 4.0 + 0.25 * np.mean(residuals**2))
    np.testing.assert_allclose(updated.around(None, X, np.zeros(60)).variance, updated.level[0])


def test_heteroscedastic_noise_of_two_outputs():
    y = np.column_stack([Y, 10 * RNG.normal(size=60)])
    rng = np.random.default_rng(0)
    noise = learn_noise("heteroscedastic", EstimatorFit(LinearRegression()), Data.of(X, y), rng)
    assert ((noise.slope >= 0) & (noise.slope <= 1)).all()
    variance = noise.around(None, X, np.zeros((60, 2))).variance
    assert variance.shape == (60, 2)
    assert variance[:, 1].mean() > 20 * variance[:, 0].mean()
    residuals = RNG.normal(size=(60, 2))
    updated = noise.updated(Rows.every(X), residuals, np.zeros_like(residuals), 0.5)
    expected = noise.level * (0.5 + 0.5 * (residuals**2 / variance).mean(axis=0))
    np.testing.assert_allclose(updated.level, expected)


@pytest.mark.parametrize("name", ["gaussian", "residual", "heteroscedastic"])
def test_learned_noise_has_the_out_of_fold_variance(name):
    fitting, data = EstimatorFit(DecisionTreeRegressor(max_depth=2)), Data.of(X, Y)
    residuals = Y - out_of_fold(fitting, data, np.random.default_rng(1))
    noise = learn_noise(name, fitting, data, np.random.default_rng(1))
    variance = noise.around(None, X, np.zeros(60)).variance.mean()
    centred = residuals - (residuals.mean() if name == "residual" else 0.0)
    # the shape over x moves the plain average of the heteroscedastic variance a little
    tolerance = 0.2 if name == "heteroscedastic" else 1e-10
    assert variance == pytest.approx(np.mean(centred**2), rel=tolerance)


def posterior_variance(weights=None):
    """Of a linear model: the residual sum of squares over n - p - 2, and what imputation lacks."""
    model = LinearRegression().fit(X, Y, weights)
    n, p = (60 if weights is None else weights.sum()), X.shape[1] + 1
    squares = np.sum((1.0 if weights is None else weights) * (Y - model.predict(X)) ** 2)
    return squares / (n - p - 2) * (1 + p / (2 * n))


@pytest.mark.parametrize("name", ["gaussian", "residual"])
@pytest.mark.parametrize("weights", [None, np.arange(60) % 3 + 1])
def test_noise_of_a_linear_model_is_free_of_the_error_of_its_fit(name, weights):
    fitting, data = EstimatorFit(LinearRegression()), Data.of(X, Y, weights)
    noise = learn_noise(name, fitting, data, np.random.default_rng(1))
    variance = noise.around(None, X, np.zeros(60)).variance.mean()
    # resampled residuals are centred, which takes a little of their variance away
    assert variance == pytest.approx(posterior_variance(weights), rel=0.02)


def test_leverage_is_shared_where_rows_are_many(monkeypatch):
    fitting, data = EstimatorFit(LinearRegression()), Data.of(X, Y)
    each = linear_residuals(fitting, data, np.random.default_rng(1))
    monkeypatch.setattr(noise_module, "MOST_LEFT_OUT", 10)
    shared = linear_residuals(fitting, data, np.random.default_rng(1))
    assert np.mean(shared**2) == pytest.approx(np.mean(each**2), rel=0.1)


def test_own_noise():
    model = BayesianRidge().fit(X, Y)
    noise = learn_noise("estimator", EstimatorFit(BayesianRidge()), Data.of(X, Y), RNG)
    assert noise == OwnNoise()
    mean, sd = model.predict(X, return_std=True)
    around = noise.around(model, X, mean)
    assert isinstance(around, Normal)
    np.testing.assert_array_equal(around.sd, sd)
    assert noise.updated(None, Y, Y, 0.5) is noise


def test_own_distribution_of_an_estimator_with_pred_dist():
    from scipy import stats

    class Probabilistic(LinearRegression):
        def pred_dist(self, X):
            class Dist:
                dist = stats.norm(self.predict(X), 3.0)

            return Dist

    model = Probabilistic().fit(X, Y)
    noise = learn_noise("estimator", EstimatorFit(model), Data.of(X, Y), RNG)
    around = noise.around(model, X, model.predict(X))
    assert isinstance(around, Frozen)
    np.testing.assert_allclose(around.variance, 9.0)
    np.testing.assert_allclose(around.cdf(model.predict(X)), 0.5)


def test_function_noise():
    def user(mean, x, rng):
        return mean + 1

    noise = learn_noise(user, EstimatorFit(LinearRegression()), Data.of(X, Y), RNG)
    assert noise == FunctionNoise(user)
    around = noise.around(None, X, np.zeros(60))
    assert isinstance(around, Simulated)
    assert around.sample(Rows.every(X), RNG).tolist() == [1.0] * 60
    assert noise.updated(None, Y, Y, 0.5) is noise


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("pink", "noise must be one of 'auto', 'gaussian', .* or a function of .* got 'pink'"),
        (None, "noise must be one of 'auto', 'gaussian', .* got None"),
        ("estimator", "noise='estimator' needs .* but LinearRegression has neither"),
    ],
)
def test_bad_noise(noise, message):
    with pytest.raises(ValueError, match=message):
        learn_noise(noise, EstimatorFit(LinearRegression()), Data.of(X, Y), RNG)
