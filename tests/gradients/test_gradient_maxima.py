"""The search for the maximum likelihood: what has no maximum is refused, whatever the units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nearbayes as nb
from nearbayes.gradients.logistic_example import log_density, sampler

NONE = "the likelihood may have no maximum"


def drawn(algorithm, data, n_draws=2):
    schedule = nb.Schedule.optimal(refits=1)
    return nb.martingale_posterior(
        algorithm, data, n_draws=n_draws, schedule=schedule, random_state=0
    )


def logistic(d):
    return nb.GradientMartingale(log_density, sampler, np.zeros(d))


@pytest.mark.parametrize("seed", range(4))
def test_separated_classes_are_refused(seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    with pytest.raises(ValueError, match=NONE):
        drawn(logistic(2), (X, (X[:, 0] > 0).astype(float)))


def test_one_class_in_few_rows_is_refused():
    rng = np.random.default_rng(0)
    few = np.arange(2_000) < 3
    X = np.column_stack([np.ones(2_000), rng.normal(size=2_000), few])
    with pytest.raises(ValueError, match=NONE):
        drawn(logistic(3), (X, np.where(few, 0.0, rng.binomial(1, 0.5, 2_000))))


def test_counts_that_are_all_zero_are_refused():
    poisson = nb.GradientMartingale(
        lambda theta, y: y * theta[0] - jnp.exp(theta[0]),
        lambda theta, key: jax.random.uniform(key) * jnp.exp(theta[0]),
        np.zeros(1),
    )
    with pytest.raises(ValueError, match=NONE):
        drawn(poisson, np.zeros(30))


def test_units_of_the_inputs_do_not_matter():
    rng = np.random.default_rng(1)
    X, units = rng.normal(size=(300, 3)), np.array([1e-5, 1.0, 1e2])
    y = rng.binomial(1, 1 / (1 + np.exp(-3 * X[:, 0])))
    plain, scaled = (drawn(logistic(3), (each, y), 20) for each in (X, X * units))
    sds = [np.std(posterior.models, axis=0) for posterior in (plain, scaled)]
    assert sds[1] * units == pytest.approx(sds[0], rel=1e-4)


@pytest.mark.parametrize(("mean", "sd"), [(1e6, 1.0), (3.0, 1e6), (0.0, 1e-9)])
def test_maxima_far_from_the_start_are_found(mean, sd):
    z = mean + sd * np.random.default_rng(3).normal(size=50)
    normal = nb.GradientMartingale(
        lambda theta, z: -theta[1] - 0.5 * ((z - theta[0]) * jnp.exp(-theta[1])) ** 2,
        lambda theta, key: theta[0] + jnp.exp(theta[1]) * jax.random.normal(key),
        np.zeros(2),
    )
    first = np.asarray(drawn(normal, z).first)
    assert first == pytest.approx([z.mean(), np.log(z.std())], abs=1e-5 * min(sd, 1), rel=1e-6)
