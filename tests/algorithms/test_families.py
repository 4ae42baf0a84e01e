import numpy as np
import pytest

import nearbayes as nb
from nearbayes import families
from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.seeds import Seeds
from nearbayes.draws.functional import Functional

COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])
FAMILIES = {
    "gaussian_scalar": (families.Gaussian(4.0), [0.5]),
    "gaussian_variances": (families.Gaussian([1.0, 4.0]), [0.5, -1.0]),
    "gaussian_full": (families.Gaussian(COVARIANCE), [0.5, -1.0]),
    "mean_variance": (families.GaussianMeanVariance(), [1.0, 3.0]),
    "bernoulli": (families.Bernoulli(), [0.3]),
    "categorical": (families.Categorical(3), [0.2, 0.5, 0.3]),
    "poisson": (families.Poisson(), [2.5]),
    "gamma": (families.Gamma(2.0), [3.0]),
    "exponential": (families.Exponential(), [0.7]),
}
every_family = pytest.mark.parametrize("name", FAMILIES)
K = 40_000
STREAMS = Seeds(0).streams(range(3), 0)


@every_family
@pytest.mark.parametrize("size", [1, 5])
def test_block_statistics_have_the_moments_of_sampled_observations(name, size, seed):
    """Mean θ, and covariance Cov T / size where Cov T is that of plain observations."""
    family, theta = FAMILIES[name]
    theta, rng = np.array(theta), np.random.default_rng(seed)
    plain = family.statistics(family.sample(theta, K, rng))
    block = theta + family.sample_innovation(np.tile(theta, (K, 1)), size, rng)
    assert plain.shape == block.shape == (K, len(theta))
    for draws in (plain, block):
        error = draws.std(axis=0, ddof=1) / np.sqrt(K)
        assert (np.abs(draws.mean(axis=0) - theta) < 4.5 * error).all()
    deviations = [(plain - theta)[:, :, None] * (plain - theta)[:, None, :] / size]
    deviations.append((block - theta)[:, :, None] * (block - theta)[:, None, :])
    gap = deviations[0].mean(axis=0) - deviations[1].mean(axis=0)
    error = np.sqrt(sum(d.var(axis=0) for d in deviations) / K)
    assert (np.abs(gap) <= 4.5 * error + 1e-12).all()


@every_family
def test_the_fit_is_the_mean_statistic_and_weights_count(name):
    family, theta = FAMILIES[name]
    z = family.sample(np.array(theta), 6, np.random.default_rng(0))
    algorithm = nb.SequentialMLE(family)
    weight = np.array([2, 1, 1, 3, 1, 1])
    weighted, repeated = Data.of(z, None, weight), Data.of(np.repeat(z, weight, axis=0))
    fits = algorithm.fit([weighted, repeated, weighted], STREAMS)
    np.testing.assert_allclose(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])
    assert np.array_equal(algorithm.fit(Repeated(weighted, 2), STREAMS), fits[::2])
    assert algorithm.parameters(fits[0]).shape[0] == 1
    assert family.n_statistics == fits.shape[1]


@every_family
def test_a_refit_does_not_change_the_models_it_is_given(name):
    family, theta = FAMILIES[name]
    algorithm = nb.SequentialMLE(family)
    models, x = np.tile(theta, (3, 1)), Repeated(Rows.without_inputs(1), 3)
    new = Blocks(x, algorithm.sample(models, x, STREAMS), 11)
    moved = algorithm.refit(Repeated(None, 3), new, models, STREAMS)
    assert np.array_equal(models, np.tile(theta, (3, 1)))
    assert moved.shape == models.shape


def test_refit_by_hand():
    algorithm = nb.SequentialMLE(families.Poisson())
    x, theta = Repeated(Rows.without_inputs(2), 1), np.array([[1.0]])
    new = Blocks(x, np.array([[5.0]]) - theta, 8)  # two observations of mean 5, of eight in all
    assert algorithm.refit(Repeated(None, 1), new, theta, STREAMS).tolist() == [[2.0]]


@every_family
def test_a_refit_to_a_block_is_the_fit_to_all_rows(name):
    family, theta = FAMILIES[name]
    algorithm, rng = nb.SequentialMLE(family), np.random.default_rng(1)
    old, new = (family.sample(np.array(theta), size, rng) for size in (12, 25))
    first = algorithm.fit([Data.of(old)], STREAMS)
    innovation = family.statistics(new).mean(axis=0) - first
    blocks = Blocks(Repeated(Rows.without_inputs(25), 1), innovation, 37)
    moved = algorithm.refit([None], blocks, first, STREAMS)
    pooled = algorithm.fit([Data.of(np.concatenate([old, new]))], STREAMS)
    np.testing.assert_allclose(moved, pooled)


def test_chunks_hold_about_as_many_numbers_in_any_dimension():
    sizes = {d: nb.SequentialMLE(families.Gaussian(np.ones(d))).traits.chunk for d in (1, 10, 1000)}
    assert sizes == {1: 5000, 10: 5000, 1000: 50}
    assert nb.SequentialMLE(families.Categorical(10_000)).traits.chunk == 16


