"""What the demo says holds, and not by luck of a seed."""

import demo
import numpy as np
import pytest


def test_bagging_misses_known_probabilities_that_calibrated_intervals_hold():
    found = demo.probabilities(seed=1, n_draws=8, jobs=1)
    assert found["nearbayes covers"] >= 0.8
    assert found["bagging covers"] <= found["nearbayes covers"] - 0.1
    for name in ("nearbayes", "bagging"):
        low, high = found[name].T
        inside = (low <= found["truth"]) & (found["truth"] <= high)
        assert found[f"{name} covers"] == inside.mean()
    assert f"bagging {found['bagging covers']:.0%}" in demo.about_probabilities(found)


def test_totals_vary_more_than_one_fit_with_its_noise_says():
    found = demo.budgets(n_splits=8, n_draws=20)
    ours, plain = found["nearbayes"].std(axis=1), found["one fit"].std(axis=1)
    assert (ours > 1.2 * plain).all()  # some 1.7 times on average
    assert found["nearbayes suffices"] >= found["one fit suffices"]
    budget = np.quantile(found["one fit"], demo.BUDGET, axis=1)
    assert found["one fit suffices"] == (budget >= found["totals"]).mean()
    assert "342 new rows" in demo.about_budgets(found)


@pytest.mark.slow
def test_the_claims_hold_for_most_seeds():
    held = [demo.claims(seed, jobs=2) for seed in range(10)]
    for claim in held[0]:
        assert sum(each[claim] for each in held) >= 8, claim
    found = demo.budgets(n_splits=100)
    # 95 % less three standard errors; one fit falls short of that
    assert found["nearbayes suffices"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 100)
    assert found["one fit suffices"] < found["nearbayes suffices"] - 0.05
