"""The inverse problem against its exact posterior."""

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.algorithms.linear_gaussian import increment_sd
from nearbayes.core.data import Data

RNG = np.random.default_rng(2)


def test_the_first_fit_and_the_exact_posterior_are_ridge_regression():
    A, z = RNG.normal(size=(4, 6)), RNG.normal(size=(20, 4))
    problem = nb.LinearGaussian(A)
    precision = 20 * A.T @ A + np.eye(6)
    mean = np.linalg.solve(precision, A.T @ z.sum(axis=0))
    exact = problem.exact_posterior(z)
    np.testing.assert_allclose(exact.mean, mean)
    np.testing.assert_allclose(exact.sd, np.sqrt(np.diag(np.linalg.inv(precision))))
    draws = exact.sample(20_000, np.random.default_rng(3))
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


def test_increments_of_small_singular_values_go_over_into_their_limit():
    s = np.array([0.0, 1e-9, 1e-6, 0.9e-3, 1.1e-3, 1e-2])
    steps = np.arange(6, 40_006)[:, None]
    exact = (s**2 / (steps * s**2 + 1) ** 2).sum(axis=0)
    np.testing.assert_allclose(increment_sd(s, 5, 40_005) ** 2, exact, rtol=1e-7)
    np.testing.assert_allclose(increment_sd(s[:3], 5, np.inf), 1, rtol=1e-9)
    assert (np.diff(increment_sd(np.linspace(0.9e-3, 1.1e-3, 101), 5, np.inf)) < 0).all()


@pytest.mark.parametrize(("finish_after", "blocks"), [(1.0, (25, 25, 25, 25)), (7, (2, 2, 2, 1))])
def test_finished_draws_have_the_law_of_the_infinite_path(finish_after, blocks):
    problem = nb.LinearGaussian(np.arange(1.0, 51) ** -1.5, finish_after=finish_after)
    z = RNG.normal(size=(100, 50))
    posterior = nb.martingale_posterior(problem, z, n_draws=5_000, random_state=0)
    assert posterior.provenance.blocks == blocks
    sds = increment_sd(problem.singular_values, 100, np.inf)
    assert np.abs(np.std(posterior.models, axis=0) / sds - 1).max() < 4.5 / np.sqrt(10_000)


def test_rows_after_the_finish_change_nothing():
    problem, z = nb.LinearGaussian(np.eye(3), finish_after=10), RNG.normal(size=(20, 3))
    short, long = (
        nb.martingale_posterior(
            problem, z, n_draws=5, random_state=0, schedule=nb.Schedule.arithmetic(horizon, 10)
        )
        for horizon in (10, 40)
    )
    np.testing.assert_array_equal(short.models, long.models)


def test_a_path_without_finish_is_cut_short():
    problem = nb.LinearGaussian(np.array([[1.0, 0.0], [0.0, 0.0]]), finish_after=None)
    z = RNG.normal(size=(100, 2))
    posterior = nb.martingale_posterior(problem, z, n_draws=5_000, random_state=0)
    sds = increment_sd(np.array([1.0, 0.0]), 100, 100 + sum(posterior.provenance.blocks))
    found = np.std(posterior.models, axis=0)
    assert abs(found[0] / sds[0] - 1) < 4.5 / np.sqrt(10_000)
    assert found[1] == sds[1] == 0
    assert posterior.inflation > 1


