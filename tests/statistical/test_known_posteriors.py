"""Law 4: where the posterior is known, it is recovered.

Tolerances are stated multiples of the Monte Carlo error. The figures the project promises (5 % and
10 %) are asserted for the default seed; other seeds (NEARBAYES_TEST_SEEDS) get four errors.
"""

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression

import nearbayes as nb
from nearbayes import families
from nearbayes.core.schedule import captured
from nearbayes.draws.functional import Functional
from nearbayes.metrics import wasserstein2_gaussian

N_DRAWS = 4_000
SD_ERROR = 1 / np.sqrt(2 * N_DRAWS)  # relative Monte Carlo error of a standard deviation


def family_and_sample(name, n, seed):
    rng = np.random.default_rng([seed, n])
    return {
        "gaussian": (families.Gaussian(2.0), rng.normal(1.0, np.sqrt(2.0), n)),
        "gaussian_mean_variance": (families.GaussianMeanVariance(), rng.normal(1.0, 2.0, n)),
        "bernoulli": (families.Bernoulli(), rng.binomial(1, 0.3, n)),
        "categorical": (families.Categorical(3), rng.choice(3, n, p=[0.2, 0.3, 0.5])),
        "poisson": (families.Poisson(), rng.poisson(3.0, n)),
        "exponential": (families.Exponential(), rng.exponential(2.0, n)),
        "gamma": (families.Gamma(2.5), rng.gamma(2.5, 1.0, n)),
    }[name]


FAMILIES = [
    "gaussian",
    "gaussian_mean_variance",
    "bernoulli",
    "categorical",
    "poisson",
    "exponential",
    "gamma",
]


def parameters(family, z, schedule, seed, n_draws=N_DRAWS):
    algorithm = nb.SequentialMLE(family)
    posterior = nb.martingale_posterior(
        algorithm, z, n_draws=n_draws, schedule=schedule, random_state=seed
    )
    return Functional(algorithm.parameters(np.asarray(posterior.models)), posterior.inflation)


@pytest.mark.parametrize("name", FAMILIES)
def test_conjugate_posterior_is_recovered(name, seed):
    family, z = family_and_sample(name, 200, seed)
    ours = parameters(family, z, nb.Schedule.optimal(64), seed)
    exact = family.conjugate_posterior(z, 400_000, np.random.default_rng(seed))
    ratio = ours.std / exact.std(axis=0)
    print(f"\n{name}: sd ratio {np.round(ratio, 3)}")
    assert np.all(np.abs(ratio - 1) < (0.05 if seed == 0 else 4 * SD_ERROR + 0.02))
    gap = np.abs(ours.mean - exact.mean(axis=0)) / ours.mc_error
    assert np.all(gap < (3 if seed == 0 else 4))


@pytest.mark.parametrize("name", FAMILIES)
def test_small_n_matches_the_unit_block_martingale(name, seed):
    family, z = family_and_sample(name, 20, seed)
    n_draws = 16_000  # so that the error of the ratio is well below what is promised
    ours = parameters(family, z, nb.Schedule.optimal(64), seed, n_draws)
    # one row per refit, 1,000 refits: the martingale itself, but for the last two percent of its
    # variance, for which the formula does
    unit = parameters(family, z, nb.Schedule.arithmetic(horizon=50.0, block=1), seed + 1, n_draws)
    share = captured(20, [1] * 1_000) / captured(20, [1] * 100_000)
    ratio = ours.std / (unit.values.std(axis=0, ddof=1) / np.sqrt(share))
    exact = family.conjugate_posterior(z, 400_000, np.random.default_rng(seed))
    print(
        f"\n{name}, n = 20: sd over unit blocks {np.round(ratio, 3)}, "
        f"over the conjugate posterior {np.round(ours.std / exact.std(axis=0), 3)}"
    )
    assert np.all(np.abs(ratio - 1) < (0.05 if seed == 0 else 4 / np.sqrt(n_draws) + 0.03))


def test_more_dimensions_than_rows(seed):
    """d = 50 > n = 10 (App. A.3), where the bootstrap knows nothing of 41 directions."""
    d, n = 50, 10
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d)
    covariance = mixing @ mixing.T + 0.5 * np.eye(d)
    z = rng.multivariate_normal(np.zeros(d), covariance, size=n)
    ours = parameters(families.Gaussian(covariance), z, nb.Schedule.optimal(64), seed)
    adjusted = ours.adjusted()
    np.testing.assert_allclose(ours.std, np.sqrt(np.diag(covariance) / n), rtol=4.5 * SD_ERROR)
    # whitened, the covariance of the draws is Wishart around the identity
    white = np.linalg.solve(np.linalg.cholesky(covariance / n), (adjusted - z.mean(axis=0)).T)
    eigenvalues = np.linalg.eigvalsh(np.cov(white))
    edge = np.sqrt(d / N_DRAWS)  # Marchenko-Pastur: (1 +- edge)^2
    assert eigenvalues.min() > (1 - edge) ** 2 - 0.03
    assert eigenvalues.max() < (1 + edge) ** 2 + 0.03
    distance = wasserstein2_gaussian(
        adjusted.mean(axis=0), np.cov(adjusted.T), z.mean(axis=0), covariance / n
    )
    assert distance < 0.15 * np.sqrt(np.trace(covariance) / n)
    bagged = nb.baselines.bootstrap(
        nb.SequentialMLE(families.Gaussian(covariance)), z, n_draws=200, random_state=seed
    )
    assert np.linalg.matrix_rank(np.cov(np.asarray(bagged.models).T), tol=1e-9) < n


