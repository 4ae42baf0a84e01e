import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nearbayes.metrics import coverage, width

quick = settings(deadline=None, derandomize=True, max_examples=50)


def test_coverage_by_hand_counts_both_ends():
    intervals = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    assert coverage([0.0, 1.0, 0.5, -0.01, 1.01], intervals) == 0.6


def test_width_by_hand():
    assert width([[0.0, 1.0], [-2.0, 3.0], [4.0, 4.0]]) == 2.0


def test_one_level_gives_floats():
    assert type(coverage([0.0], [[0.0, 1.0]])) is float
    assert type(width([[0.0, 1.0]])) is float


def test_several_levels_give_one_number_each():
    intervals = np.array([[[0, -1, -9], [1, 2, 9]], [[0, -1, -9], [1, 2, 9]]], dtype=float)
    assert coverage([1.5, 8.0], intervals).tolist() == [0.0, 0.5, 1.0]
    assert width(intervals).tolist() == [1.0, 3.0, 18.0]


def test_a_single_level_on_a_third_axis_stays_an_array():
    intervals = np.array([[[0.0], [1.0]]])
    assert coverage([2.0], intervals).shape == (1,)
    assert width(intervals).shape == (1,)


def test_infinite_ends_cover_and_have_infinite_width():
    intervals = [[-np.inf, np.inf], [0.0, np.inf]]
    assert coverage([5.0, -1.0], intervals) == 0.5
    assert width(intervals) == np.inf


def test_coverage_of_gaussian_intervals_is_their_level():
    levels, n = np.array([0.5, 0.8, 0.95]), 20_000
    y = np.random.default_rng(0).normal(size=n)
    half = stats.norm.ppf(0.5 + levels / 2)
    intervals = np.broadcast_to(np.stack([-half, half]), (n, 2, 3))
    # Within four binomial standard errors at each level.
    error = np.sqrt(levels * (1 - levels) / n)
    assert (np.abs(coverage(y, intervals) - levels) < 4 * error).all()
    np.testing.assert_allclose(width(intervals), 2 * half, rtol=1e-12)


@given(seed=st.integers(0, 10**6), n_levels=st.integers(1, 4))
@quick
def test_each_level_is_scored_as_if_alone(seed, n_levels):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=9)
    intervals = np.sort(rng.normal(size=(9, 2, n_levels)), axis=1)
    expected = [coverage(y, intervals[:, :, k]) for k in range(n_levels)]
    assert coverage(y, intervals).tolist() == expected
    widths = [width(intervals[:, :, k]) for k in range(n_levels)]
    np.testing.assert_allclose(width(intervals), widths, rtol=1e-12)


@given(seed=st.integers(0, 10**6), grow=st.floats(0.01, 10))
@quick
def test_wider_intervals_cover_no_less(seed, grow):
    rng = np.random.default_rng(seed)
    y, narrow = rng.normal(size=20), np.sort(rng.normal(size=(20, 2)), axis=1)
    wide = narrow + np.array([-grow, grow])
    assert coverage(y, wide) >= coverage(y, narrow)
    assert width(wide) == pytest.approx(width(narrow) + 2 * grow, rel=1e-9)


SHAPE = "intervals must have shape (n_rows, 2) or (n_rows, 2, n_levels), lower end first: got shape"
ORDER = "intervals must have lower ends at or below upper ends and hold a finite number: got"
BAD_INTERVALS = [
    ([0.0, 1.0], f"{SHAPE} (2,)"),
    ([[0.0, 1.0, 2.0]], f"{SHAPE} (1, 3)"),
    (np.zeros((1, 2, 1, 1)), f"{SHAPE} (1, 2, 1, 1)"),
    (np.zeros((0, 2)), f"{SHAPE} (0, 2)"),
    ([[0.0, 1.0], [2.0, 1.0]], f"{ORDER} [2.0, 1.0] in row 1"),
    ([[[0.0, 3.0], [1.0, 2.0]]], f"{ORDER} [3.0, 2.0] in row 0"),
    ([[np.inf, np.inf]], f"{ORDER} [inf, inf] in row 0"),
    ([[-np.inf, -np.inf]], f"{ORDER} [-inf, -inf] in row 0"),
    ([[0.0, np.nan]], "intervals must not hold NaN: got 1 of 2 values NaN"),
]


@pytest.mark.parametrize(("intervals", "message"), BAD_INTERVALS, ids=range(len(BAD_INTERVALS)))
def test_bad_intervals_are_named(intervals, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        width(intervals)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        coverage(np.zeros(len(intervals) or 1), intervals)


def test_bad_outcomes_are_named():
    message = "intervals must have one row per y: got 1 rows for 2 outcomes"
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        coverage([0.0, 1.0], [[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"^y must be finite: got 1 infinite of 1 values$"):
        coverage([np.inf], [[0.0, np.inf]])
