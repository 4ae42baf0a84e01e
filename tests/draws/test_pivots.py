"""Calibrated intervals of functionals: coverage by simulation, by hand, and shapes."""

import numpy as np
import pytest

from nearbayes.draws.credible import reach_of, spread_interval
from nearbayes.draws.functional import Functional
from nearbayes.draws.pivots import Pivots

N_SETS, N_DRAWS, N_REAL = 6, 12, 50


def replications(rng, size, bias=0.0, sd=1.0):
    """Posteriors of data whose truth is 0: means off by a bias and chance, draws of sd 1."""
    means = bias + sd * rng.normal(size=(N_SETS + 1, size))
    simulated = means[1:, None] + rng.normal(size=(N_SETS, N_DRAWS, size))
    return means[0] + rng.normal(size=(N_REAL, size)), simulated


@pytest.mark.parametrize("bias", [0.0, -2.0, 5.0])
@pytest.mark.parametrize("sd", [1.0, 2.0])
def test_intervals_cover_whatever_the_bias_and_the_true_spread(bias, sd, seed):
    """Within 4 Monte Carlo errors of 90 % at least; stretched to hold the mean, so mostly more."""
    size = 20_000
    real, simulated = replications(np.random.default_rng(seed), size, bias, sd)
    pivots = Pivots.of(np.zeros(size), simulated, factor=sd)
    low, high = pivots.interval(real, 0.9).T
    covered = np.mean((low <= 0) & (high >= 0))
    assert covered > 0.9 - 4 * np.sqrt(0.09 / size)
    assert (low <= real.mean(axis=0)).all()
    assert (high >= real.mean(axis=0)).all()


def test_a_bias_moves_one_end(seed):
    real, simulated = replications(np.random.default_rng(seed), 1, bias=-4.0)
    found = Functional(real[:, 0], calibration=Pivots.of(np.zeros(()), simulated[..., 0], 1.0))
    plain, best = found.interval(spread="raw"), found.interval()
    assert best[0] == plain[0]
    assert best[1] > plain[1] + 2
    stretched = found.adjusted()
    np.testing.assert_allclose(np.sort(stretched)[0], real.min(), rtol=0.2)
    assert stretched.max() > real.max() + 1


def test_one_set_of_pivots_by_hand():
    simulated = np.array([[0.0, 2.0], [1.0, 3.0]])  # means 1 and 2, sd sqrt(2)
    pivots = Pivots.of(np.array(4.0), simulated, factor=1.0)
    assert pivots.bias == 2.5
    assert pivots.square == 0.5
    assert pivots.sd == pytest.approx(np.sqrt(2))


def test_where_draws_agree_errors_are_taken_as_they_are():
    pivots = Pivots.of(np.array([1.0, 0.0]), np.zeros((3, 4, 2)), factor=1.0)
    real = np.zeros((5, 2))
    np.testing.assert_allclose(pivots.interval(real, 0.9), [[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(pivots.spread(real), real)


def test_entries_and_shapes():
    rng = np.random.default_rng(0)
    values, simulated = rng.normal(size=(20, 2, 3)), rng.normal(size=(4, 12, 2, 3))
    found = Functional(values, 1.3, calibration=Pivots.of(np.zeros((2, 3)), simulated, 1.5, 1.3))
    flat = found.as_vector()
    np.testing.assert_allclose(flat.interval(), found.interval().reshape(6, 2))
    np.testing.assert_allclose(flat.at([4, 1]).interval(0.5), flat.interval(0.5)[[4, 1]])
    np.testing.assert_allclose(flat.at(2).interval(), flat.interval()[2])
    assert found.interval([0.5, 0.9]).shape == (2, 3, 2, 2)


@pytest.mark.parametrize("n_draws", [2, 4, 8, 12, 17])
def test_few_draws_cover_what_quantiles_cannot(n_draws, seed):
    """Quantiles of 8 draws reach 78 %; Student's t interval covers 90 % of further draws."""
    size = 40_000
    values = np.random.default_rng(seed).normal(size=(n_draws + 1, size))
    for link, shown in (("identity", values), ("log", np.exp(values / 4))):
        low, high = spread_interval(shown[1:], 0.9, link=link).T
        covered = np.mean((low <= shown[0]) & (shown[0] <= high))
        if link == "identity":
            assert abs(covered - 0.9) < 4 * np.sqrt(0.09 / size)
        else:  # centred on the log of the mean, above the mean of logs
            assert covered > (n_draws - 1) / (n_draws + 1)
    assert reach_of(0.9, n_draws) > 1.645
