import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scoringrules import crps_ensemble

from nearbayes.metrics import (
    crps_gaussian,
    crps_gaussian_mixture,
    crps_samples,
    nlpd_gaussian_mixture,
    regression,
)

quick = settings(deadline=None, derandomize=True, max_examples=50)
MIXTURES = [crps_gaussian_mixture, nlpd_gaussian_mixture]


def mixture(seed, n_draws=5, n_rows=4):
    rng = np.random.default_rng(seed)
    y = rng.normal(scale=2, size=n_rows)
    means = rng.normal(size=(n_draws, n_rows))
    sds = rng.uniform(0.3, 2.0, size=(n_draws, n_rows))
    return y, means, sds, rng.uniform(0.1, 1.0, size=n_draws)


def crps_by_integral(cdf, y, low=-40.0, high=40.0):
    below, _ = integrate.quad(lambda t: cdf(t) ** 2, low, y, limit=500)
    above, _ = integrate.quad(lambda t: (1 - cdf(t)) ** 2, y, high, limit=500)
    return below + above


def test_crps_samples_by_hand():
    # Row 0: mean |x - 1| = 1, spread |0 - 2| / 4 = 1 / 2. Row 1: a point mass two away.
    samples = [[0.0, 5.0], [2.0, 5.0]]
    assert crps_samples([1.0, 7.0], samples, mean=False).tolist() == [0.5, 2.0]
    assert crps_samples([1.0, 7.0], samples, fair=True, mean=False).tolist() == [0.0, 2.0]


def test_crps_samples_of_one_draw_is_the_absolute_error():
    assert crps_samples([1.0, -2.0], [[4.0, 0.5]], mean=False).tolist() == [3.0, 2.5]


def test_crps_samples_is_the_integral_for_the_step_function():
    draws = np.random.default_rng(0).normal(size=(6, 3))
    y = np.array([-3.0, 0.1, 2.0])
    grid = np.sort(np.concatenate([draws, y[np.newaxis]]), axis=0)
    for row, score in enumerate(crps_samples(y, draws, mean=False)):
        knots = grid[:, row]
        # The integrand is constant between neighbouring knots, so its left values are exact.
        steps = (draws[:, row] <= knots[:-1, np.newaxis]).mean(axis=1) - (y[row] <= knots[:-1])
        assert score == pytest.approx((steps**2 * np.diff(knots)).sum(), rel=1e-12)


def test_fair_crps_agrees_with_the_librarys_own_estimator():
    rng = np.random.default_rng(1)
    y, draws = rng.normal(size=5), rng.normal(size=(9, 5))
    expected = crps_ensemble(y, draws.T, estimator="fair")
    np.testing.assert_allclose(crps_samples(y, draws, fair=True, mean=False), expected, rtol=1e-12)


def test_fair_crps_is_unbiased_and_the_plain_one_is_biased_by_the_known_amount():
    m, replications, sd = 4, 20_000, 1.5
    draws = np.random.default_rng(2).normal(0.3, sd, size=(m, replications))
    y = np.full(replications, 1.0)
    truth = crps_gaussian([1.0], 0.3, sd)
    fair = crps_samples(y, draws, fair=True, mean=False)
    plain = crps_samples(y, draws, mean=False)
    # Within four Monte Carlo standard errors; E|X - X'| / (2 m) = sd / (m sqrt(pi)).
    assert abs(fair.mean() - truth) < 4 * fair.std() / np.sqrt(replications)
    bias = sd / (m * np.sqrt(np.pi))
    assert abs(plain.mean() - truth - bias) < 4 * plain.std() / np.sqrt(replications)


def test_crps_gaussian_at_its_mean_by_hand():
    assert crps_gaussian([2.0], 2.0, 3.0) == pytest.approx(
        3 * (np.sqrt(2 / np.pi) - 1 / np.sqrt(np.pi)), rel=1e-14
    )


def test_crps_gaussian_is_the_integral():
    y, mean, sd = np.array([-2.0, 0.3, 5.0]), np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.2, 3.0])
    expected = [
        crps_by_integral(stats.norm(m, s).cdf, t) for t, m, s in zip(y, mean, sd, strict=True)
    ]
    np.testing.assert_allclose(crps_gaussian(y, mean, sd, mean=False), expected, rtol=1e-6)


def test_crps_gaussian_broadcasts_means_and_sds():
    y = np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(
        crps_gaussian(y, 0.5, 2.0, mean=False),
        crps_gaussian(y, np.full(3, 0.5), np.full(3, 2.0), mean=False),
    )


