"""Schedules that end where paths are finished."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearbayes as nb
from nearbayes.algorithms.finishing import finishing_schedule, reaches, rows_to_finish
from nearbayes.algorithms.linear_gaussian import increment_sd

SHARES = st.floats(0.01, 5.0) | st.sampled_from([0.1, 0.25, 0.3, 0.35, 0.5, 0.7, 1.5])


@given(SHARES | st.integers(1, 60), st.integers(2, 200), st.integers(1, 9))
def test_the_default_schedule_reaches_the_finish_and_no_more(finish_after, n, refits):
    blocks = finishing_schedule(finish_after, refits).blocks(n)
    assert reaches(finish_after, n, sum(blocks))
    assert sum(blocks) <= rows_to_finish(finish_after, n) + max(blocks)


@pytest.mark.parametrize(("share", "n"), [(0.3, 5), (0.5, 3), (0.25, 6), (0.1, 15)])
def test_parts_of_a_row_are_no_reason_not_to_finish(share, n):
    z = np.random.default_rng(0).normal(size=(n, 2))
    problem = nb.LinearGaussian([1.0, 0.1], finish_after=share)
    draws = nb.martingale_posterior(problem, z, n_draws=4_000, random_state=0)
    sds = np.std([np.asarray(each) for each in draws.draws], axis=0)
    infinite = increment_sd(np.array([1.0, 0.1]), n, np.inf)
    np.testing.assert_allclose(sds, infinite, rtol=5 / np.sqrt(2 * 4_000))
