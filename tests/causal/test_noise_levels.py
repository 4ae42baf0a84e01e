"""Noise and outcomes determine each other."""

import numpy as np
import pytest
from scipy import stats

from nearbayes.causal.noise_levels import noise_at, outcome_at
from nearbayes.predictives.positive import PositivePredictive
from nearbayes.predictives.predictive import (
    CategoricalPredictive,
    Empirical,
    Frozen,
    Normal,
    Simulated,
)

NOISE = np.array([-3.5, -1.0, 0.0, 0.3, 4.0])
MEAN = np.arange(5.0)
RESIDUALS = np.random.default_rng(0).gamma(2.0, size=40)
SHARE = np.full(5, 0.5)


@pytest.mark.parametrize(
    "predictive",
    [
        Normal(MEAN, np.full(5, 2.0)),
        Empirical(MEAN, RESIDUALS - RESIDUALS.mean(), np.full(40, 1 / 40)),
        Frozen(MEAN, stats.norm(MEAN, 2.0), np.zeros(5)),
    ],
    ids=["normal", "empirical", "frozen"],
)
def test_outcomes_give_back_their_noise(predictive):
    outcomes = outcome_at(predictive, NOISE)
    np.testing.assert_allclose(noise_at(predictive, outcomes, SHARE), NOISE, atol=1e-5)


def test_the_distribution_of_outcomes_is_the_predictive_one():
    levels = stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000)
    known = Empirical(np.zeros(2_000), RESIDUALS, np.full(40, 1 / 40))
    found = outcome_at(known, levels)
    assert found.mean() == pytest.approx(RESIDUALS.mean(), rel=0.02)
    assert found.std() == pytest.approx(RESIDUALS.std(), rel=0.05)
    counts = PositivePredictive(np.full(2_000, 3.0), 1.0, 1.0)
    assert np.rint(outcome_at(counts, levels)).mean() == pytest.approx(3.0, abs=0.6)


def test_categories_have_their_probabilities():
    levels = stats.norm.ppf((np.arange(1_000) + 0.5) / 1_000)
    probabilities = np.tile([0.2, 0.5, 0.3], (1_000, 1))
    codes = outcome_at(CategoricalPredictive(probabilities), levels)
    assert np.bincount(codes.astype(int)).tolist() == [200, 500, 300]
    shares = np.random.default_rng(0).random(1_000)
    again = outcome_at(
        CategoricalPredictive(probabilities),
        noise_at(CategoricalPredictive(probabilities), codes, shares),
    )
    np.testing.assert_array_equal(again, codes)


def test_noise_of_a_users_function_is_not_known():
    unknown = Simulated(MEAN, MEAN[:, None], lambda mean, x, rng: mean)
    with pytest.raises(TypeError, match="use noise='gaussian'"):
        outcome_at(unknown, NOISE)