def test_crps_gaussian_mixture_is_the_integral():
    y, means, sds, weights = mixture(3)
    shares = weights / weights.sum()

    def cdf(row):
        return lambda t: shares @ stats.norm.cdf(t, means[:, row], sds[:, row])

    expected = [crps_by_integral(cdf(row), y[row]) for row in range(y.size)]
    scores = crps_gaussian_mixture(y, means, sds, weights, mean=False)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_crps_gaussian_mixture_of_equal_draws_is_the_gaussians():
    y = np.array([0.0, 3.0])
    scores = crps_gaussian_mixture(y, [[1.0, 2.0]] * 7, [[0.5, 4.0]] * 7, mean=False)
    np.testing.assert_allclose(
        scores, crps_gaussian(y, [1.0, 2.0], [0.5, 4.0], mean=False), rtol=1e-12
    )


def test_crps_gaussian_mixture_agrees_with_its_samples():
    y, means, sds, weights = mixture(4)
    rng = np.random.default_rng(5)
    m, batches = 2000, 30
    picked = rng.choice(5, size=(m * batches, 1), p=weights / weights.sum())
    draws = rng.normal(np.take_along_axis(means, picked, 0), np.take_along_axis(sds, picked, 0))
    estimates = np.stack(
        [crps_samples(y, part, fair=True, mean=False) for part in np.split(draws, batches)]
    )
    gap = estimates.mean(axis=0) - crps_gaussian_mixture(y, means, sds, weights, mean=False)
    # Four Monte Carlo standard errors in each of the four rows.
    assert (np.abs(gap) < 4 * estimates.std(axis=0, ddof=1) / np.sqrt(batches)).all()


def test_crps_gaussian_mixture_does_not_depend_on_the_blocks_of_rows(monkeypatch):
    y, means, sds, weights = mixture(6, n_draws=5, n_rows=11)
    whole = crps_gaussian_mixture(y, means, sds, weights, mean=False)
    sizes = []

    def spy(obs, *arguments, **options):
        sizes.append(len(obs))
        return original(obs, *arguments, **options)

    original = scoringrules.crps_mixnorm
    monkeypatch.setattr(scoringrules, "crps_mixnorm", spy)
    monkeypatch.setattr(regression, "_PAIRS_AT_ONCE", 100)
    scores = crps_gaussian_mixture(y, means, sds, weights, mean=False)
    np.testing.assert_allclose(scores, whole, rtol=1e-12)
    assert sizes == [4, 4, 3]
    monkeypatch.setattr(regression, "_PAIRS_AT_ONCE", 1)
    scores = crps_gaussian_mixture(y, means, sds, weights, mean=False)
    np.testing.assert_allclose(scores, whole, rtol=1e-12)
    assert sizes[3:] == [1] * 11


def test_nlpd_of_one_gaussian_is_its_log_density():
    y, means, sds, _ = mixture(7, n_draws=1)
    np.testing.assert_allclose(
        nlpd_gaussian_mixture(y, means, sds, mean=False),
        -stats.norm.logpdf(y, means[0], sds[0]),
        rtol=1e-12,
    )


def test_nlpd_is_minus_the_log_of_the_weighted_density():
    y, means, sds, weights = mixture(8)
    density = weights @ stats.norm.pdf(y, means, sds) / weights.sum()
    scores = nlpd_gaussian_mixture(y, means, sds, weights, mean=False)
    np.testing.assert_allclose(scores, -np.log(density), rtol=1e-12)


def test_nlpd_is_finite_far_from_every_draw():
    # The density at 1e3 standard deviations underflows; its log is z^2 / 2 + log(2 pi) / 2.
    score = nlpd_gaussian_mixture([1e3], [[0.0], [0.0]], 1.0)
    assert score == pytest.approx(5e5 + 0.5 * np.log(2 * np.pi), rel=1e-12)


def test_nlpd_of_draws_from_a_gaussian_averages_to_its_entropy():
    y = np.random.default_rng(9).normal(2.0, 0.7, size=20_000)
    scores = nlpd_gaussian_mixture(y, np.full((1, y.size), 2.0), 0.7, mean=False)
    entropy = 0.5 * np.log(2 * np.pi * np.e * 0.7**2)
    # Within four Monte Carlo standard errors.
    assert abs(scores.mean() - entropy) < 4 * scores.std() / np.sqrt(y.size)


