import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from nearbayes.core.schedule import Schedule, captured, inflation_of, is_whole

rows = st.integers(2, 10_000)


def share_of_growth(log_growth):
    """Captured share when the data grows by exp(log_growth) before each refit, n = 1."""
    ends = np.exp(np.cumsum(log_growth))
    starts = np.concatenate([[1.0], ends[:-1]])
    return float(np.sum((ends - starts) / ends**2))


@pytest.mark.parametrize("refits", [1, 2, 3])
def test_optimal_is_the_optimum_found_numerically(refits):
    best = minimize(lambda g: -share_of_growth(g), np.full(refits, 0.5), tol=1e-12)
    schedule = Schedule.optimal(refits)
    assert schedule.captured(1e9) == pytest.approx(-best.fun, abs=1e-7)
    ends = 1 + np.cumsum(schedule.blocks(1e9)) / 1e9
    np.testing.assert_allclose(ends, np.exp(np.cumsum(best.x)), rtol=1e-3)


@given(rows, st.integers(1, 40))
@settings(deadline=None)
def test_optimal_blocks_and_captured_share(n, refits):
    schedule = Schedule.optimal(refits)
    blocks = schedule.blocks(n)
    assert len(blocks) == refits
    assert min(blocks) >= 1
    assert 0 < schedule.captured(n) < 1
    assert schedule.captured(n) < Schedule.optimal(refits + 1).captured(n)
    assert schedule.inflation(n) == pytest.approx(captured(n, blocks) ** -0.5)


@given(rows, st.floats(0.05, 20), st.floats(0.01, 5))
@settings(deadline=None)
def test_arithmetic_blocks_add_up_to_the_horizon(n, horizon, block):
    blocks = Schedule.arithmetic(float(horizon), float(block)).blocks(n)
    assert min(blocks) >= 1
    # a last block of less than a row is a row
    assert abs(sum(blocks) - max(1.0, horizon * n)) <= 1
    assert 0 < captured(n, blocks) < 1


@given(st.integers(1, 500), st.integers(1, 500))
@settings(deadline=None)
def test_whole_numbers_are_rows(horizon, block):
    blocks = Schedule.arithmetic(horizon, block).blocks(50)
    assert sum(blocks) == horizon
    assert set(blocks[:-1]) <= {block}
    assert 1 <= blocks[-1] <= block


def test_integers_and_floats_mean_rows_and_multiples():
    assert Schedule.arithmetic(2, 1).blocks(100) == (1, 1)
    assert Schedule.arithmetic(2.0, 1.0).blocks(100) == (100, 100)
    assert Schedule.arithmetic(2.0, 50).blocks(100) == (50, 50, 50, 50)
    assert Schedule.arithmetic(150, 1.0).blocks(100) == (100, 50)


def test_numpy_numbers_are_numbers():
    assert Schedule.arithmetic(np.int64(4), np.int64(3)).blocks(10) == (3, 1)
    assert Schedule.arithmetic(np.float64(1.0), np.float32(0.5)).blocks(10) == (5, 5)
    assert Schedule.optimal(np.int64(3)).refits == 3


def test_rounding_error_adds_no_block():
    assert Schedule.arithmetic(3.0, 0.25).blocks(7) == Schedule.arithmetic(21, 1.75 / 7).blocks(7)
    assert len(Schedule.arithmetic(0.3, 0.1).blocks(1000)) == 3


def test_blocks_of_two_rows_are_at_least_one():
    assert Schedule.arithmetic(0.1, 0.01).blocks(2) == (1,)
    assert Schedule.arithmetic(1.0, 0.01).blocks(2) == (1, 1)


def test_no_refits():
    none = Schedule.optimal(0)
    assert (none.blocks(10), none.captured(10), none.inflation(10)) == ((), 0.0, 1.0)
    assert inflation_of(captured(10, [])) == 1.0


def test_captured_is_the_formula_of_the_blocks_used():
    assert captured(10, [10, 20]) == pytest.approx(10 * (10 / 20**2 + 20 / 40**2))
    schedule = Schedule.optimal(4)
    assert schedule.captured(3) == captured(3, schedule.blocks(3))
    assert schedule.captured(3) != pytest.approx(schedule.captured(1e9), abs=1e-4)


def test_one_block_at_a_time_for_ever_captures_all():
    n, horizon = 50, 20_000
    assert captured(n, [1] * horizon) == pytest.approx(1 - n / (n + horizon), abs=1 / n)


@pytest.mark.parametrize("refits", [-1, 1.0, 2.5, "3", None, True])
def test_bad_refits(refits):
    with pytest.raises(ValueError, match="refits must be a whole number, 0 or more, got"):
        Schedule.optimal(refits)


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, np.nan, "1", None])
def test_bad_horizon_and_block(bad):
    with pytest.raises(ValueError, match="horizon must be a positive number, got"):
        Schedule.arithmetic(bad, 1)
    with pytest.raises(ValueError, match="block must be a positive number, got"):
        Schedule.arithmetic(1, bad)


def test_text_and_whole_numbers():
    assert str(Schedule.optimal(3)) == "optimal(refits=3)"
    assert str(Schedule.arithmetic(2.0, 5)) == "arithmetic(horizon=2.0, block=5)"
    assert [is_whole(v) for v in (1, np.int8(1), True, 1.0)] == [True, True, False, False]
