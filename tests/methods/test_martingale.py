import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture

import nearbayes as nb
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=40)
LABELS = np.where(Y > 0, "yes", "no")
RUN = {"n_draws": 4, "random_state": 3, "schedule": nb.Schedule.arithmetic(horizon=40, block=10)}

CASES = {
    "batched": (nb.SequentialMLE(nb.families.GaussianMeanVariance()), Y, lambda t: t),
    "functions": (
        nb.algorithm(np.mean, lambda m, size, rng: rng.normal(m, 1.0, size)),
        Y,
        lambda m: m,
    ),
    "regressor": (nb.RegressorAlgorithm.of(LinearRegression()), (X, Y), lambda m: m.coef_),
    "classifier": (
        nb.ClassifierAlgorithm.of(LogisticRegression()),
        (X, LABELS),
        lambda m: m.predict_proba(X[:3])[:, 1],
    ),
    "randomised": (
        nb.ClassifierAlgorithm.of(RandomForestClassifier(3)),
        (X, LABELS),
        lambda m: m.feature_importances_,
    ),
    "random_features": (nb.gp.RandomFeatureGP(), (X, Y), lambda m: m.weights),
    "gaussian_process": (
        EmpiricalBayesAlgorithm(nb.gp.EmpiricalBayesGP()),
        (X, Y),
        lambda m: m.predict(X[:3]),
    ),
    "density": (nb.DensityAlgorithm.of(GaussianMixture(1)), X, lambda m: m.means_[0]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_paths_end_in_the_draws_of_the_posterior(case):
    algorithm, data, function = case
    paths = nb.martingale_paths(algorithm, data, function, **RUN)
    posterior = nb.martingale_posterior(algorithm, data, **RUN)
    draws = posterior.apply(function)
    assert paths.n_rows.tolist() == [40, 50, 60, 70, 80]
    assert paths.values.shape == (4, 5, *draws.values.shape[1:])
    np.testing.assert_array_equal(paths.ends.values, draws.values)
    np.testing.assert_array_equal(paths.ends.interval(), draws.interval())


def test_paths_start_from_the_first_fit_and_part_from_there():
    algorithm, data, function = CASES["regressor"]
    paths = nb.martingale_paths(algorithm, data, function, **RUN)
    np.testing.assert_allclose(paths.values[:, 0], [LinearRegression().fit(X, Y).coef_] * 4)
    assert len(np.unique(paths.values[:, 1, 0])) == 4


def test_paths_of_a_random_algorithm_start_apart():
    algorithm, data, function = CASES["randomised"]
    paths = nb.martingale_paths(algorithm, data, function, **RUN)
    assert len(np.unique(paths.values[:, 0, 0])) > 1


def test_steps_of_the_sequential_mle_have_the_variance_of_their_blocks():
    # theta moves by block / total times the mean of a block, whose variance is 1 / block
    mle = nb.SequentialMLE(nb.families.Gaussian(1.0))
    run = {**RUN, "n_draws": 4000}
    paths = nb.martingale_paths(mle, Y, lambda t: t[0], **run)
    steps = np.diff(paths.values, axis=1)
    np.testing.assert_allclose(steps.std(axis=0), 10**0.5 / paths.n_rows[1:], rtol=0.05)
    np.testing.assert_allclose(np.corrcoef(steps.T), np.eye(4), atol=0.08)


def test_the_schedule_that_the_algorithm_prefers():
    xgboost = pytest.importorskip("xgboost")
    algorithm = nb.RegressorAlgorithm.of(xgboost.XGBRegressor(n_estimators=2))
    paths = nb.martingale_paths(algorithm, (X, Y), lambda m: m.predict(X[:1])[0], n_draws=2)
    assert paths.n_rows.tolist() == [40, 50, 60, 70, 80]


def test_paths_do_not_depend_on_the_number_of_processes():
    algorithm, data = nb.RegressorAlgorithm.of(Ridge()), (X, Y)
    one, two = (
        nb.martingale_paths(algorithm, data, lambda m: m.coef_, n_jobs=jobs, **RUN).values
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_what_is_no_algorithm_or_no_function():
    with pytest.raises(TypeError, match=r"algorithm must be a nearbayes.Algorithm, got Linear"):
        nb.martingale_paths(LinearRegression(), (X, Y), lambda m: m.coef_)
    with pytest.raises(TypeError, match="function must take a fitted model, got 'coef_'"):
        nb.martingale_paths(nb.RegressorAlgorithm.of(Ridge()), (X, Y), "coef_")
    done = nb.martingale_posterior(nb.RegressorAlgorithm.of(Ridge()), (X, Y), **RUN)
    with pytest.raises(ValueError, match="resume must be None: paths of existing draws"):
        nb.martingale_paths(nb.RegressorAlgorithm.of(Ridge()), (X, Y), np.size, resume=done)


def test_draws_that_fail_have_no_path():
    def sample(model, size, rng):
        return np.full(size, np.nan if rng.random() < 0.2 else 0.0)

    with pytest.warns(nb.DrawWarning, match="NaN"):
        paths = nb.martingale_paths(
            nb.algorithm(np.mean, sample), Y, float, **{**RUN, "n_draws": 9}
        )
    assert 0 < len(paths.values) < 9
    assert np.isfinite(paths.values).all()
