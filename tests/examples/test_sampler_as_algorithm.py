"""The martingale posterior of a sampler is its posterior; its bootstrap is wider."""

import numpy as np
import pytest
import sampler_as_algorithm

N_PARAMETERS = 3


def mean_ratios(n_draws):
    """Means over parameters, and the Monte Carlo error of a mean of nearly independent sds."""
    found = sampler_as_algorithm.main(n_draws=n_draws)
    error = (2 * n_draws * N_PARAMETERS) ** -0.5
    return {name: ratios.mean() for name, ratios in found.items()}, error


def test_only_the_bootstrap_of_a_sampler_is_too_wide(capsys):
    ratios, error = mean_ratios(200)
    assert abs(ratios["martingale posterior"] - 1) < 4 * error
    assert ratios["bootstrap"] > 1 + 4 * error
    assert "sd over that of the true posterior" in capsys.readouterr().out


@pytest.mark.slow
def test_the_sd_of_a_sampler_is_exact():
    found = sampler_as_algorithm.main(n_draws=4_000)  # error of one sd: 1.1 %
    np.testing.assert_allclose(found["martingale posterior"], 1, atol=0.05)
    assert found["bootstrap"].mean() > 1.2


def test_empty_rows_do_not_count():
    rng = np.random.default_rng(0)
    x, y, theta = rng.normal(size=40), rng.normal(size=40), np.array([0.3, -0.4, 0.1])
    weight = np.append(np.ones(39), 0)
    found = sampler_as_algorithm.log_posterior(theta, x, y, weight)
    expected = sampler_as_algorithm.log_posterior(theta, x[:39], y[:39], np.ones(39))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
