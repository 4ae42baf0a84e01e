"""The inverse problem against its exact posterior."""

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.algorithms.linear_gaussian import increment_sd

RNG = np.random.default_rng(2)


def test_the_first_fit_and_the_exact_posterior_are_ridge_regression():
    A, z = RNG.normal(size=(4, 6)), RNG.normal(size=(20, 4))
    problem = nb.LinearGaussian(A)
    precision = 20 * A.T @ A + np.eye(6)
    mean = np.linalg.solve(precision, A.T @ z.sum(axis=0))
    exact = problem.exact_posterior(z)
    np.testing.assert_allclose(exact.mean, mean)
    np.testing.assert_allclose(exact.sd, np.sqrt(np.diag(np.linalg.inv(precision))))
    draws = exact.sample(20_000, RNG)
    np.testing.assert_allclose(np.cov(draws.T), np.linalg.inv(precision), atol=0.05)
    posterior = nb.martingale_posterior(problem, z, n_draws=5, random_state=0)
    np.testing.assert_allclose(problem.reveal(posterior.first), mean)


def test_a_block_is_as_many_single_steps():
    s = np.array([1.0, 0.3, 0.01])
    steps = np.arange(21, 61)[:, None]
    np.testing.assert_allclose(
        increment_sd(s, 20, 60) ** 2, (s**2 / (steps * s**2 + 1) ** 2).sum(axis=0), rtol=1e-8
    )


@pytest.mark.parametrize("beta", [1.0, 1.5, 2.0])
def test_the_bound_is_free_of_the_dimension(beta):
    n, ratios = 20, []
    for dimension in (50, 500, 5_000):
        problem = nb.LinearGaussian.decaying(dimension, beta)
        ratios.append((problem.wasserstein(n) / problem.radius(n)) ** 2)
    assert max(ratios) < 2 / n
    assert max(ratios) / min(ratios) < 1.1


def test_draws_have_the_law_of_the_closed_form():
    problem = nb.LinearGaussian.decaying(50, 1.5)
    z = RNG.normal(size=(100, 50))
    posterior = nb.martingale_posterior(problem, z, n_draws=5_000, random_state=0)
    sds = increment_sd(problem.singular_values, 100, 100 + sum(posterior.provenance.blocks))
    assert np.abs(np.std(posterior.models, axis=0) / sds - 1).max() < 4.5 / np.sqrt(10_000)


@pytest.mark.parametrize("A", [np.zeros((2, 2, 2)), np.zeros(3), np.array([["a"]])])
def test_bad_operators(A):
    with pytest.raises(ValueError, match="A must be"):
        nb.LinearGaussian(A)


def test_observations_of_another_shape():
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        nb.martingale_posterior(nb.LinearGaussian(np.ones((4, 2))), np.ones((9, 3)))