POSTERIORS = {  # data, then mean and sd of the exact posterior of the parameters
    "gaussian_scalar": ([1.0, 3.0], [2.0], [np.sqrt(2.0)]),
    "bernoulli": ([1, 1, 1, 0], [0.75], [np.sqrt(3 / (16 * 5))]),
    "categorical": ([0, 0, 2, 2], [0.5, 0.0, 0.5], [np.sqrt(1 / 20), 0, np.sqrt(1 / 20)]),
    "poisson": ([2, 3, 4], [3.0], [1.0]),
    "gamma": ([1.0, 2.0, 3.0] * 2, [2.0], [2 / np.sqrt(11)]),
    "exponential": ([1.0, 1.0, 2.0, 4.0] * 3, [2.0], [2 / np.sqrt(11)]),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_conjugate_posterior_by_hand(name, seed):
    z, mean, sd = POSTERIORS[name]
    draws = FAMILIES[name][0].conjugate_posterior(np.array(z), K, np.random.default_rng(seed))
    assert (np.abs(draws.mean(axis=0) - mean) <= 4.5 * np.array(sd) / np.sqrt(K)).all()
    fourth = ((draws - mean) ** 4).mean(axis=0)  # the error of a variance, heavy tails included
    error = np.sqrt(fourth / K)
    assert (np.abs(draws.var(axis=0) - np.square(sd)) <= 4.5 * error).all()


def test_conjugate_posterior_of_mean_and_variance(seed):
    z = np.random.default_rng(seed).normal(2.0, 3.0, 30)
    draws = families.GaussianMeanVariance().conjugate_posterior(z, K, np.random.default_rng(seed))
    error = draws.std(axis=0, ddof=1) / np.sqrt(K)
    # 1/variance ~ Gamma((n+3)/2, S/2), so the mean variance is S / (n+1)
    expected = [z.mean(), z.var() * 30 / 31]
    assert (np.abs(draws.mean(axis=0) - expected) < 4 * error).all()


def test_mean_and_variance_far_from_0_are_as_at_0_or_refused():
    family, z = families.GaussianMeanVariance(), np.random.default_rng(0).normal(size=100)
    algorithm, run = nb.SequentialMLE(family), {"n_draws": 2_000, "random_state": 0}

    def sds(shift):
        found = nb.martingale_posterior(algorithm, z + shift, **run)
        return np.std(algorithm.parameters(found.models), axis=0)

    np.testing.assert_allclose(sds(0.9e6), sds(0), rtol=2e-3)  # the same random numbers
    for shift in (1e7, 1e8, -1.7e9):
        with pytest.raises(ValueError, match=r"standard deviation of \S+: subtract a constant"):
            sds(shift)
    with pytest.raises(ValueError, match=r"sizes up to 1e\+150"):
        sds(1e200)
    assert family.statistics(np.full(3, 0.1)).shape == (3, 2)  # a resample of one value


@pytest.mark.parametrize("value", [0, 1])
def test_a_coin_that_never_lands_on_one_side(value):
    """As with an unseen category or a count of zero: the vanishing prior gives a point."""
    z = np.full(5, value)
    draws = families.Bernoulli().conjugate_posterior(z, 3, np.random.default_rng(0))
    assert draws.tolist() == [[value]] * 3


def test_a_category_never_seen_keeps_probability_zero():
    run = {"n_draws": 50, "random_state": 0}
    z = np.array([0, 2, 2, 0, 2])
    posterior = nb.martingale_posterior(nb.SequentialMLE(families.Categorical(3)), z, **run)
    assert (posterior.models[:, 1] == 0).all()
    np.testing.assert_allclose(posterior.models.sum(axis=1), 1.0)


def test_parameters():
    variance = families.GaussianMeanVariance().parameters(np.array([[2.0, 5.0], [2.0, 3.9]]))
    assert variance.tolist() == [[2.0, 1.0], [2.0, 0.0]]
    assert nb.SequentialMLE(families.Poisson()).parameters([3.0]).tolist() == [[3.0]]


def test_exponential_is_gamma_of_shape_one():
    assert families.Exponential() == families.Gamma(1.0)


BAD = {
    "coin": (families.Bernoulli(), [0, 2], "data must be 0 or 1 for this family, got 2"),
    "code": (families.Categorical(3), [0, 3], "integers from 0 to 2 for this family, got 3"),
    "half": (families.Categorical(3), [0.5], "integers from 0 to 2 for this family, got 0.5"),
    "negative": (families.Poisson(), [1, -1], "integers of at least 0 for this family, got -1"),
    "fraction": (families.Poisson(), [1.5], "integers of at least 0 for this family, got 1.5"),
    "zero": (families.Gamma(2.0), [1.0, 0.0], "data must be positive for this family, got 0"),
    "columns": (families.Poisson(), [[1, 2]], "data must be one column of numbers, got 2 columns"),
    "moments": (families.GaussianMeanVariance(), [[1, 2]], "must be one column of numbers"),
    "wide": (families.Gaussian([1, 1]), [1.0], "must have 2 columns, the size of the cov"),
    "words": (families.Bernoulli(), ["yes", "no"], "data must be numbers for this family, got dty"),
    "digits": (families.Poisson(), ["1", "2"], "data must be numbers for this family, got dtype"),
    "objects": (families.Gamma(2.0), np.array([1, {}]), "must be numbers for this .* dtype object"),
    "cube": (families.Gaussian([1, 1]), np.ones((3, 2, 2)), r"or \(n, d\), got shape \(3, 2, 2\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_data_outside_the_family(name):
    family, z, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        family.statistics(np.array(z))


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0, 0.5], [0.2, 1.0]], r"covariance must be symmetric, got shape \(2, 2\)"),
        (np.ones((2, 3)), r"covariance must be symmetric, got shape \(2, 3\)"),
        (-1.0, "covariance must be positive definite"),
        ("x", "covariance must be a variance, .* of numbers, got 'x'"),
        ([], r"covariance must be a variance, .* of numbers, got \[\]"),
        (np.ones((2, 2, 2)), "covariance must be a variance, variances of shape"),
        (np.nan, "covariance must be finite, got NaN"),
        ([1.0, np.inf], "covariance must be finite, got NaN or infinity"),
        ([[1.0, 2.0], [2.0, 1.0]], "covariance must be positive definite"),
    ],
)
def test_bad_covariance(covariance, message):
    with pytest.raises(ValueError, match=message):
        families.Gaussian(covariance)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: nb.SequentialMLE("poisson"), r"such as families.Poisson\(\), got 'poisson'"),
        (lambda: nb.SequentialMLE(families.Poisson), r"got the class Poisson: call it, Poisson\("),
        (lambda: nb.SequentialMLE(families.Exponential), "must be one of nearbayes.families"),
        (lambda: families.Categorical(0), "n_categories must be a whole number, 1 or more, got 0"),
        (lambda: families.Categorical(2.5), "n_categories must be a whole number, .* got 2.5"),
        (lambda: families.Gamma(np.inf), "shape must be a positive, finite number, got inf"),
        (lambda: families.Gamma("a"), "shape must be a positive, finite number, got 'a'"),
    ],
)
def test_bad_families(make, match):
    with pytest.raises((TypeError, ValueError), match=match):
        make()


