"""Joint sets hold what they should, and enlarged ones hold it under distributions nearby."""

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
        (lambda: sup_t_band(np.ones((2, 2))), "at least 3 finite draws"),
        (lambda: ellipsoid(RNG.normal(size=(6, 5))), "needs at least 8 draws"),
        (lambda: ellipsoid(np.ones((20, 2))), "singular covariance"),
    ],
)
def test_bad_input(make, match):
    with pytest.raises(ValueError, match=match):
        make()
