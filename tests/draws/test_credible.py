import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from nearbayes.draws.credible import SMALLEST, credible_interval, inflate, stack_draws, start_of
from nearbayes.draws.functional import Functional

number = st.floats(-100, 100)
draws_of_numbers = st.lists(number, min_size=2, max_size=30).map(np.array)
probabilities = st.lists(st.floats(0.001, 0.999), min_size=2, max_size=30).map(np.array)
factor = st.floats(1.01, 5)


@given(draws_of_numbers, factor, number, st.floats(0.1, 10))
@settings(deadline=None)
def test_inflate_moves_with_shift_and_scale(values, by, shift, scale):
    moved = inflate(shift + scale * values, by)
    np.testing.assert_allclose(moved, shift + scale * inflate(values, by), atol=1e-8)


@given(draws_of_numbers, factor)
@settings(deadline=None)
def test_inflate_keeps_the_mean_and_multiplies_the_sd(values, by):
    spread = inflate(values, by)
    assert spread.mean() == pytest.approx(values.mean(), abs=1e-8)
    assert spread.std() == pytest.approx(by * values.std(), abs=1e-8)


@given(probabilities, factor)
@settings(deadline=None)
def test_inflated_probabilities_stay_probabilities(values, by):
    spread = inflate(values, by, "logit")
    assert (spread >= 0).all()
    assert (spread <= 1).all()


@given(
    st.lists(st.floats(0, 1) | st.floats(0, 1e-8), min_size=2, max_size=30).map(np.array),
    st.floats(1e-6, 0.1),
    st.floats(0.01, 0.99),
)
@settings(deadline=None)
def test_intervals_of_probabilities_hold_their_mean_and_have_a_width(values, start, coverage):
    functional = Functional(values, inflation=1.4, link="logit", start=start)
    for spread in ("raw", "inflated"):
        low, high = functional.interval(coverage, spread=spread)
        assert 0 <= low <= values.mean() <= high <= 1
        if np.ptp(values) > 1e-9 * start:
            assert high > low


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=30).map(np.array), st.floats(0.01, 0.99))
@settings(deadline=None)
def test_intervals_of_numbers_hold_their_mean(values, coverage):
    low, high = Functional(values, inflation=1.4).interval(coverage)
    assert low <= values.mean() <= high


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=30).map(np.array), st.floats(1.01, 2))
@settings(deadline=None)
def test_inflated_probabilities_keep_their_mean_log_odds(values, by):
    spread = logit(inflate(values, by, "logit"))
    assert spread.mean() == pytest.approx(logit(values).mean(), abs=1e-6)
    assert spread.std() == pytest.approx(by * logit(values).std(), abs=1e-6)


def test_probabilities_of_zero_and_one_can_be_inflated():
    spread = inflate(np.array([[0.0, 1.0], [0.0, 0.5]]), 1.5, "logit")
    assert np.isfinite(spread).all()
    assert (spread >= 0).all()
    assert (spread <= 1).all()


def test_factor_one_changes_nothing():
    values = np.array([0.0, 1.0])
    assert inflate(values, 1.0, "logit") is values


@given(draws_of_numbers, st.floats(0.05, 0.95), number, st.floats(0.1, 10))
@settings(deadline=None)
def test_intervals_move_with_shift_and_scale(values, coverage, shift, scale):
    moved = credible_interval(shift + scale * values, coverage)
    expected = shift + scale * credible_interval(values, coverage)
    np.testing.assert_allclose(moved, expected, atol=1e-8)
    mirrored = credible_interval(-values, coverage)
    np.testing.assert_allclose(mirrored[::-1], -credible_interval(values, coverage), atol=1e-8)


@given(draws_of_numbers)
@settings(deadline=None)
def test_intervals_nest(values):
    bounds = credible_interval(values, [0.5, 0.8, 0.95])
    assert (np.diff(bounds[0]) <= 1e-12).all()
    assert (np.diff(bounds[1]) >= -1e-12).all()


@pytest.mark.parametrize("shape", [(), (4,), (4, 3)])
def test_interval_shapes(shape):
    values = np.random.default_rng(0).normal(size=(20, *shape))
    assert credible_interval(values).shape == (*shape, 2)
    assert credible_interval(values, [0.5]).shape == (*shape, 2, 1)
    several = credible_interval(values, (0.5, 0.9, 0.99))
    assert several.shape == (*shape, 2, 3)
    np.testing.assert_array_equal(several[..., 1], credible_interval(values, 0.9))