OPERATORS = {
    "tall": RNG.normal(size=(9, 4)),
    "wide": RNG.normal(size=(3, 7)),
    "without full rank": RNG.normal(size=(5, 2)) @ RNG.normal(size=(2, 6)),
    "ill-conditioned": np.linalg.qr(RNG.normal(size=(5, 5)))[0] * 10.0 ** -np.arange(0, 10, 2),
    "whole numbers": np.array([[1, 2], [0, 3]]),
    "diagonal": np.array([2.0, -1.0, 0.1, 1e-5, 1e-13, 0.0]),
    "many dimensions": np.arange(1.0, 2_001) ** -1.0,
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("n", [12, 200])
def test_every_coordinate_has_the_exact_posterior(name, n):
    """Within Monte Carlo error and the O(1 / n) by which the infinite path differs."""
    problem = nb.LinearGaussian(OPERATORS[name])
    rows = np.shape(OPERATORS[name])[0]
    z, n_draws = np.random.default_rng(n).normal(size=(n, rows)), 2_000
    posterior = nb.martingale_posterior(problem, z, n_draws=n_draws, random_state=1)
    exact = problem.exact_posterior(z)
    found = posterior.apply(lambda theta: theta)
    chance = 5.0 / np.sqrt(2 * n_draws)
    assert np.abs(found.std / exact.sd - 1).max() < chance + 0.6 / n
    assert np.abs((found.mean - exact.mean) / exact.sd).max() < 5.0 / np.sqrt(n_draws)
    directions = np.random.default_rng(0).normal(size=(len(exact.mean), 4))
    drawn, known = found.values @ directions, exact.sample(20_000, RNG) @ directions
    assert np.abs(drawn.std(axis=0) / known.std(axis=0) - 1).max() < chance + 0.03 + 0.6 / n


def test_numbers_of_numpy_can_be_saved(tmp_path):
    for given in (np.int64(30), np.float64(0.5), np.float32(0.5)):
        problem = nb.LinearGaussian(np.eye(2), finish_after=given)
        posterior = nb.martingale_posterior(problem, RNG.normal(size=(20, 2)), n_draws=3)
        loaded = nb.load(posterior.save(tmp_path / "p.nearbayes"))
        assert loaded.algorithm.finish_after == given
        assert isinstance(loaded.algorithm.finish_after, int) == isinstance(given, np.int64)


@pytest.mark.parametrize("name", OPERATORS)
def test_saved_draws_come_back(name, tmp_path):
    problem = nb.LinearGaussian(OPERATORS[name], alpha=-0.5, finish_after=30)
    z = RNG.normal(size=(9, np.shape(OPERATORS[name])[0]))
    posterior = nb.martingale_posterior(problem, z, n_draws=3, random_state=0)
    posterior.save(tmp_path / "p.nearbayes")
    loaded = nb.load(tmp_path / "p.nearbayes")
    np.testing.assert_array_equal(np.stack(loaded.draws), np.stack(posterior.draws))
    assert (loaded.algorithm.alpha, loaded.algorithm.finish_after) == (-0.5, 30)


UNSEEN = {
    "diagonal": np.array([1.0, 0.1, 0.0, 0.0]),
    "matrix": np.diag([1.0, 0.1, 0.0, 0.0])[:2] @ np.linalg.qr(RNG.normal(size=(4, 4)))[0],
    "tiny": np.array([1.0, 0.1, 1e-200, 1e-101]),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_distances_of_parameters_count_directions_that_are_not_seen(name):
    n, seen = 20, np.array([1.0, 0.1])
    exact, path = (n * seen**2 + 1) ** -0.5, increment_sd(seen, n, np.inf)
    free, stopped = (nb.LinearGaussian(UNSEEN[name], 0.0, finish) for finish in (1.0, None))
    assert free.radius(n) ** 2 == pytest.approx(np.sum(exact**2) + 2)
    assert free.wasserstein(n) ** 2 == pytest.approx(np.sum((path - exact) ** 2))
    assert stopped.wasserstein(n) ** 2 == pytest.approx(np.sum((path - exact) ** 2) + 2)
    short = np.sum((increment_sd(seen, n, 60) - exact) ** 2) + 2
    assert free.wasserstein(n, total=60) ** 2 == pytest.approx(short)
    prediction = nb.LinearGaussian(UNSEEN[name], 1.0)
    assert prediction.radius(n) ** 2 == pytest.approx(np.sum(seen**2 * exact**2))
    with pytest.raises(ValueError, match=r"does not see 2 of its directions, got -0\.5"):
        nb.LinearGaussian(UNSEEN[name], -0.5).radius(n)


def test_the_radius_of_parameters_is_that_of_exact_draws():
    problem, z = nb.LinearGaussian(RNG.normal(size=(3, 5)), alpha=0.0), RNG.normal(size=(9, 3))
    assert problem.radius(9) ** 2 == pytest.approx(np.sum(problem.exact_posterior(z).sd ** 2))


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda p: p.radius(0), "n must be a positive, finite number of rows, got 0"),
        (lambda p: p.radius("a"), "n must be a positive, finite number of rows, got 'a'"),
        (lambda p: p.wasserstein(np.nan), "n must be a positive, finite"),
        (lambda p: p.wasserstein(20, 10), r"total must be .* rows, 20 \(n\) or more, got 10"),
        (lambda p: p.wasserstein(20, np.nan), "total must be a positive, finite"),
        (lambda p: nb.LinearGaussian([1e-90, 1.0], -9.0).radius(9), "alpha must leave singular"),
    ],
)
def test_bad_rows_and_norms(ask, match):
    with pytest.raises(ValueError, match=match):
        ask(nb.LinearGaussian.decaying(5, 1.0))


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e-320])
def test_entries_without_squares_are_refused(size):
    with pytest.raises(ValueError, match=r"largest entry between 1e-100 and 1e\+100, got"):
        nb.LinearGaussian(size * np.eye(2))


@pytest.mark.parametrize("A", [np.zeros((2, 2, 2)), np.zeros(3), np.array([["a"]])])
def test_bad_operators(A):
    with pytest.raises(ValueError, match="A must be"):
        nb.LinearGaussian(A)


def test_the_exact_posterior_of_weighted_rows_and_of_one():
    problem, z = nb.LinearGaussian(RNG.normal(size=(3, 2))), RNG.normal(size=(4, 3))
    weight = np.array([2, 1, 3, 1])
    weighted = problem.exact_posterior(Data.of(z, None, weight))
    repeated = problem.exact_posterior(np.repeat(z, weight, axis=0))
    for name in ("mean", "sd"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))
    one = problem.exact_posterior(z[:1])
    precision = problem.A.T @ problem.A + np.eye(2)
    np.testing.assert_allclose(one.mean, np.linalg.solve(precision, problem.A.T @ z[0]))
    for bad, match in (
        (z[:0], "must have shape"),
        (z * np.nan, "finite"),
        ([["a"] * 3], "numbers"),
    ):
        with pytest.raises(ValueError, match=f"observations .*{match}"):
            problem.exact_posterior(bad)


def test_observations_of_another_shape():
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        nb.martingale_posterior(nb.LinearGaussian(np.ones((4, 2))), np.ones((9, 3)))
