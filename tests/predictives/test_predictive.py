import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from nearbayes.core.data import Rows
from nearbayes.predictives.predictive import (
    CategoricalPredictive,
    Empirical,
    Frozen,
    KnownPredictive,
    Normal,
    Simulated,
)

MEAN = np.array([0.0, 1.0, -2.0])
TABLE = MEAN[:, None]
RESIDUALS = np.array([-2.0, -0.5, 0.0, 0.5, 3.0])
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
TIMES = np.array([3, 0, 2])
K = 40_000


def normal():
    return Normal(MEAN, np.array([1.0, 0.5, 2.0]))


def empirical():
    return Empirical(MEAN, RESIDUALS, WEIGHTS)


def frozen():
    distribution = stats.gamma(a=np.array([2.0, 3.0, 4.0]))
    return Frozen(MEAN, distribution, MEAN - distribution.mean())


KNOWN = {"normal": normal, "empirical": empirical, "frozen": frozen}
every_known = pytest.mark.parametrize("name", KNOWN)


def samples(predictive, seed, size=K):
    """Outcomes of each row, shape (size, n)."""
    x = Rows.repeated(TABLE, np.full(3, size))
    return predictive.sample(x, np.random.default_rng(seed)).reshape(3, size).T


@every_known
def test_protocol(name):
    assert isinstance(KNOWN[name](), KnownPredictive)
    assert not isinstance(Simulated(MEAN, TABLE, None), KnownPredictive)


@every_known
def test_samples_have_the_distribution_and_moments(name, seed):
    predictive = KNOWN[name]()
    drawn = samples(predictive, seed)
    for t in (MEAN - 1, MEAN + 0.1, MEAN + 1.5):
        p = predictive.cdf(t)
        assert p.shape == (3,)
        error = np.sqrt(p * (1 - p) / K)
        assert (np.abs((drawn <= t).mean(axis=0) - p) <= 4 * error).all()
    second = (drawn - predictive.mean) ** 2
    error = second.std(axis=0, ddof=1) / np.sqrt(K)
    assert (np.abs(second.mean(axis=0) - predictive.variance) < 4 * error).all()
    assert predictive.variance.shape == (3,)


@pytest.mark.parametrize("name", ["normal", "frozen"])
def test_cdf_is_the_integral_of_the_density(name):
    predictive = KNOWN[name]()
    for row, t in enumerate(MEAN + 0.7):

        def density(y, row=row):
            point = MEAN.copy()
            point[row] = y
            return np.exp(predictive.log_density(point)[row])

        integral, _ = quad(density, t - 30, t, points=[MEAN[row] - 2, MEAN[row]], limit=200)
        assert predictive.cdf(MEAN + 0.7)[row] == pytest.approx(integral, abs=1e-6)


def test_empirical_density_integrates_to_one():
    angle = np.linspace(-np.pi / 2, np.pi / 2, 200_001)[1:-1]  # all of the line, heavy tails, too
    t = np.tan(angle)
    density = np.exp(Empirical(np.zeros(len(t)), RESIDUALS, WEIGHTS).log_density(t))
    assert np.trapezoid(density * (1 + t**2), angle) == pytest.approx(1.0, abs=1e-4)


def test_empirical_density_is_a_kernel_density_with_one_residual_to_come():
    y, m = np.array([-3.0, 0.1, 500.0]), len(WEIGHTS)
    kernel = stats.gaussian_kde(RESIDUALS, weights=WEIGHTS)
    scale = np.sqrt(kernel.covariance[0, 0]) / kernel.factor
    by_hand = (m * kernel(y) + stats.cauchy(scale=scale).pdf(y)) / (m + 1)
    density = np.exp(Empirical(np.zeros(3), RESIDUALS, WEIGHTS).log_density(y))
    np.testing.assert_allclose(density, by_hand)
    assert density[2] > 1e-7  # where the kernel density is 0


def test_empirical_cdf_by_hand():
    p = empirical().cdf(MEAN + np.array([-2.0, 0.4, 9.0]))
    np.testing.assert_allclose(p, [0.1, 0.6, 1.0])
    assert empirical().cdf(MEAN - 2.01).tolist() == [0.0, 0.0, 0.0]


@every_known
def test_moved_shifts_everything_but_the_shape(name):
    predictive = KNOWN[name]()
    shift = np.array([1.0, -3.0, 0.5])
    moved = predictive.moved(MEAN + shift)
    np.testing.assert_allclose(moved.mean, MEAN + shift)
    np.testing.assert_allclose(moved.variance, predictive.variance)
    # off the atoms of the empirical distribution, where rounding error decides
    t = MEAN + 0.31
    np.testing.assert_allclose(moved.cdf(t + shift), predictive.cdf(t))
    np.testing.assert_allclose(moved.log_density(t + shift), predictive.log_density(t))
    back = moved.moved(MEAN)
    np.testing.assert_allclose(back.log_density(t), predictive.log_density(t))
    np.testing.assert_allclose(samples(moved, 1, 50), samples(predictive, 1, 50) + shift)


@every_known
def test_one_outcome_per_row_repeats_included(name):
    predictive = KNOWN[name]()
    rng = np.random.default_rng(0)
    assert predictive.sample(Rows.every(TABLE), rng).shape == (3,)
    x = Rows.repeated(TABLE, np.array([0, 4, 1]))
    far = predictive.moved(np.array([0.0, 1e6, -1e6]))
    some = type(predictive)(far.mean[1:], *_rows(far, slice(1, None)))
    y = some.sample(x, rng)
    assert (np.sign(y) == [1, 1, 1, 1, -1]).all()
    none = type(predictive)(far.mean[:0], *_rows(far, slice(0, 0)))
    assert none.sample(Rows.repeated(TABLE, np.zeros(3, dtype=int)), rng).shape == (0,)


