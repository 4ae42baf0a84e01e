"""Counts and positive outcomes: distributions, what is learned, and what is refused."""

import time

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from scipy.integrate import quad
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import PoissonRegressor
from xgboost import XGBRegressor

import nearbayes as nb
from nearbayes.core.data import Rows
from nearbayes.predictives.positive import MANY_CLAIMS, PositivePredictive, PowerNoise

MEAN = np.array([0.3, 2.0, 10.0])
KINDS = {
    "poisson": {"power": 1.0, "dispersion": 1.0},
    "overdispersed": {"power": 1.0, "dispersion": 2.5},
    "rates": {"power": 1.0, "dispersion": 0.7, "is_whole": False},
    "gamma": {"power": 2.0, "dispersion": 0.5, "is_whole": False},
    "tweedie": {"power": 1.5, "dispersion": 1.3, "is_whole": False},
    "tweedie, nearly counts": {"power": 1.2, "dispersion": 0.4, "is_whole": False},
}


@pytest.fixture(params=KINDS)
def predictive(request):
    return PositivePredictive(MEAN, **KINDS[request.param])


def test_samples_have_the_mean_the_variance_and_the_distribution(predictive, seed):
    """Within 5 Monte Carlo errors of 40,000 samples."""
    size, rng = 40_000, np.random.default_rng(seed)
    x = Rows.repeated(np.zeros((3, 1)), np.full(3, size))
    samples = predictive.sample(x, rng).reshape(3, size)
    error = np.sqrt(predictive.variance / size)
    assert (np.abs(samples.mean(axis=1) - MEAN) < 5 * error).all()
    squares = (samples - MEAN[:, None]) ** 2
    spread = squares.std(axis=1) / np.sqrt(size)
    assert (np.abs(squares.mean(axis=1) - predictive.variance) < 5 * spread).all()
    for t in (0.0, 0.5, 2.2, 9.0):
        share = (samples <= t).mean(axis=1)
        np.testing.assert_allclose(share, predictive.cdf(np.full(3, t)), atol=2.5 / np.sqrt(size))


def test_density_is_the_derivative_of_the_distribution(predictive):
    for k, mean in enumerate(MEAN):
        row = PositivePredictive(
            MEAN[k : k + 1], predictive.power, predictive.dispersion, predictive.is_whole
        )

        def density(y, row=row):
            return float(np.exp(row.log_density(np.array([y])))[0])

        def cdf(t, row=row):
            return float(row.cdf(np.array([t]))[0])

        if predictive.is_whole:
            total = sum(density(float(y)) for y in range(int(mean) + 1))
            assert total == pytest.approx(cdf(float(int(mean))))
        else:
            between = quad(density, mean / 2, 2 * mean)[0]
            assert between == pytest.approx(cdf(2 * mean) - cdf(mean / 2), rel=1e-6)


def test_tweedie_of_many_claims_is_continued_by_a_gamma():
    """Sums over millions of claims took minutes and gigabytes, as a file with a tiny dispersion."""
    t = np.linspace(90, 110, 41)
    few, many = (
        PositivePredictive(np.full(41, 100.0), 1.5, 20 / (MANY_CLAIMS * factor), is_whole=False)
        for factor in (1 - 1e-9, 1 + 1e-9)  # on either side of the limit
    )
    assert np.ptp(few.cdf(t)) > 0.9
    np.testing.assert_allclose(few.cdf(t), many.cdf(t), atol=2e-3)
    at_centre = np.abs(t - 100) < 6
    np.testing.assert_allclose(
        few.log_density(t)[at_centre], many.log_density(t)[at_centre], atol=0.02
    )
    enormous = PositivePredictive(np.array([0.1, 1e9]), 1.5, 1e-12, is_whole=False)
    started = time.perf_counter()
    assert np.isfinite(enormous.cdf(np.array([0.1, 1e9]))).all()
    assert time.perf_counter() - started < 1


def test_tweedie_has_zeros_and_nothing_below():
    amounts = PositivePredictive(MEAN, **KINDS["tweedie"])
    zero = np.zeros(3)
    np.testing.assert_allclose(np.exp(amounts.log_density(zero)), amounts.cdf(zero))
    assert (amounts.cdf(zero - 1e-9) == 0).all()


def test_dispersion_is_learned_and_moves():
    y, mean = np.array([1.0, 2.0, 3.0, 6.0]), np.full(4, 3.0)
    noise = PowerNoise.learned(2.0, y, mean, np.ones(4))
    assert noise.dispersion == pytest.approx(np.mean((y - 3) ** 2) / 9)
    moved = noise.updated(None, mean, mean, 0.25)  # imputed rows without any noise
    assert moved.dispersion == pytest.approx(0.75 * noise.dispersion)


