"""PosteriorRegressor: noise models, predictive and credible intervals, several outputs."""

import numpy as np
import pytest
from ngboost import NGBRegressor
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

import nearbayes as nb
from nearbayes.metrics import coverage

X, Y = load_diabetes(return_X_y=True)
NOISES = ["gaussian", "residual", "heteroscedastic", "estimator"]


def laplace_noise(mean, x, rng):
    return mean + rng.laplace(scale=40.0, size=mean.shape)


@pytest.fixture(scope="module", params=[*NOISES, laplace_noise], ids=[*NOISES, "callable"])
def fitted(request):
    estimator = BayesianRidge() if request.param == "estimator" else Ridge(0.1)
    return nb.PosteriorRegressor(estimator, noise=request.param, n_draws=30, random_state=0).fit(
        X[:300], Y[:300]
    )


def test_shapes(fitted):
    assert fitted.predict(X[300:]).shape == (142,)
    mean, std = fitted.predict(X[300:], return_std=True)
    assert mean.shape == std.shape == (142,)
    assert fitted.predict_interval(X[300:]).shape == (142, 2)
    assert fitted.predict_interval(X[300:], [0.5, 0.9]).shape == (142, 2, 2)
    assert fitted.predict_interval(X[300:], kind="credible").shape == (142, 2)
    assert fitted.predict_quantiles(X[300:], [0.1, 0.5, 0.9]).shape == (142, 3)
    assert fitted.sample(X[300:], 7, random_state=0).shape == (7, 142)


def test_predictive_intervals_cover_held_out_rows(fitted):
    share = coverage(Y[300:], fitted.predict_interval(X[300:], 0.9))
    # 142 rows: one standard error of a share of .9 is .025; 4 of them
    assert abs(share - 0.9) < 0.1


def test_credible_is_narrower_than_predictive(fitted):
    credible = np.ptp(fitted.predict_interval(X, kind="credible"), axis=1)
    predictive = np.ptp(fitted.predict_interval(X), axis=1)
    assert (credible < predictive).all()


def test_quantiles_agree_with_samples(fitted):
    # unadjusted by hand: samples come from the adjusted draws, as the quantiles do
    samples = fitted.sample(X[:3], 30_000, random_state=1)
    quantiles = fitted.predict_quantiles(X[:3], [0.05, 0.5, 0.95])
    below = (samples[:, :, None] <= quantiles).mean(axis=0)
    # 30 draws in turn are a stratified sample, so the error is below that of 30,000 flips; a
    # noise known by samples alone has its own error from 6,000 of them
    assert np.abs(below - [0.05, 0.5, 0.95]).max() < 0.02


def test_quantiles_are_monotone_and_repeatable(fitted):
    quantiles = fitted.predict_quantiles(X[:20], [0.1, 0.3, 0.9])
    assert (np.diff(quantiles, axis=1) > 0).all()
    assert np.array_equal(quantiles, fitted.predict_quantiles(X[:20], [0.1, 0.3, 0.9]))


def test_gaussian_quantiles_are_those_of_the_mixture():
    model = nb.PosteriorRegressor(Ridge(), noise="gaussian", n_draws=12, random_state=0).fit(X, Y)
    quantile = model.predict_quantiles(X[:5], 0.8, spread="raw")[:, 0]
    algorithm = model.posterior_.algorithm
    parts = [algorithm.predictive(draw, X[:5]) for draw in model.posterior_.models]
    below = np.mean([stats.norm.cdf(quantile, part.mean, part.sd) for part in parts], axis=0)
    np.testing.assert_allclose(below, 0.8, atol=1e-9)


def test_return_std_is_that_of_the_samples():
    model = nb.PosteriorRegressor(Ridge(), n_draws=40, random_state=0).fit(X, Y)
    _, std = model.predict(X[:4], return_std=True)
    samples = model.sample(X[:4], 40_000, random_state=0)
    np.testing.assert_allclose(samples.std(axis=0), std, rtol=4 / np.sqrt(2 * 40_000))


def test_noise_is_from_out_of_fold_residuals():
    """A model that interpolates has training residuals of 0, but not this noise."""
    from sklearn.neighbors import KNeighborsRegressor

    model = nb.PosteriorRegressor(
        KNeighborsRegressor(1), n_draws=3, n_refits=1, random_state=0
    ).fit(X, Y)
    assert np.sqrt(model.posterior_.first.noise.covariance[0, 0]) > 0.5 * Y.std()


def test_noise_level_has_a_posterior_of_its_own():
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=400, n_refits=6, random_state=0).fit(
        X, Y
    )
    variances = np.array([draw.noise.covariance[0, 0] for draw in model.posterior_.models])
    first = model.posterior_.first.noise.covariance[0, 0]
    expected_sd = first * np.sqrt(2 / len(Y)) / model.posterior_.inflation
    assert abs(variances.mean() / first - 1) < 4 * np.sqrt(2 / len(Y) / 400)
    assert abs(variances.std() / expected_sd - 1) < 4 / np.sqrt(2 * 400) + 0.02


def test_heteroscedastic_noise_finds_the_noisy_side():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(800, 1))
    y = x[:, 0] + np.exp(x[:, 0] * 1.5) * rng.normal(size=800)
    model = nb.PosteriorRegressor(
        LinearRegression(), noise="heteroscedastic", n_draws=20, random_state=0
    ).fit(x, y)
    _, std = model.predict(np.array([[-0.9], [0.9]]), return_std=True)
    truth = np.exp(np.array([-0.9, 0.9]) * 1.5)
    assert np.all(np.abs(np.log(std / truth)) < np.log(1.4))


