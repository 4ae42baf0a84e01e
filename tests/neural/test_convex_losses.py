"""Losses: the Bregman term is minimal at old outputs, and bad losses are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearbayes.neural.convex_losses import (
    CrossEntropy,
    FunctionLoss,
    HeteroscedasticLoss,
    PoissonLoss,
    SquaredLoss,
    check_convex,
    slope,
)

RNG = np.random.default_rng(0)


def _huber(output, y):
    error = output[0] - y[0]
    return jnp.where(jnp.abs(error) < 1, error**2 / 2, jnp.abs(error) - 0.5)


def _statistics(loss, y):
    """Statistics of one number as each loss has them."""
    if isinstance(loss, CrossEntropy):
        return np.eye(3)[int(abs(y)) % 3]
    if isinstance(loss, HeteroscedasticLoss):
        return np.array([y, y**2])
    return np.array([abs(y) if isinstance(loss, PoissonLoss) else y])


LOSSES = {
    "squared": (SquaredLoss(), 1),
    "cross-entropy": (CrossEntropy(), 3),
    "poisson": (PoissonLoss(), 1),
    "heteroscedastic": (HeteroscedasticLoss(), 2),
    "huber": (FunctionLoss(_huber), 1),
}
every_loss = pytest.mark.parametrize("name", LOSSES)
numbers = st.floats(-3, 3, width=32)


@every_loss
@given(y=numbers, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_bregman_term_is_least_at_the_old_output(name, y, seed):
    loss, n_outputs = LOSSES[name]
    rng = np.random.default_rng(seed)
    old, other = rng.normal(size=(2, n_outputs))
    t = _statistics(loss, y)
    shift = np.asarray(slope(loss, jnp.array(old), jnp.array(t)))

    def term(output):
        return float(loss.value(jnp.array(output), jnp.array(t)) - shift @ output)

    assert term(old) <= term(other) + 1e-4 * (1 + abs(term(other)))
    gradient = jax.grad(lambda f: loss.value(f, jnp.array(t)) - jnp.array(shift) @ f)(
        jnp.array(old)
    )
    np.testing.assert_allclose(gradient, 0, atol=1e-5)


@pytest.mark.parametrize("name", ["squared", "cross-entropy", "poisson", "heteroscedastic"])
def test_affine_losses_take_the_mean_of_statistics(name):
    loss, n_outputs = LOSSES[name]
    output = RNG.normal(size=n_outputs)
    several = np.stack([_statistics(loss, y) for y in (0.3, 1.2, 2.5)])
    each = [float(loss.value(jnp.array(output), jnp.array(t))) for t in several]
    merged = float(loss.value(jnp.array(output), jnp.array(several.mean(axis=0))))
    assert merged == pytest.approx(np.mean(each), rel=1e-5, abs=1e-5)


def test_refit_targets_of_squared_loss_are_row_means():
    """Old count 3 at prediction 2, one new outcome 6: the minimum is their weighted mean, 3."""
    share, old, new = 0.25, 2.0, 6.0
    mean = (1 - share) * 1.7 + share * new  # the old outcomes, whose mean is 1.7, do not matter
    loss = SquaredLoss()
    f = jnp.array([old])
    shift = slope(loss, f, jnp.array([mean])) - share * slope(loss, f, jnp.array([new]))
    found = jax.grad(lambda f: loss.value(f, jnp.array([mean])) - shift @ f)(jnp.array([3.0]))
    np.testing.assert_allclose(found, 0, atol=1e-6)


@every_loss
def test_convex_losses_are_accepted(name):
    loss, n_outputs = LOSSES[name]
    rows = np.stack([_statistics(loss, y) for y in RNG.normal(size=50)])
    check_convex(loss, n_outputs, rows, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda f, y: -jnp.exp(-((f[0] - y[0]) ** 2)), "must be convex"),
        (lambda f, y: jnp.sin(f[0]) * y[0], "must be convex"),
        (lambda f, y: f[0] * 2.0, "must be bounded below"),
        (lambda f, y: f[0] ** 2 / 0.0 * y[0], "not finite at any output"),
    ],
)
def test_bad_losses_are_refused_in_one_sentence(function, message):
    with pytest.raises(ValueError, match=message):
        check_convex(FunctionLoss(function), 1, RNG.normal(size=(20, 1)), np.random.default_rng(0))
