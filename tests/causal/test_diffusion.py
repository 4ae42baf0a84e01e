"""Diffusion: exact where the network is known, and refits that do not drift."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nearbayes.causal import diffusion
from nearbayes.causal.diffusion_training import Columns, bank_of, first_fits, refits
from nearbayes.neural.chunks import Fits, Optimiser
from nearbayes.neural.keys import keys_of
from nearbayes.neural.network import MLP, Network
from nearbayes.neural.training import starts_of

MEAN, SD = 1.0, 0.4


class _Exact(eqx.Module):
    scale: jax.Array

    def __call__(self, row):
        ratio = jnp.exp(diffusion.CLOCK_UNIT * row[-1])
        left = ratio / (1 + ratio)
        gap = row[0] - jnp.sqrt(left) * MEAN * self.scale
        return jnp.sqrt(1 - left)[None] * gap / (left * SD**2 + 1 - left)


@dataclass(frozen=True)
class ExactNetwork(Network):
    """The best noise finder for a normal column."""

    def modules(self, key):
        return _Exact(jnp.ones(()))


def test_noise_becomes_the_column_and_back():
    noise = np.linspace(-2.5, 2.5, 32)[None]
    parents, parameters = np.zeros((1, 32, 0)), np.ones((1, 1), np.float32)
    network = ExactNetwork()
    x = diffusion.decoded(network, parameters, noise, parents, (-10.0, 10.0))
    slope, start = np.polyfit(noise[0], x[0], 1)
    assert slope == pytest.approx(SD, rel=0.03)
    assert start == pytest.approx(MEAN, abs=0.01)
    np.testing.assert_allclose(diffusion.encoded(network, parameters, x, parents), noise, atol=0.06)


def test_values_stay_within_limits():
    noise, parents = np.linspace(-5, 5, 32)[None], np.zeros((1, 32, 0))
    x = diffusion.decoded(ExactNetwork(), np.ones((1, 1)), noise, parents, (0.5, 1.5))
    assert 0.5 <= x.min() < x.max() <= 1.5


def test_no_noise_is_left_out_at_the_end():
    assert diffusion.LEFT[-1] < 1e-4  # of the variance: values do not remember their mean


NETWORK = MLP(n_inputs=3, n_outputs=1, hidden=(16,))
RNG = np.random.default_rng(0)


def columns(n, seed=0):
    rng = np.random.default_rng(seed)
    parents = rng.normal(size=(4, n, 1))
    x = parents[..., 0] + 0.5 * rng.normal(size=(4, n))
    return Columns(x.astype(np.float32), parents.astype(np.float32), np.full(4, n, np.int32))


@pytest.fixture(scope="module")
def trained():
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    starts = Fits.begin(starts_of(NETWORK, keys))
    return first_fits(NETWORK, Optimiser(rate=1e-2), columns(64), starts, keys, 300)


def test_a_refit_without_a_push_does_not_move(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    bank = bank_of(NETWORK, trained.parameters, columns(64), columns(16, 1), None, 0.0, keys, 1)
    moved = refits(
        NETWORK, Optimiser(), bank, trained.parameters, trained.step_sizes(), n_iterations=50
    )
    np.testing.assert_array_equal(moved.parameters, trained.parameters)


def test_a_refit_moves_against_its_push(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    share, new = 0.2, columns(16, 1)
    bank = bank_of(NETWORK, trained.parameters, columns(64), new, None, share, keys, 1)
    fits = refits(NETWORK, Optimiser(1e-4), bank, trained.parameters, trained.step_sizes(), 1)
    step = fits.parameters - trained.parameters
    assert (np.sum(step * np.asarray(bank.push), axis=1) < 0).all()


def test_ghosts_like_the_new_rows_leave_less_push(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    new = columns(512, 1)
    alone = bank_of(NETWORK, trained.parameters, columns(64), new, None, 0.2, keys, 1)
    centred = bank_of(NETWORK, trained.parameters, columns(64), new, columns(512, 2), 0.2, keys, 1)

    def size(bank):
        return np.linalg.norm(np.asarray(bank.push), axis=1)

    assert (size(centred) < size(alone)).all()
