"""Joint sets hold what they should, and enlarged ones hold it under distributions nearby."""

import re

import numpy as np
import pytest

from nearbayes.draws.credible_sets import Ellipsoid, ellipsoid, enlarged_interval, sup_t_band
from nearbayes.draws.functional import Functional

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_draws", [20, 200])
def test_joint_sets_cover_a_further_draw_as_often_as_they_say(n_draws):
    inside = []
    for _ in range(600):
        curves = RNG.normal(size=(n_draws + 1, 5)).cumsum(axis=1)
        band, found = sup_t_band(curves[1:], 0.8), ellipsoid(curves[1:], 0.8)
        within = (band[:, 0] <= curves[0]) & (curves[0] <= band[:, 1])
        inside.append([within.all(), found.contains(curves[0])])
    error = np.sqrt(0.8 * 0.2 / 600)
    assert np.abs(np.mean(inside, axis=0) - 0.8).max() < 3.5 * error


def test_enlarged_intervals_hold_under_a_shifted_distribution():
    draws = RNG.normal(size=20_000)
    low, high = enlarged_interval(draws, 0.9, wasserstein=0.1)
    shifted = RNG.normal(0.1, 1.0, size=20_000)  # at distance 0.1
    assert np.mean((low <= shifted) & (shifted <= high)) > 0.9


@pytest.mark.parametrize("n_draws", [3, 5, 8])
def test_enlarged_intervals_of_few_draws_cover_a_further_one(n_draws):
    draws = RNG.normal(size=(n_draws + 1, 4_000))  # 4,000 sets of draws side by side
    bounds = enlarged_interval(draws[1:], 0.9, wasserstein=0.0)
    inside = (bounds[:, 0] <= draws[0]) & (draws[0] <= bounds[:, 1])
    assert abs(inside.mean() - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 4_000)


@pytest.mark.parametrize("make", [sup_t_band, ellipsoid])
def test_enlarged_sets_take_only_levels_that_the_draws_can_reach(make):
    draws = RNG.normal(size=(10, 3))
    make(draws, 0.9, wasserstein=0.01)
    refused = "of 0.9 needs at least 10 draws, got 9"
    with pytest.raises(ValueError, match=re.escape(refused)):
        make(draws[:9], 0.9, wasserstein=0.01)


@pytest.mark.parametrize("n_draws", [10, 50])
def test_enlarged_bands_of_few_draws_hold_a_shifted_draw(n_draws):
    inside = []
    for _ in range(400):
        curves = RNG.normal(size=(n_draws + 1, 3))
        band = sup_t_band(curves[1:], 0.9, wasserstein=0.1)
        shifted = curves[0] + np.array([0.1, 0.0, 0.0])  # of a distribution at distance 0.1
        inside.append(((band[:, 0] <= shifted) & (shifted <= band[:, 1])).all())
    assert np.mean(inside) > 0.9 - 4 * np.sqrt(0.9 * 0.1 / 400)


@pytest.mark.parametrize(("link", "high"), [("logit", 1.0), ("log", np.inf)])
def test_enlarged_bands_stay_in_the_range_of_their_link(link, high):
    draws = RNG.uniform(0.05, 0.95, size=(50, 4))
    band = sup_t_band(draws, 0.9, link=link, wasserstein=0.2)
    free = sup_t_band(draws, 0.9, link=link)
    assert ((band[:, 0] == 0) & (band[:, 1] <= high) & (band[:, 1] > free[:, 1])).all()


@pytest.mark.parametrize("scale", [2.0**650, 2.0**-650])
def test_bands_of_sizes_without_squares_are_those_of_others(scale):
    draws = RNG.normal(size=(50, 4)) * [1.0, scale, 1.0, 0.0]
    expected = sup_t_band(draws / [1.0, scale, 1.0, 1.0], 0.9) * np.array([1, scale, 1, 1])[:, None]
    np.testing.assert_array_equal(sup_t_band(draws, 0.9), expected)


def test_points_that_are_not_numbers_are_in_no_set():
    circle = Ellipsoid(np.zeros(2), np.eye(2), 1.0)
    points = [[np.nan, 0.0], [np.inf, 0.0], [1e200, 0.0], [0.0, 0.0]]
    for each in (circle, circle.enlarged(0.1)):
        assert each.contains(points).tolist() == [False, False, False, True]


def test_the_distance_from_an_ellipsoid_is_euclidean():
    flat = Ellipsoid(np.zeros(2), np.diag([4.0, 1.0]), 1.0)
    np.testing.assert_allclose(flat.distance([[5.0, 0.0], [0.0, 3.0], [1.0, 0.1]]), [3, 2, 0])


def test_bands_of_probabilities_stay_between_0_and_1():
    values = 1 / (1 + np.exp(-RNG.normal(size=(100, 4)) * 3))
    band = Functional(values, inflation=1.5, link="logit", start=1e-3).band(0.9)
    assert ((band >= 0) & (band <= 1)).all()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: sup_t_band(np.ones((5, 2)) * np.arange(5)[:, None], 0.9), "at least 9 draws"),
        (lambda: sup_t_band(np.ones((2, 2))), "at least 3 finite draws of sizes"),
        (lambda: ellipsoid(RNG.normal(size=(6, 5))), "needs at least 8 draws"),
        (lambda: ellipsoid(np.ones((20, 2))), "singular covariance"),
        (lambda: ellipsoid(np.ones((20, 0))), "at least one entry per draw"),
        (lambda: ellipsoid(RNG.normal(size=(20, 2)) * 1e200), "whose squares are finite and not 0"),
        (lambda: ellipsoid(RNG.normal(size=(20, 2)) * 1e-200), "whose squares are finite and not"),
        (lambda: sup_t_band(RNG.normal(size=(20, 2)), "a"), "between 0 and 1, got 'a'"),
    ],
)
def test_bad_input(make, match):
    with pytest.raises(ValueError, match=match):
        make()
