import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from nearbayes.metrics import wasserstein2_gaussian, wasserstein2_samples

quick = settings(deadline=None, derandomize=True, max_examples=60)
seeds = st.integers(0, 10**6)
# Eighths have exact differences and squares, so equality and order are tested without rounding.
eighths = st.integers(-800, 800).map(lambda k: k / 8)
samples = st.lists(eighths, min_size=1, max_size=12)


def gaussian(seed, d=3, rank=None):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(d, d if rank is None else rank))
    return rng.normal(size=d), factor @ factor.T


def power(cov, exponent):
    values, vectors = np.linalg.eigh(cov)
    return vectors @ np.diag(values**exponent) @ vectors.T


def test_gaussian_in_one_dimension_by_hand():
    # Means 3 apart and standard deviations 1 and 5: sqrt(9 + 16).
    assert wasserstein2_gaussian(0.0, 1.0, 3.0, 25.0) == pytest.approx(5.0, rel=1e-14)


def test_gaussian_with_commuting_covariances_by_hand():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    cov_a, cov_b = turn @ np.diag([1.0, 4.0]) @ turn.T, turn @ np.diag([9.0, 0.25]) @ turn.T
    # Standard deviations (1, 2) against (3, 0.5).
    expected = np.sqrt(2**2 + 1.5**2)
    assert wasserstein2_gaussian([0, 0], cov_a, [0, 0], cov_b) == pytest.approx(expected, rel=1e-12)


@given(seed=seeds, d=st.integers(1, 5))
@quick
def test_gaussian_is_the_textbook_trace_formula(seed, d):
    (mean_a, cov_a), (mean_b, cov_b) = gaussian(seed, d), gaussian(seed + 1, d)
    cov_a, cov_b = cov_a + np.eye(d), cov_b + np.eye(d)
    root = power(cov_a, 0.5)
    bures = np.trace(cov_a + cov_b - 2 * power(root @ cov_b @ root, 0.5))
    expected = np.sqrt(((mean_a - mean_b) ** 2).sum() + bures)
    assert wasserstein2_gaussian(mean_a, cov_a, mean_b, cov_b) == pytest.approx(expected, rel=1e-8)


def test_gaussian_is_the_cost_of_the_optimal_map():
    (mean_a, cov_a), (mean_b, cov_b) = gaussian(0), gaussian(1)
    root, inverse = power(cov_a, 0.5), power(cov_a, -0.5)
    transport = inverse @ power(root @ cov_b @ root, 0.5) @ inverse
    centred = np.random.default_rng(2).normal(size=(20_000, 3)) @ root
    moved = mean_b + centred @ transport
    np.testing.assert_allclose(transport @ cov_a @ transport, cov_b, rtol=1e-8)
    cost = ((moved - mean_a - centred) ** 2).sum(axis=1)
    squared = wasserstein2_gaussian(mean_a, cov_a, mean_b, cov_b) ** 2
    # Within four Monte Carlo standard errors.
    assert abs(cost.mean() - squared) < 4 * cost.std() / np.sqrt(20_000)


def test_gaussian_does_not_cancel_between_close_covariances():
    mean, cov = gaussian(3, d=4)
    # Scaling by (1 + e)^2 moves every standard deviation by e: W2 = e sqrt(tr cov).
    e = 1e-10
    distance = wasserstein2_gaussian(mean, cov, mean, cov * (1 + e) ** 2)
    assert distance == pytest.approx(e * np.sqrt(np.trace(cov)), rel=1e-3)


def test_gaussian_to_a_point_is_the_root_mean_squared_distance():
    mean, cov = gaussian(4)
    point = mean + np.array([1.0, 2.0, 2.0])
    expected = np.sqrt(9 + np.trace(cov))
    assert wasserstein2_gaussian(mean, cov, point, np.zeros((3, 3))) == pytest.approx(
        expected, rel=1e-12
    )


def test_gaussians_on_orthogonal_lines_by_hand():
    # Independent coupling is all there is: tr(cov_a) + tr(cov_b).
    distance = wasserstein2_gaussian([0, 0], np.diag([9.0, 0.0]), [0, 0], np.diag([0.0, 16.0]))
    assert distance == pytest.approx(5.0, rel=1e-14)


@given(seed=seeds, rank_a=st.integers(0, 4), rank_b=st.integers(0, 4))
@quick
def test_gaussian_is_symmetric_also_when_singular(seed, rank_a, rank_b):
    a, b = gaussian(seed, 4, rank_a), gaussian(seed + 1, 4, rank_b)
    assert wasserstein2_gaussian(*a, *b) == pytest.approx(wasserstein2_gaussian(*b, *a), rel=1e-7)


@given(seed=seeds, rank=st.integers(0, 4))
@quick
def test_gaussian_is_zero_for_equal_and_not_for_different(seed, rank):
    mean, cov = gaussian(seed, 4, rank)
    scale = np.sqrt(np.trace(cov)) + 1
    assert wasserstein2_gaussian(mean, cov, mean, cov) < 1e-13 * scale
    assert wasserstein2_gaussian(mean, cov, mean + 1e-6, cov) == pytest.approx(2e-6, rel=1e-3)
    # The Bures distance is at least the difference of the roots of the traces.
    wider = wasserstein2_gaussian(mean, cov, mean, cov + np.eye(4))
    assert wider >= (np.sqrt(np.trace(cov) + 4) - np.sqrt(np.trace(cov))) * (1 - 1e-9)


