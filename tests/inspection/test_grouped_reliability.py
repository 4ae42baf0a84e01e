import numpy as np
import pytest
from scipy.stats import binom

from nearbayes.inspection.reliability import (
    binomial_band,
    event,
    grouped,
    predictive_sets,
    set_coverage,
)


def test_groups_of_the_likeliest_class(three_classes, table, outcomes):
    codes = np.digitize(outcomes, [-0.7, 0.7])
    predicted = three_classes.posterior_predictions(table)
    groups = grouped(three_classes, *event(predicted, codes), 7, 0.8)
    assert groups.sizes.tolist() == [9, 9, 9, 9, 8, 8, 8]
    assert (np.diff(groups.said) > 0).all()
    assert groups.sizes @ groups.seen / 60 == pytest.approx(three_classes.score(table, codes))
    assert ((groups.credible[:, 0] < groups.said) & (groups.said < groups.credible[:, 1])).all()
    np.testing.assert_array_equal(groups.chance, binomial_band(0.8, groups.sizes, groups.said))


def test_chance_is_inside_the_binomial_band_as_often_as_it_says():
    low, high = binomial_band(0.9, 50, [0.3])[0] * 50
    inside = binom.cdf(high, 50, 0.3) - binom.cdf(low - 1, 50, 0.3)
    assert 0.9 <= inside < 0.95
    certain = np.mean(np.full(3, 1 / 3)) * 3 + 1e-16
    assert binomial_band(0.9, 5, [certain]).tolist() == [[1.0, 1.0]]


def test_sets_hold_the_class_that_their_ranks_say():
    rng = np.random.default_rng(0)
    mean, codes = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
    ranked, size = predictive_sets(mean, (0.5, 0.9))
    covered, mean_size = set_coverage(codes, mean, (0.5, 0.9))
    for k in range(2):
        inside = [code in row[:n] for code, row, n in zip(codes, ranked, size[:, k], strict=True)]
        assert covered[k] == np.mean(inside)
        assert mean_size[k] == size[:, k].mean()


def test_sets_of_three_rows():
    p = np.array([[0.95, 0.05], [0.6, 0.4], [0.08, 0.92]])
    covered, size = set_coverage(np.array([0, 1, 0]), p, [0.9])
    assert (covered[0], size[0]) == (pytest.approx(2 / 3), pytest.approx(4 / 3))