def test_one_draw_is_its_own_interval():
    assert credible_interval(np.array([3.0]), 0.9).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("n_draws", [9, 19])
def test_intervals_cover_a_new_draw_as_often_as_they_say(n_draws, seed):
    """K draws and the truth are exchangeable; NumPy's default quantiles would cover less."""
    values = np.random.default_rng(seed).normal(size=(n_draws + 1, 40_000))
    lower, upper = credible_interval(values[1:], 0.8).T
    covered = np.mean((lower <= values[0]) & (values[0] <= upper))
    assert abs(covered - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 40_000)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, np.nan, [0.5, 1.0]])
def test_bad_coverage(coverage):
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1, got"):
        credible_interval(np.arange(5.0), coverage)


def test_functional_by_hand():
    values = np.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0]])
    functional = Functional(values, inflation=2.0)
    assert functional.mean.tolist() == [3.0, 20.0]
    np.testing.assert_allclose(functional.std, 2 * values.std(axis=0, ddof=1))
    np.testing.assert_allclose(functional.mc_error, values.std(axis=0, ddof=1) / np.sqrt(3))
    assert functional.adjusted()[:, 0].tolist() == [-1.0, 1.0, 9.0]
    assert functional.adjusted("raw") is values
    np.testing.assert_array_equal(
        functional.interval(0.5), credible_interval(functional.adjusted(), 0.5)
    )
    np.testing.assert_array_equal(
        functional.interval(0.5, spread="raw"), credible_interval(values, 0.5)
    )


def test_functional_summary_and_correlation():
    rng = np.random.default_rng(0)
    u = rng.normal(size=400)
    functional = Functional(np.column_stack([u, -2 * u, rng.normal(size=400)]))
    summary = functional.summary(0.8)
    assert list(summary) == ["mean", "std", "mc_error", "lower", "upper", "spread"]
    assert summary.pop("spread") == "raw"
    assert all(value.shape == (3,) for value in summary.values())
    np.testing.assert_array_equal(
        np.stack([summary["lower"], summary["upper"]], axis=-1), functional.interval(0.8)
    )
    correlation = functional.correlation()
    assert correlation[0, 1] == pytest.approx(-1.0)
    assert abs(correlation[0, 2]) < 4 / np.sqrt(400)
    assert Functional(u[:, None]).correlation().shape == (1, 1)


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2)])
def test_correlation_needs_vectors(shape):
    with pytest.raises(ValueError, match="correlation needs a vector per draw, got draws of shape"):
        Functional(np.zeros(shape)).correlation()


def test_stack_draws():
    assert stack_draws([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert stack_draws([[1, 2], [3, 4]]).shape == (2, 2)
    with pytest.raises(ValueError, match=r"same shape for every draw, got \[\(1,\), \(2,\)\]"):
        stack_draws([[1], [1, 2]])


def test_positive_quantities_stay_positive():
    values = np.array([0.1, 1.0, 10.0])
    spread = inflate(values, 3.0, "log")
    np.testing.assert_allclose(np.log(spread), 3 * np.log(values), atol=1e-12)


def test_what_does_not_vary_has_no_correlation():
    values = np.column_stack([np.random.default_rng(0).normal(size=(30, 2)), np.full(30, 0.1)])
    correlation = Functional(values).correlation()
    np.testing.assert_allclose(correlation[:2, :2], np.corrcoef(values[:, :2].T))
    assert np.isnan(correlation[2]).all()
    assert np.isnan(correlation[:, 2]).all()
    assert np.isnan(Functional(values[:2]).correlation()).all()  # two draws: always 1 or -1


@pytest.mark.parametrize(
    ("link", "values", "start"),
    [
        ("identity", [0.0, 2.0], 0.01),
        ("logit", [0.0, 0.2], 0.01),
        ("log", [0.0, 0.0], 0.01),  # no positive one to go by
        ("log", [0.0, 1e-15, 3.0], 1e-15),  # the smallest that is not 0
        ("log", [5.0, 7.0], SMALLEST),
        ("log", [1e-15, 7.0], 1e-15),  # any unit
    ],
)
def test_what_quantities_start_with_on_the_scale_of_their_link(link, values, start):
    assert start_of(link, np.array(values), 0.01) == start