def test_counts_are_never_less_dispersed_than_poisson():
    y = np.array([3.0, 3.0, 3.0, 4.0])
    noise = PowerNoise.learned(1.0, y, y, np.ones(4))
    assert noise.is_whole
    assert noise.dispersion == 1.0
    assert noise.updated(None, y, y, 0.5).dispersion == 1.0


RNG = np.random.default_rng(7)
X = RNG.normal(size=(200, 3))
X_NEW = RNG.normal(size=(500, 3))


def truth(x):
    return np.exp(0.6 * x[:, 0] + 1)


OUTCOMES = {
    "counts": lambda mean: RNG.poisson(mean).astype(float),
    "zero-inflated": lambda mean: RNG.poisson(mean * RNG.binomial(1, 0.5, len(mean)) * 2.0),
    "positive": lambda mean: RNG.gamma(2.0, mean / 2),
    "positive or 0": lambda mean: (
        RNG.standard_gamma(RNG.poisson(2 * np.sqrt(mean))) * np.sqrt(mean) / 2
    ),
}
TREES = {"n_estimators": 20, "learning_rate": 0.2, "max_depth": 2}
ESTIMATORS = {
    "xgboost, counts": (XGBRegressor(objective="count:poisson", **TREES), "counts"),
    "xgboost, zeros": (XGBRegressor(objective="count:poisson", **TREES), "zero-inflated"),
    "xgboost, gamma": (XGBRegressor(objective="reg:gamma", **TREES), "positive"),
    "xgboost, tweedie": (XGBRegressor(objective="reg:tweedie", **TREES), "positive or 0"),
    "lightgbm, counts": (LGBMRegressor(objective="poisson", verbosity=-1, **TREES), "counts"),
    "lightgbm, gamma": (LGBMRegressor(objective="gamma", verbosity=-1, **TREES), "positive"),
    "lightgbm, tweedie": (
        LGBMRegressor(objective="tweedie", verbosity=-1, **TREES),
        "positive or 0",
    ),
    "scikit-learn": (PoissonRegressor(alpha=0.0), "counts"),
    "histograms": (HistGradientBoostingRegressor(loss="gamma", max_iter=20), "positive"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_of_counts_and_positive_outcomes(name):
    """Imputed from their own distribution: nothing below 0, and new y are covered."""
    estimator, kind = ESTIMATORS[name]
    y, y_new = OUTCOMES[kind](truth(X)), OUTCOMES[kind](truth(X_NEW))
    model = nb.PosteriorRegressor(estimator, n_draws=10, calibration=None, random_state=0)
    model.fit(X, y)
    assert not model.posterior_.failed
    bounds = model.predict_interval(X_NEW, 0.9)
    assert (bounds >= 0).all()
    covered = nb.metrics.coverage(y_new, bounds)
    assert 0.87 < covered < 0.99  # discrete outcomes cannot cover 90 % exactly
    credible = model.predict_interval(X_NEW, 0.9, kind="credible")
    assert (credible > 0).all()
    if "counts" in name:
        assert (bounds == np.round(bounds)).all()


def test_any_regressor_can_have_counts():
    y = OUTCOMES["counts"](truth(X))
    forest = RandomForestRegressor(10, min_samples_leaf=5)
    model = nb.PosteriorRegressor(
        forest, noise="poisson", n_draws=4, calibration=None, random_state=0
    ).fit(X, y)
    samples = model.sample(X_NEW, 20, random_state=0)
    assert (samples == np.round(samples)).all()
    assert samples.min() >= 0


def test_rates_with_a_poisson_loss_are_no_counts():
    y = OUTCOMES["positive"](truth(X))
    model = nb.PosteriorRegressor(
        XGBRegressor(objective="count:poisson", **TREES), n_draws=4, calibration=None
    ).fit(X, y)
    bounds = model.predict_interval(X_NEW)
    assert (bounds != np.round(bounds)).all()


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (XGBRegressor(objective="reg:gamma"), [-1.0, 2.0], "y must be above 0 .* gamma .* got -1"),
        (LGBMRegressor(objective="gamma"), [0.0, 2.0], "y must be above 0 for a gamma loss, got 0"),
        (PoissonRegressor(), [-3.0, 2.0], "y must be at least 0 for a Poisson loss, got -3"),
        (LGBMRegressor(objective="tweedie"), [-3.0, 2.0], "for a Tweedie loss, got -3"),
        (PoissonRegressor(), [0.0, 0.0], "y is constant"),
    ],
)
def test_outcomes_that_a_loss_cannot_bear(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        nb.PosteriorRegressor(estimator).fit(X[:100], np.tile(y, 50))


def test_outcomes_in_several_columns():
    y = np.ones((200, 2)) + X[:, :2] ** 2
    with pytest.raises(ValueError, match=r"one output for counts .* got shape \(200, 2\)"):
        nb.PosteriorRegressor(RandomForestRegressor(), noise="gamma").fit(X, y)