@pytest.mark.parametrize(
    "schedule",
    [nb.Schedule.optimal(8), nb.Schedule.arithmetic(3.0, 0.25), nb.Schedule.arithmetic(1.0, 1.0)],
    ids=str,
)
def test_captured_share_matches_the_formula(schedule, seed):
    n, n_draws = 100, 40_000
    z = np.random.default_rng(seed).normal(size=n)
    posterior = nb.martingale_posterior(
        nb.SequentialMLE(families.Gaussian()),
        z,
        n_draws=n_draws,
        schedule=schedule,
        random_state=seed,
    )
    share = np.var(np.asarray(posterior.models)[:, 0]) * n
    print(f"\n{schedule}: captured {posterior.provenance.captured:.4f}, measured {share:.4f}")
    # relative error of a variance from K draws: sqrt(2 / K); 4 of them
    assert abs(share / posterior.provenance.captured - 1) < 4 * np.sqrt(2 / n_draws)


def coefficient_sds(model):
    return model.posterior_.apply(
        lambda draw: np.concatenate([np.ravel(draw.coef_), np.ravel(draw.intercept_)])
    ).std


def test_linear_regression(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + 0.7 * rng.normal(size=200)
    model = nb.PosteriorRegressor(
        LinearRegression(), n_draws=500, n_refits=8, random_state=seed
    ).fit(X, y)
    design = np.column_stack([X, np.ones(200)])
    fit = LinearRegression().fit(X, y)
    # flat prior on coefficients and log variance: Student t with n - 5 degrees of freedom
    df = 200 - 5
    variance = np.sum((y - fit.predict(X)) ** 2) / df
    exact = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance * df / (df - 2))
    ratio = coefficient_sds(model) / exact
    print(f"\nlinear regression: sd ratio {np.round(ratio, 3)}")
    assert np.all(np.abs(ratio - 1) < (0.1 if seed == 0 else 4 / np.sqrt(2 * 500) + 0.03))


def test_logistic_regression(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = rng.random(200) < 1 / (1 + np.exp(-(X @ [0.5, -0.5, 0.0, 0.25])))
    estimator = LogisticRegression(C=1e6)
    model = nb.PosteriorClassifier(estimator, n_draws=500, n_refits=8, random_state=seed).fit(X, y)
    design = np.column_stack([X, np.ones(200)])
    p = estimator.fit(X, y).predict_proba(X)[:, 1]
    laplace = np.sqrt(np.diag(np.linalg.inv(design.T * (p * (1 - p)) @ design)))
    ratio = coefficient_sds(model) / laplace
    print(f"\nlogistic regression: sd ratio {np.round(ratio, 3)}")
    assert np.all(np.abs(ratio - 1) < (0.1 if seed == 0 else 4 / np.sqrt(2 * 500) + 0.05))


def covered(replication, n=30):
    """Whether 90 % intervals of a linear regression function contain it, at 20 new points."""
    rng = np.random.default_rng([99, replication])
    X = rng.normal(size=(n, 2))
    truth = np.array([1.0, -1.0])
    y = X @ truth + rng.normal(size=n)
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=100, random_state=replication).fit(
        X, y
    )
    points = rng.normal(size=(20, 2))
    low, high = model.predict_interval(points, 0.9, kind="credible").T
    return np.mean((low <= points @ truth) & (points @ truth <= high))


@pytest.mark.slow
def test_credible_intervals_cover_in_a_well_specified_model():
    shares = joblib.Parallel(n_jobs=2)(joblib.delayed(covered)(k) for k in range(400))
    print(f"\ncoverage of 90 % intervals, 400 replications: {np.mean(shares):.4f}")
    assert 0.87 < np.mean(shares) < 0.93


def test_credible_intervals_cover_in_a_few_replications():
    shares = np.array([covered(replication) for replication in range(12)])
    assert abs(shares.mean() - 0.9) < 4 * shares.std() / np.sqrt(12)


def test_urn_is_the_polya_urn(seed):
    """Counts of one old row after a block have the beta-binomial law of a Polya urn."""
    data = nb.Data.of(np.arange(5.0)[:, None], np.zeros(5))
    rng = np.random.default_rng(seed)
    counts = np.array(
        [_times_of_row_0(nb.inputs.Urn().sample(data, 6, rng)) for _ in range(20_000)]
    )
    expected = stats.betabinom.pmf(np.arange(7), 6, 1, 4)
    observed = np.bincount(counts, minlength=7) / len(counts)
    error = np.sqrt(expected * (1 - expected) / len(counts))
    assert np.all(np.abs(observed - expected) < 4 * error)


def _times_of_row_0(x):
    return int(np.sum(x.positions == 0))


def test_one_draw_at_a_time_agrees_with_batched(seed):
    """The plain loop over rows and the batched loop over statistics draw from one law."""
    family, z = family_and_sample("exponential", 50, seed)
    schedule = nb.Schedule.optimal(6)
    batched = parameters(family, z, schedule, seed, n_draws=3_000).values[:, 0]
    plain = nb.martingale_posterior(
        nb.algorithm(np.mean, lambda mean, size, rng: rng.exponential(mean, size)),
        z, n_draws=1_000, schedule=schedule, random_state=seed,
    )  # fmt: skip
    assert stats.ks_2samp(batched, plain.apply(float).values).pvalue > 1e-3