def test_heteroscedastic_noise_does_not_invent_structure():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    model = nb.PosteriorRegressor(
        LinearRegression(), noise="heteroscedastic", n_draws=5, random_state=0
    ).fit(x, y)
    _, std = model.predict(x, return_std=True)
    assert std.std() / std.mean() < 0.15


def test_own_distribution_of_ngboost():
    estimator = NGBRegressor(n_estimators=15, learning_rate=0.05, verbose=False)
    model = nb.PosteriorRegressor(
        estimator, noise="estimator", n_draws=4, n_refits=2, random_state=0
    ).fit(X[:300], Y[:300])
    assert 0.8 < coverage(Y[300:], model.predict_interval(X[300:])) <= 1.0
    parts = [model.posterior_.algorithm.predictive(draw, X[:3]) for draw in model.posterior_.models]
    assert not np.allclose(parts[0].variance, parts[1].variance)


def test_several_outputs_keep_their_correlation():
    rng = np.random.default_rng(0)
    noise = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=400)
    x = rng.normal(size=(400, 2))
    y = x @ np.array([[1.0, 2.0], [0.0, 1.0]]) + noise
    for kind in ("gaussian", "residual"):
        model = nb.PosteriorRegressor(
            LinearRegression(), noise=kind, n_draws=20, random_state=0
        ).fit(x, y)
        assert model.predict(x).shape == (400, 2)
        assert model.predict_interval(x).shape == (400, 2, 2)
        assert model.predict_interval(x, [0.5, 0.9], kind="credible").shape == (400, 2, 2, 2)
        samples = model.sample(x[:1], 4000, random_state=0)[:, 0]
        assert abs(np.corrcoef(samples.T)[0, 1] - 0.8) < 0.07


def test_auto_schedule():
    model = nb.PosteriorRegressor(
        Ridge(), noise="residual", n_draws=5, schedule="auto", random_state=0
    ).fit(X, Y)
    assert np.isfinite(list(model.schedule_scores_.values())).all()


@pytest.mark.parametrize("method", ["bootstrap", "parametric_bootstrap", "ensemble"])
@pytest.mark.filterwarnings("ignore:an ensemble of an algorithm")
def test_baselines_predict(method):
    model = nb.PosteriorRegressor(
        LinearRegression(), n_draws=10, method=method, random_state=0
    ).fit(X, Y)
    assert model.score(X, Y) > 0.4
    assert coverage(Y, model.predict_interval(X)) > 0.8


def test_the_fits_error_is_not_counted_twice():
    """Noise and spread together have the variance of out-of-fold residuals."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 12))
    y = x[:, 0] + rng.normal(size=60)
    flexible = {"noise": "gaussian", "calibration": None, "n_draws": 60, "random_state": 0}
    model = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=3), **flexible).fit(x, y)
    spread = model.posterior_.predictions(x).std ** 2
    noise = np.mean([draw.noise.covariance[0, 0] for draw in model.posterior_.models])
    assert model.noise_factor_ < 0.95
    total = model.noise_factor_**2 * noise + spread.mean()
    assert total == pytest.approx(noise, rel=0.02)


def test_noise_of_a_linear_model_holds_no_error_of_the_fit():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 12))
    y = x[:, 0] + rng.normal(size=60)
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=50, random_state=0).fit(x, y)
    assert model.noise_factor_ == 1.0
    noise = np.mean([draw.noise.covariance[0, 0] for draw in model.posterior_.models])
    squares = np.sum((y - LinearRegression().fit(x, y).predict(x)) ** 2)
    assert noise == pytest.approx(squares / (60 - 13 - 2) * (1 + 13 / 120), rel=0.1)


def test_the_noise_of_a_function_is_the_users():
    def noise(mean, x, rng):
        return rng.normal(mean, 3.0)

    model = nb.PosteriorRegressor(Ridge(), noise=noise, n_draws=5, random_state=0).fit(X, Y)
    assert model.noise_factor_ == 1.0


def test_log_density_is_that_of_the_mixture():
    model = nb.PosteriorRegressor(Ridge(), noise="gaussian", n_draws=5, random_state=0).fit(X, Y)
    parts = model._predictives(X[:4])
    densities = [stats.norm.pdf(Y[:4], part.mean, part.sd) for part in parts]
    np.testing.assert_allclose(model.log_density(X[:4], Y[:4]), np.log(np.mean(densities, axis=0)))


def test_log_density_of_a_noise_function_is_unknown():
    model = nb.PosteriorRegressor(
        Ridge(), noise=lambda mean, x, rng: rng.normal(mean), n_draws=2, random_state=0
    ).fit(X, Y)
    with pytest.raises(ValueError, match="samples but no density"):
        model.log_density(X, Y)


def test_rounds_of_the_noise_are_chosen_on_residuals():
    """Early stopping of the variance model on raw y would stop at once, or never."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(600, 1))
    y = 50 + rng.normal(size=600) * np.where(x[:, 0] > 0, 5.0, 0.5)
    trees = XGBRegressor(n_estimators=200, max_depth=2, early_stopping_rounds=10)
    model = nb.PosteriorRegressor(
        trees, noise="heteroscedastic", n_draws=4, calibration=None, random_state=0
    ).fit(x[:400], y[:400], eval_set=[(x[400:], y[400:])])
    widths = np.ptp(model.predict_interval(np.array([[-0.5], [0.5]])), axis=1)
    assert widths[1] > 4 * widths[0]