@given(seed=seeds, rank=st.integers(1, 4))
@quick
def test_gaussian_obeys_the_triangle_inequality(seed, rank):
    a, c = gaussian(seed, 4, rank), gaussian(seed + 1, 4)
    # A stop about half way, where the square of the distance would break the inequality.
    root = (power(a[1] + 1e-9 * np.eye(4), 0.5) + power(c[1], 0.5)) / 2
    b = (a[0] + c[0]) / 2, root @ root
    direct = wasserstein2_gaussian(*a, *c)
    detour = wasserstein2_gaussian(*a, *b) + wasserstein2_gaussian(*b, *c)
    assert 0 < direct <= detour * (1 + 1e-9)


def test_rounding_errors_in_a_covariance_are_accepted():
    cov = np.array([[1.0, 0.5 + 1e-12], [0.5, 0.25 - 1e-12]])
    clean = np.array([[1.0, 0.5], [0.5, 0.25]])
    assert wasserstein2_gaussian([0, 0], cov, [0, 0], clean) < 1e-5


def test_samples_of_equal_size_pair_in_order():
    # Sorted: (0, 1, 5) against (1, 3, 5): squared gaps 1, 4, 0.
    assert wasserstein2_samples([5, 0, 1], [3, 5, 1]) == pytest.approx(np.sqrt(5 / 3), rel=1e-14)


def test_samples_of_unequal_size_by_hand():
    # Quantiles of (0, 6) and (0, 3, 6) differ by 3 on (1/3, 2/3) only: sqrt(9 / 3).
    assert wasserstein2_samples([0, 6], [0, 3, 6]) == pytest.approx(np.sqrt(3), rel=1e-14)


@given(a=samples, b=samples)
@quick
def test_samples_agree_with_repeating_both_to_a_common_size(a, b):
    size = math.lcm(len(a), len(b))
    long_a = np.sort(np.repeat(a, size // len(a)))
    long_b = np.sort(np.repeat(b, size // len(b)))
    expected = np.sqrt(((long_a - long_b) ** 2).mean())
    assert wasserstein2_samples(a, b) == pytest.approx(expected, rel=1e-12)


def test_samples_agree_with_optimal_assignment():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=30), rng.gamma(2, size=30)
    cost = (a[:, np.newaxis] - b) ** 2
    pairs = optimize.linear_sum_assignment(cost)
    assert wasserstein2_samples(a, b) == pytest.approx(np.sqrt(cost[pairs].mean()), rel=1e-12)


@given(a=samples, b=samples)
@quick
def test_samples_are_symmetric(a, b):
    assert wasserstein2_samples(a, b) == pytest.approx(wasserstein2_samples(b, a), rel=1e-12)


@given(a=samples, b=samples, times=st.integers(1, 4))
@quick
def test_samples_are_zero_only_for_equal_distributions(a, b, times):
    assert wasserstein2_samples(a, a[::-1] * times) == 0
    same = sorted(a * len(b)) == sorted(b * len(a))
    assert (wasserstein2_samples(a, b) == 0) == same


@given(a=samples, shift=eighths)
@quick
def test_samples_moved_as_one_are_that_far_away(a, shift):
    moved = np.array(a) + shift
    assert wasserstein2_samples(a, moved) == pytest.approx(abs(shift), rel=1e-12)


EYE = np.eye(2)
BAD_GAUSSIAN = [
    (([0, 0], EYE, [0, 0, 0], np.eye(3)), "mean_b must have the length of mean_a: got 3 for 2"),
    (
        ([[0, 0]], EYE, [0, 0], EYE),
        "mean_a must be one-dimensional with at least one value: got shape (1, 2)",
    ),
    (([0, 0], EYE, [0, np.nan], EYE), "mean_b must not hold NaN: got 1 of 2 values NaN"),
    (
        ([0, 0], np.eye(3), [0, 0], EYE),
        "cov_a must have shape (2, 2) to match the means: got shape (3, 3)",
    ),
    (
        ([0, 0], EYE, [0, 0], [1.0, 1.0]),
        "cov_b must have shape (2, 2) to match the means: got shape (1, 2)",
    ),
    (
        ([0, 0], [[1.0, 0.5], [0.25, 1.0]], [0, 0], EYE),
        "cov_a must be symmetric: got entries that differ from their mirror image by 0.25",
    ),
    (
        ([0, 0], EYE, [0, 0], [[1.0, 0.0], [0.0, -0.5]]),
        "cov_b must be positive semi-definite: got the smallest eigenvalue -0.5",
    ),
    (([0, 0], EYE + np.inf, [0, 0], EYE), "cov_a must be finite: got 4 infinite of 4 values"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_GAUSSIAN, ids=range(len(BAD_GAUSSIAN)))
def test_bad_gaussians_are_named(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        wasserstein2_gaussian(*arguments)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [1.0], "a must be one-dimensional with at least one value: got shape (0,)"),
        ([1.0], [[1.0]], "b must be one-dimensional with at least one value: got shape (1, 1)"),
        ([np.nan], [1.0], "a must not hold NaN: got 1 of 1 values NaN"),
        ([1.0], [-np.inf], "b must be finite: got 1 infinite of 1 values"),
    ],
)
def test_bad_samples_are_named(a, b, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        wasserstein2_samples(a, b)
