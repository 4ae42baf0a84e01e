"""Measures of interventional distributions, in cases whose answer is known."""

import numpy as np
import pytest
from experiments.causal_synthetic.measures import (
    cdf_l2,
    descendants_mmd,
    mean_intervals,
    median_bandwidth,
    noise_floor,
    outcome_scores,
    squared_mmd,
    truth_as_model,
)
from experiments.causal_synthetic.queries import descendant_queries, grid, outcome_queries
from experiments.causal_synthetic.scms import SCMS
from scipy import stats

CHAIN = SCMS["chain-nonlin"]


def rng():
    return np.random.default_rng(0)


def shifted(scm, shifts):
    """The truth with a number added to every row; one draw per number."""
    return lambda do, n, rng: np.stack([scm.sample(n, rng, do) + shift for shift in shifts])


def test_mmd_of_normal_samples_is_its_expectation():
    """Under k = exp(-d^2 / h) both samples N(m, 1): E k = (1 + 4/h)^(-1/2) exp(-m^2 / (h + 4))."""
    n, h, shift = 3_000, 2.0, 1.0
    same = (1 + 4 / h) ** -0.5
    expected = 2 * same * (1 - np.exp(-(shift**2) / (h + 4))) + 2 * (1 - same) / n
    draws = rng().normal(size=(2, n, 1))
    found = squared_mmd(draws[0], draws[1] + shift, h)
    # k lies between 0 and 1, so an average over n rows of it has an sd below .5 / sqrt(n); two such
    assert found == pytest.approx(expected, abs=3 * np.sqrt(2) * 0.5 / np.sqrt(n))


def test_mmd_is_zero_of_a_sample_and_itself():
    x = rng().normal(size=(50, 2))
    assert squared_mmd(x, x, 1.0) == pytest.approx(0, abs=1e-12)


def test_bandwidth_is_the_median_squared_distance():
    assert median_bandwidth(np.array([[0.0], [1.0], [3.0]])) == 4.0
    with pytest.raises(ValueError, match="truth must vary"):
        median_bandwidth(np.zeros((4, 1)))


def test_cdf_l2_is_the_integral():
    """Uniform on (0, 1) and on (.5, 1.5): 1/24 up to .5, 1/8 up to 1, 1/24 up to 1.5."""
    x = (np.arange(20_000) + 0.5) / 20_000
    assert cdf_l2(x, x + 0.5) == pytest.approx(1 / 24 + 1 / 8 + 1 / 24, abs=1e-4)


def test_intervals_are_right_for_few_draws():
    """A further draw of the same law is covered in 90 % of cases, with 3 draws as with 30."""
    for n_draws in (3, 30):
        draws = rng().normal(size=(n_draws + 1, 20_000))
        low, high = mean_intervals(draws[1:]).T
        covered = np.mean((low <= draws[0]) & (draws[0] <= high))
        assert covered == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 20_000))


def test_inflation_widens_and_one_draw_has_no_interval():
    draws = rng().normal(size=(5, 3))
    widths = [np.diff(mean_intervals(draws, factor), axis=1) for factor in (1.0, 2.0)]
    assert widths[1] == pytest.approx(2 * widths[0])
    with pytest.raises(ValueError, match="at least two draws"):
        mean_intervals(draws[:1])


def test_grids_lie_between_the_quantiles():
    values = grid(CHAIN, "x1", 5)
    # 200,000 draws: the error of a quantile is sqrt(.09 / n) over the density there
    assert values[[0, -1]] == pytest.approx(stats.norm.ppf([0.1, 0.9]), abs=4 * 0.0007 / 0.175)
    assert np.diff(values) == pytest.approx(np.diff(values)[0])


@pytest.mark.parametrize(("name", "nodes"), [("chain-na", 2), ("diamond-na", 3), ("y-na", 3)])
def test_every_node_with_descendants_is_set(name, nodes):
    queries = descendant_queries(SCMS[name], 4)
    assert len(queries) == 4 * nodes
    assert all(set(query.do) == {query.varied} for query in queries)