def _rows(predictive, rows):
    if isinstance(predictive, Normal):
        return (predictive.sd[rows],)
    if isinstance(predictive, Empirical):
        return predictive.residuals, predictive.weights
    return stats.gamma(a=np.array([2.0, 3.0, 4.0])[rows]), predictive.shift[rows]


def test_normal_of_several_outputs_is_scipys(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    covariance = root @ root.T + np.eye(3)
    sd = np.sqrt(np.diag(covariance))
    correlation_root = np.linalg.cholesky(covariance / np.outer(sd, sd))
    mean, y = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    ours = Normal(mean, sd, correlation_root).log_density(y)
    scipys = [
        stats.multivariate_normal(m, covariance).logpdf(v) for m, v in zip(mean, y, strict=True)
    ]
    np.testing.assert_allclose(ours, scipys)
    independent = Normal(mean, sd).log_density(y)
    np.testing.assert_allclose(independent, stats.norm(mean, sd).logpdf(y).sum(axis=1))


def test_normal_outputs_are_correlated(seed):
    covariance = np.array([[4.0, 1.5], [1.5, 1.0]])
    sd = np.sqrt(np.diag(covariance))
    predictive = Normal(np.zeros((1, 2)), sd, np.linalg.cholesky(covariance / np.outer(sd, sd)))
    y = predictive.sample(Rows.repeated(TABLE[:1], np.array([K])), np.random.default_rng(seed))
    products = y[:, :, None] * y[:, None, :]
    error = products.std(axis=0) / np.sqrt(K)
    assert (np.abs(products.mean(axis=0) - covariance) < 4 * error).all()
    assert predictive.cdf(np.zeros((1, 2))).tolist() == [[0.5, 0.5]]


def test_empirical_outputs_keep_their_residuals_together():
    residuals = np.array([[-1.0, 5.0], [0.0, -5.0], [2.0, 0.0]])
    predictive = Empirical(np.zeros((2, 2)), residuals, np.array([0.5, 0.25, 0.25]))
    y = predictive.sample(Rows.repeated(TABLE[:2], np.array([50, 50])), np.random.default_rng(0))
    assert {tuple(row) for row in y} == {tuple(row) for row in residuals}
    p = predictive.cdf(np.array([[-1.0, -5.0], [0.0, 0.0]]))
    np.testing.assert_allclose(p, [[0.5, 0.25], [0.75, 0.5]])
    assert predictive.log_density(np.zeros((2, 2))).shape == (2,)
    np.testing.assert_allclose(predictive.variance[0], [0.5 + 1.0, 12.5 + 6.25])


def test_simulated_calls_the_function_on_repeated_rows():
    predictive = Simulated(MEAN[[0, 2]], TABLE[[0, 2]], lambda mean, x, rng: mean + x[:, 0])
    x = Rows.repeated(TABLE, TIMES)
    assert predictive.sample(x, None).tolist() == [0.0, 0.0, 0.0, -4.0, -4.0]
    moved = predictive.moved(np.array([1.0, 1.0]))
    assert moved.sample(x, None).tolist() == [1.0, 1.0, 1.0, -1.0, -1.0]


@pytest.mark.parametrize("returned", [0.0, np.zeros(2), np.zeros((3, 1))])
def test_a_noise_function_of_the_wrong_shape(returned):
    predictive = Simulated(MEAN, TABLE, lambda mean, x, rng: returned)
    with pytest.raises(ValueError, match=r"must return one y per row, shape \(3,\), got"):
        predictive.sample(Rows.every(TABLE), None)


@st.composite
def categorical_cases(draw):
    n_classes = draw(st.integers(1, 4))
    times = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any))
    mass = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any)
    rows = np.array([draw(mass) for time in times if time], dtype=float)
    return np.array(times), rows / rows.sum(axis=1, keepdims=True), draw(st.integers(0, 2**32))


@given(categorical_cases())
@settings(deadline=None)
def test_class_codes_come_count_times_per_row_and_only_where_possible(case):
    times, probabilities, seed = case
    x = Rows.repeated(np.arange(float(len(times)))[:, None], times)
    codes = CategoricalPredictive(probabilities).sample(x, np.random.default_rng(seed))
    assert codes.shape == (times.sum(),)
    assert (x.repeat(probabilities)[np.arange(len(codes)), codes] > 0).all()


def test_class_codes_follow_the_probabilities(seed):
    probabilities = np.array([[0.2, 0.5, 0.3], [0.9, 0.0, 0.1]])
    x = Rows.repeated(TABLE[:2], np.array([K, K]))
    codes = CategoricalPredictive(probabilities).sample(x, np.random.default_rng(seed))
    for row, p in enumerate(probabilities):
        shares = np.bincount(codes[row * K : (row + 1) * K], minlength=3) / K
        assert (np.abs(shares - p) <= 4 * np.sqrt(p * (1 - p) / K)).all()
    once = CategoricalPredictive(probabilities).sample(
        Rows.every(TABLE[:2]), np.random.default_rng(0)
    )
    assert once.shape == (2,)


def test_log_probability_of_codes():
    predictive = CategoricalPredictive(np.array([[0.25, 0.75], [1.0, 0.0]]))
    expected = [np.log(0.75), -np.inf]
    np.testing.assert_allclose(predictive.log_density(np.array([1, 1])), expected)
