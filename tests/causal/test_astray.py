"""Refits that carry a causal model away are told of."""

import warnings

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.causal.astray import warn_of_strays
from nearbayes.causal.variables import Variable
from nearbayes.draws.path_trace import Trace

EFFECTS = (Variable("a", sd=1.0), Variable("colour", "category", ("r", "g")), Variable("c", sd=5.0))


def moved(by):
    """Means of three effects at 30 rows, of which some are noted, along a path of two steps."""
    every = np.tile(by, 30)[np.linspace(0, 89, 64).round().astype(int)]
    return Trace(np.array([10.0, 20.0]), np.stack([np.zeros((4, 64)), np.tile(every, (4, 1))], 1))


def test_the_effect_that_moved_farthest_is_named():
    with pytest.warns(nb.DrawWarning, match=r"mean of 'c' by 2\.0 standard deviations"):
        warn_of_strays(moved([1.0, 9.0, 10.0]), EFFECTS, 30)


@pytest.mark.parametrize("trace", [None, moved([0.5, 9.0, 2.0])])
def test_honest_refits_are_not_warned_of(trace):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_strays(trace, EFFECTS, 30)


@pytest.mark.slow
def test_networks_that_were_trained_too_long_are_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    data = {"x": x, "y": x**2 + 0.5 * rng.normal(size=60)}
    model = nb.causal.DiffusionSCM([("x", "y")], n_draws=8, n_iterations=8_000, random_state=0)
    with pytest.warns(nb.DrawWarning, match="leave n_iterations=None"):
        model.fit(data)