@pytest.mark.parametrize("score", MIXTURES)
def test_mixture_sds_broadcast_per_row_and_per_draw(score):
    y, means, _, _ = mixture(10, n_draws=3, n_rows=2)
    per_row, per_draw = np.array([0.5, 2.0]), np.array([[0.5], [1.0], [2.0]])
    for sds in (per_row, per_draw, 0.8):
        full = np.broadcast_to(sds, means.shape).copy()
        expected = [score(y[[i]], means[:, [i]], full[:, [i]]) for i in range(2)]
        np.testing.assert_allclose(score(y, means, sds, mean=False), expected, rtol=1e-12)


@pytest.mark.parametrize("score", MIXTURES)
def test_mixture_weights_are_scaled_and_act_as_repeats(score):
    y, means, sds, _ = mixture(11, n_draws=3)
    repeats = [2, 0, 3]
    expected = score(
        y, np.repeat(means, repeats, axis=0), np.repeat(sds, repeats, axis=0), mean=False
    )
    for weights in (repeats, [0.4, 0.0, 0.6], [20.0, 0.0, 30.0]):
        np.testing.assert_allclose(score(y, means, sds, weights, mean=False), expected, rtol=1e-10)


@pytest.mark.parametrize("score", MIXTURES)
def test_mixture_weights_are_equal_if_not_given(score):
    y, means, sds, _ = mixture(12)
    np.testing.assert_allclose(
        score(y, means, sds, mean=False), score(y, means, sds, np.ones(5), mean=False), rtol=1e-12
    )


ONE_OF_EACH = [
    (crps_samples, mixture(13)[:2]),
    (crps_gaussian, (mixture(13)[0], 0.5, 2.0)),
    (crps_gaussian_mixture, mixture(13)),
    (nlpd_gaussian_mixture, mixture(13)),
]


@pytest.mark.parametrize(("score", "arguments"), ONE_OF_EACH)
def test_mean_is_the_average_of_the_rows(score, arguments):
    rows = score(*arguments, mean=False)
    assert rows.shape == (4,)
    assert rows.dtype == np.float64
    average = score(*arguments)
    assert type(average) is float
    assert average == pytest.approx(rows.sum() / 4, rel=1e-12)


@given(seed=st.integers(0, 10**6), n_draws=st.integers(2, 8))
@quick
def test_crps_is_never_negative(seed, n_draws):
    y, means, sds, weights = mixture(seed, n_draws)
    assert (crps_samples(y, means, mean=False) >= 0).all()
    assert (crps_gaussian(y, means[0], sds[0], mean=False) >= 0).all()
    assert (crps_gaussian_mixture(y, means, sds, weights, mean=False) >= 0).all()


@given(seed=st.integers(0, 10**6), shift=st.floats(-1e3, 1e3), scale=st.floats(0.01, 100))
@quick
def test_scores_follow_a_shift_and_a_change_of_unit(seed, shift, scale):
    y, means, sds, weights = mixture(seed)
    y_new, means_new, sds_new = shift + scale * y, shift + scale * means, scale * sds
    close = {"rtol": 1e-7, "atol": 1e-9}
    for fair in (False, True):
        np.testing.assert_allclose(
            crps_samples(y_new, means_new, fair=fair, mean=False),
            scale * crps_samples(y, means, fair=fair, mean=False),
            **close,
        )
    np.testing.assert_allclose(
        crps_gaussian(y_new, means_new[0], sds_new[0], mean=False),
        scale * crps_gaussian(y, means[0], sds[0], mean=False),
        **close,
    )
    np.testing.assert_allclose(
        crps_gaussian_mixture(y_new, means_new, sds_new, weights, mean=False),
        scale * crps_gaussian_mixture(y, means, sds, weights, mean=False),
        **close,
    )
    np.testing.assert_allclose(
        nlpd_gaussian_mixture(y_new, means_new, sds_new, weights, mean=False),
        np.log(scale) + nlpd_gaussian_mixture(y, means, sds, weights, mean=False),
        **close,
    )


@given(seed=st.integers(0, 10**6))
@quick
def test_scores_do_not_depend_on_the_order_of_draws(seed):
    y, means, sds, weights = mixture(seed)
    order = np.random.default_rng(seed).permutation(5)
    np.testing.assert_allclose(crps_samples(y, means[order]), crps_samples(y, means), rtol=1e-10)
    for score in MIXTURES:
        np.testing.assert_allclose(
            score(y, means[order], sds[order], weights[order]),
            score(y, means, sds, weights),
            rtol=1e-10,
        )
