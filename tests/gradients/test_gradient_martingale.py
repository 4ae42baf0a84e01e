"""Gradient martingales against known posteriors, and what bad input is told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from scipy import stats

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.gradients.information import rows_of_information
from nearbayes.gradients.logistic_example import log_density, sampler
from nearbayes.gradients.steps import share_reached, variance_left

RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(200), np.sort(RNG.normal(size=200)), RNG.normal(size=200)])
Y = RNG.binomial(1, 1 / (1 + np.exp(-X @ [-0.3, 0.8, -0.5])))
COUNTS = np.random.default_rng(1).poisson(np.exp(X @ [-0.3, 0.8, -0.5]))
N_DRAWS = 8_000
SHORT = nb.Schedule.optimal(refits=2)
SD_ERROR = 1 / np.sqrt(2 * N_DRAWS)  # of a standard deviation, relative


def poisson_density(theta, x, y):
    return y * (x @ theta) - jnp.exp(x @ theta)


def poisson_sampler(theta, x, key):
    """By inversion: the loops of `jax.random.poisson` take minutes in these tests."""
    mean, counts = jnp.exp(x @ theta), jnp.arange(60.0)
    below = jnp.cumsum(jnp.exp(counts * jnp.log(mean) - mean - gammaln(counts + 1)))
    return jnp.sum(jax.random.uniform(key) > below).astype(float)


REGRESSIONS = {
    "logistic": ((log_density, sampler), Y, lambda eta: np.exp(-eta) / (1 + np.exp(-eta)) ** 2),
    "Poisson": ((poisson_density, poisson_sampler), COUNTS, np.exp),
}


def laplace_sds(name, theta):
    weight = REGRESSIONS[name][2](X @ np.asarray(theta))
    return np.sqrt(np.diag(np.linalg.inv(X.T @ (X * weight[:, None]))))


def regression(name, **options):
    return nb.GradientMartingale(*REGRESSIONS[name][0], np.zeros(3), **options)


def drawn(algorithm, data=(X, Y), n_draws=N_DRAWS, **run):
    return nb.martingale_posterior(algorithm, data, n_draws=n_draws, random_state=1, **run)


SLOW_FOR_POISSON = ["logistic", pytest.param("Poisson", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", SLOW_FOR_POISSON)
def test_sds_of_a_regression_are_laplaces_after_inflation(name):
    posterior = drawn(regression(name), (X, REGRESSIONS[name][1]), n_draws=N_DRAWS // 2)
    ratios = posterior.apply(lambda theta: theta).std / laplace_sds(name, posterior.first)
    assert np.abs(ratios - 1).max() < 0.05


@pytest.mark.parametrize("name", REGRESSIONS)
def test_the_hybrid_finish_makes_up_for_truncation(name):
    run = {"schedule": nb.Schedule.arithmetic(horizon=50, block=25)}
    data = (X, REGRESSIONS[name][1])
    finished = drawn(regression(name, finish_after=50), data, **run)
    plain = drawn(regression(name), data, **run)
    exact = laplace_sds(name, plain.first)
    assert finished.inflation == 1.0
    assert np.abs(np.std(finished.models, axis=0) / exact - 1).max() < 0.03
    assert (np.std(plain.models, axis=0) / exact).max() < 0.9


def coin_density(theta, z):
    return z * jnp.log(theta[0]) + (1 - z) * jnp.log1p(-theta[0])


def coin_sample(theta, key):
    return jnp.asarray(jax.random.uniform(key) < theta[0], dtype=float)


def coin_information(theta):
    return 1 / (theta[0] * (1 - theta[0]))


def test_sequential_mle_is_natural_gradient_in_the_mean_parameter():
    coins = RNG.binomial(1, 0.4, 50)
    schedule = nb.Schedule.arithmetic(horizon=100, block=1)
    mle = drawn(nb.SequentialMLE(nb.families.Bernoulli()), coins, 2_000, schedule=schedule)
    gradient = nb.GradientMartingale(
        coin_density, coin_sample, np.array([0.5]), information=coin_information, refresh="row"
    )
    one_block = nb.Schedule.arithmetic(horizon=100, block=100)
    natural = drawn(gradient, coins, 2_000, schedule=one_block)
    assert natural.provenance.captured == pytest.approx(mle.provenance.captured)
    pair = (np.asarray(each.models)[:, 0] for each in (mle, natural))
    assert stats.ks_2samp(*pair).pvalue > 1e-3


def test_parameters_may_have_any_structure():
    def density(theta, z):
        return stats_norm(z, theta["mean"], theta["log_sd"])

    def stats_norm(z, mean, log_sd):
        return -log_sd - 0.5 * ((z - mean) * jnp.exp(-log_sd)) ** 2

    algorithm = nb.GradientMartingale(
        density,
        lambda theta, key: theta["mean"] + jnp.exp(theta["log_sd"]) * jax.random.normal(key),
        {"mean": 0.0, "log_sd": 0.0},
    )
    z = RNG.normal(3.0, 2.0, size=80)
    posterior = drawn(algorithm, z, 50)
    first = algorithm.reveal(posterior.first)
    assert float(first["mean"]) == pytest.approx(z.mean())
    assert np.exp(float(first["log_sd"])) == pytest.approx(z.std())


def test_shares_of_steps():
    assert share_reached(None, 100, 100) == pytest.approx(0.5, abs=0.01)
    paper = variance_left(lambda j: 1 / (j + 1), 100)
    assert paper == pytest.approx(1 / 100.5, rel=1e-3)
    with pytest.raises(ValueError, match="must fall faster than"):
        variance_left(lambda j: (j + 1) ** -0.4, 100)


@pytest.mark.parametrize(
    ("algorithm", "match"),
    [
        (nb.GradientMartingale(lambda t, x, y: jnp.log(-1.0) * t[0], sampler, np.zeros(3)),
         "log_density must be finite at start"),
        (nb.GradientMartingale(lambda t, x, y: x * t[0], sampler, np.zeros(3)),
         "must return one number"),
        (nb.GradientMartingale(log_density, lambda t, x, k: jnp.zeros(2), np.zeros(3)),
         r"one observation of shape \(\), as in the data, got shape \(2,\)"),
        (nb.GradientMartingale(lambda t, x, y: log_density(t[:3], x, y) + 0 * t[3],
                               lambda t, x, k: sampler(t[:3], x, k), np.zeros(4)),
         "Fisher information at the first fit is singular"),
        (nb.GradientMartingale(log_density, sampler, np.zeros(3), information=lambda t, x: x),
         r"information must return a matrix of shape \(3, 3\), got shape \(3,\)"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(algorithm, match):
    with pytest.raises(ValueError, match=match):
        drawn(algorithm, n_draws=2)


def line_density(theta, x, y):
    return -((y - x @ theta) ** 2) / 2


def line_sample(theta, x, key):
    return x @ theta + jax.random.normal(key)


def line(d, **options):
    return nb.GradientMartingale(line_density, line_sample, np.zeros(d), **options)


def sds_over_laplaces(X, n_draws=400, **options):
    """Linear regression with unit variance: ratios of standard deviations to the exact ones."""
    y = np.random.default_rng(2).normal(size=len(X))
    posterior = drawn(line(X.shape[1], **options), (X, y), n_draws, schedule=SHORT)
    return posterior.apply(lambda theta: theta).std / np.sqrt(np.diag(np.linalg.inv(X.T @ X)))


@pytest.mark.parametrize("information", ["hessian", lambda theta, x: jnp.outer(x, x)])
def test_inputs_with_a_period_have_the_information_of_all_rows(information):
    periodic = np.where(np.arange(1_200) % 4 == 1, 3.0, 0.5)[:, None]
    ratio = sds_over_laplaces(periodic, information=information)
    assert np.abs(ratio - 1).max() < 4 / np.sqrt(2 * 400)


def test_long_tables_are_sampled_at_random(monkeypatch):
    monkeypatch.setattr("nearbayes.gradients.information.MOST_ROWS", 600)
    quarters = np.eye(4)[np.arange(1_200) % 4]
    data = Data.of(quarters, np.zeros(1_200), sample_weight=np.arange(1_200) % 4 + 1.0)
    rows = rows_of_information("hessian", data, 100, 4)
    share = np.einsum("pr,pra->a", rows.weight, rows.x) / rows.weight.sum()
    assert np.abs(share - [0.1, 0.2, 0.3, 0.4]).max() < 0.05


def test_information_of_many_parameters_is_not_too_noisy():
    wide = np.random.default_rng(3).normal(size=(300, 30))
    exact, noisy = (
        sds_over_laplaces(wide, n_draws=200, information=kind) for kind in ("hessian", "scores")
    )
    # the same random numbers move the draws; with 1,000 outcomes it is 1.05 or more
    assert abs((noisy / exact).mean() - 1) < 0.02 + 1 / np.sqrt(2 * 200 * 30)


def test_too_few_simulated_outcomes_are_refused():
    normal = nb.GradientMartingale(
        lambda theta, z: -jnp.sum((z - theta) ** 2) / 2,
        lambda theta, key: theta + jax.random.normal(key, (3,)),
        np.zeros(3),
        n_samples=10,
    )  # a mean of 10 would make the first variance (1 - 3 / 10) ** -3 times too large
    with pytest.raises(ValueError, match="n_samples must be 150 or more for 3 parameters"):
        drawn(normal, RNG.normal(size=(30, 3)), n_draws=2)


@pytest.mark.parametrize("refresh", ["block", "row"])
def test_empirical_information_is_that_of_the_first_fit(refresh):
    normal = nb.GradientMartingale(
        lambda theta, z: -theta[1] - 0.5 * ((z - theta[0]) * jnp.exp(-theta[1])) ** 2,
        lambda theta, key: theta[0] + jnp.exp(theta[1]) * jax.random.normal(key),
        np.zeros(2),
        information="empirical",
        refresh=refresh,
    )
    z = np.random.default_rng(4).normal(size=30)
    scaled = (z - z.mean()) / z.std()
    scores = np.column_stack([scaled / z.std(), scaled**2 - 1])
    by = np.linalg.inv(scores.T @ scores / 30)
    sandwich = by @ np.diag([1 / z.var(), 2]) @ by / 30
    ratios = drawn(normal, z, 400).apply(lambda theta: theta).std / np.sqrt(np.diag(sandwich))
    # 0.05 for a path whose scale moves; of moved parameters it would be 1.3
    assert np.abs(ratios - 1).max() < 0.05 + 3 / np.sqrt(2 * 400)