@pytest.mark.parametrize("name", SCMS)
def test_queries_of_the_outcome_stand_for_the_whole_protocol(name):
    scm = SCMS[name]
    queries = outcome_queries(scm, "standard", 4)
    assert sum(query.weight for query in queries) == 3 * 4 * (len(scm.nodes) - 1)
    for query in queries:
        assert set(query.do) == set(scm.nodes[:-1])
    parents = {tuple(query.do[node] for node in scm.graph[scm.nodes[-1]]) for query in queries}
    assert len(parents) == len(queries)


def test_raw_constants_off_the_domain_are_left_out():
    """Raw x2 = -.5 in chain-na is the root of a negative number: four values of x1 are lost."""
    raw, standard = (outcome_queries(SCMS["chain-na"], u, 4) for u in ("raw", "standard"))
    assert sum(query.weight for query in standard) - sum(query.weight for query in raw) == 4
    assert {query.do["x2"] for query in raw if query.varied == "x1"} == {0.0, 0.5}


def test_constants_in_standard_units():
    varied_x1 = [query for query in outcome_queries(CHAIN, "standard", 2) if query.varied == "x1"]
    x2 = CHAIN.observed[:, 1]
    expected = x2.mean() + x2.std() * np.array([-0.5, 0, 0.5])
    assert sorted(query.do["x2"] for query in varied_x1) == pytest.approx(expected)


def test_noise_floor_is_about_two_over_n_and_a_wrong_model_is_above():
    queries = descendant_queries(CHAIN, 3)
    floors = [noise_floor(CHAIN, queries, 0, n) for n in (128, 512)]
    assert 0 < floors[1] < floors[0] < 2 / 128
    assert descendants_mmd(CHAIN, shifted(CHAIN, [1.0]), 1, queries, 0) > 20 * floors[1]


def test_the_mixture_of_draws_is_compared():
    """A draw too low and one too high: 512 rows of both, which three draws cannot share equally."""
    queries = descendant_queries(CHAIN, 2)
    apart = [shifted(CHAIN, [shift]) for shift in (-0.5, 0.5)]
    single = [descendants_mmd(CHAIN, model, 1, queries, 0) for model in apart]
    assert descendants_mmd(CHAIN, shifted(CHAIN, [-0.5, 0, 0.5]), 3, queries, 0) < min(single) / 2
    with pytest.raises(ValueError, match="must give 2 draws"):
        descendants_mmd(CHAIN, apart[0], 2, queries, 0)


def test_scores_of_a_model_with_known_errors():
    """Draws at the truth + {-1, 0, 1} / 10 + .1: error .1, sd .1, always covered."""
    queries = outcome_queries(CHAIN, "standard", 3)
    scores = outcome_scores(CHAIN, shifted(CHAIN, [0.0, 0.1, 0.2]), queries, 0, 20_000)
    noise = 4 * 0.5 / np.sqrt(20_000)  # x3 has an sd of .47 when x2 is set
    assert scores["rmse"] == pytest.approx(0.1, abs=noise)
    reach = stats.t.ppf(0.95, 2) * np.sqrt(4 / 3)
    assert scores["width"] == pytest.approx(2 * reach * 0.1, abs=2 * reach * noise)
    assert scores["coverage"] == 1
    assert scores["sampling_share"] == pytest.approx(0.47**2 / 20_000 / 0.1**2, rel=0.5)


def test_a_model_far_off_is_not_covered():
    queries = outcome_queries(CHAIN, "standard", 3)
    scores = outcome_scores(CHAIN, shifted(CHAIN, [3.0, 3.1, 3.2]), queries, 0, 100)
    assert scores["coverage"] == 0
    assert scores["cdf_l2"] > 1


def test_the_truth_as_a_model_is_covered_and_near():
    queries = outcome_queries(CHAIN, "standard", 20)
    scores = outcome_scores(CHAIN, truth_as_model(CHAIN, 8), queries, 0, 200)
    assert scores["cdf_l2"] < 0.002
    # draws scatter around the truth: it is covered more often than a further draw would be
    assert scores["coverage"] > 0.9
    assert scores["sampling_share"] == pytest.approx(1, abs=0.5)
