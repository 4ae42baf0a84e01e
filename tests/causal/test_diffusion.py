"""Diffusion: exact where the network is known, and refits that do not drift."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nearbayes.causal import diffusion
from nearbayes.causal.diffusion_training import (
    Columns,
    Training,
    bank_of,
    first_fits,
    refits,
)
from nearbayes.neural.chunks import Optimiser
from nearbayes.neural.keys import keys_of
from nearbayes.neural.network import MLP, Network
from nearbayes.neural.training import outputs_of, starts_of

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
    starts = Training.begin(starts_of(NETWORK, keys))
    return first_fits(NETWORK, Optimiser(rate=1e-2), columns(64), starts, keys, 300)


def test_averages_differ_less_than_where_training_is():
    one = keys_of([np.random.default_rng(0) for _ in range(4)])
    starts = Training.begin(starts_of(NETWORK, one))  # the same four times
    same = Columns(*(np.repeat(each[:1], 4, axis=0) for each in columns(64)))
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    found = first_fits(NETWORK, Optimiser(rate=1e-2), same, starts, keys, 1_000)
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    spread, spread_now = (
        outputs_of(NETWORK, each, x).std(axis=0).mean()
        for each in (found.average, found.now.parameters)
    )
    assert spread < 0.7 * spread_now


def test_averages_go_on_where_training_stopped():
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    starts = Training.begin(starts_of(NETWORK, keys))
    part = first_fits(NETWORK, Optimiser(rate=1e-2), columns(64), starts, keys, 100)
    assert part.now.steps.tolist() == [100] * 4
    step = first_fits(NETWORK, Optimiser(rate=1e-2), columns(64), part, keys, 1)
    weight = 9 / (8 + 101)
    expected = part.average + weight * (step.now.parameters - part.average)
    np.testing.assert_allclose(step.average, expected, rtol=1e-4, atol=1e-6)


def test_a_refit_without_a_push_does_not_move(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    bank = bank_of(NETWORK, trained.average, columns(64), columns(16, 1), None, 0.0, keys, 1)
    moved = refits(
        NETWORK, Optimiser(), bank, trained.average, trained.now.step_sizes(), n_iterations=50
    )
    np.testing.assert_array_equal(moved.parameters, trained.average)


def test_a_refit_moves_against_its_push(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    share, new = 0.2, columns(16, 1)
    bank = bank_of(NETWORK, trained.average, columns(64), new, None, share, keys, 1)
    fits = refits(NETWORK, Optimiser(1e-4), bank, trained.average, trained.now.step_sizes(), 1)
    step = fits.parameters - trained.average
    assert (np.sum(step * np.asarray(bank.push), axis=1) < 0).all()


def test_ghosts_like_the_new_rows_leave_less_push(trained):
    keys = keys_of([np.random.default_rng(k) for k in range(4)])
    moved = [each._replace(x=each.x + 1) for each in (columns(512, 1), columns(512, 2))]
    alone = bank_of(NETWORK, trained.average, columns(64), moved[0], None, 0.2, keys, 4)
    centred = bank_of(NETWORK, trained.average, columns(64), *moved, 0.2, keys, 4)

    def size(bank):
        return np.linalg.norm(np.asarray(bank.push), axis=1)

    assert (size(centred) < size(alone) / 3).all()


def test_the_chance_of_ghosts_adds_nothing_to_the_push(trained):
    """Over many blocks of 64 rows, few ghosts give pushes of the size that many give."""
    keys = keys_of([np.random.default_rng(k) for k in range(4)])

    def mean_square(n_ghosts):
        found = []
        for k in range(24):
            new, ghosts = columns(64, 100 + k), columns(n_ghosts, 200 + k)
            bank = bank_of(NETWORK, trained.average, columns(64), new, ghosts, 0.2, keys, 8)
            found.append(np.sum(np.square(bank.push), axis=1))
        return np.mean(found)

    # 96 sums of squares each; without the correction the ratio would be 2 / (1 + 64 / 1024)
    assert mean_square(64) / mean_square(1024) == pytest.approx(1, abs=0.35)