def test_inputs_are_refused_not_ignored():
    with pytest.raises(ValueError, match="takes observations z alone, got X and y: give z"):
        nb.martingale_posterior(nb.SequentialMLE(families.Poisson()), (np.ones((5, 1)), [1] * 5))


@pytest.mark.parametrize(
    ("family", "z", "link", "high"),
    [
        (families.Bernoulli(), [1, 0, 0, 0, 0], "logit", 1.0),
        (families.Poisson(), [1, 0, 0, 0, 0], "log", np.inf),
        (families.Exponential(), [0.1, 2.0, 0.2], "log", np.inf),
    ],
)
def test_intervals_on_the_scale_of_a_link_stay_in_the_range_of_the_parameter(family, z, link, high):
    run = {"n_draws": 50, "random_state": 0}
    posterior = nb.martingale_posterior(nb.SequentialMLE(family), np.array(z), **run)
    assert posterior.inflation > 1
    found = posterior.apply(lambda theta: theta, link=link)
    for values in (found.interval(0.99), found.adjusted(), found.band(0.9, wasserstein=0.1)):
        assert ((values >= 0) & (values <= high)).all()


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-20])
def test_intervals_on_the_log_scale_have_the_unit_of_the_quantity(unit):
    """Small quantities were raised to half an observation."""
    z = np.random.default_rng(0).exponential(1.0, 50)
    run = {"n_draws": 50, "random_state": 0}
    posterior = nb.martingale_posterior(nb.SequentialMLE(families.Exponential()), z, **run)
    scaled = posterior.apply(lambda theta: unit * theta[0], link="log")
    whole = Functional(posterior.models[:, 0], posterior.inflation, "log")
    assert posterior.inflation > 1
    np.testing.assert_allclose(scaled.interval([0.5, 0.99]), unit * whole.interval([0.5, 0.99]))
    np.testing.assert_allclose(scaled.std, unit * whole.std)
    some = posterior.apply(lambda theta: unit * max(theta[0] - whole.mean, 0.0), link="log")
    assert (some.adjusted() < unit * whole.mean).all()


def test_gaussian_knows_independent_coordinates():
    assert families.Gaussian([1.0, 4.0]).scale.tolist() == [1.0, 2.0]
    assert families.Gaussian(COVARIANCE).scale is None
    np.testing.assert_allclose(families.Gaussian(COVARIANCE).root @ [1, 0], [2**0.5, 0.6 / 2**0.5])
