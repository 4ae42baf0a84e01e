"""Networks as algorithms: exact where the answer is known, and no draw lost for another."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nearbayes as nb
from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.seeds import Seeds
from nearbayes.neural.network import MLP, EquinoxNetwork
from nearbayes.neural.network_algorithm import CHUNK, NetworkAlgorithm, NetworkModels
from nearbayes.neural.outcomes import Classes, CountOutcomes, UserOutcomes, VaryingNumbers
from nearbayes.neural.training import Batches, Optimiser

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * RNG.normal(size=40)
N_FREQUENCIES = 32
FREQUENCIES = RNG.normal(size=(2, N_FREQUENCIES)).astype(np.float32)
SMALL = partial(MLP, hidden=(8,))
RUN = {"n_draws": 4, "random_state": 0, "progress": False}


class FrozenFeatures(eqx.Module):
    """A network of which only the last layer is trained: a Gaussian process with known features."""

    weights: jax.Array
    frequencies: np.ndarray  # not a JAX array, so not a parameter

    def __call__(self, x):
        return self.weights @ (jnp.sqrt(2.0) * _waves(x @ self.frequencies, jnp))


def _waves(phase, library):
    return library.concatenate([library.cos(phase), library.sin(phase)], axis=-1)


def frozen(key):
    return FrozenFeatures(jax.random.normal(key, (1, 2 * N_FREQUENCIES)) / 8, FREQUENCIES)


def linear(**options):
    settings = {
        "optimiser": Optimiser(rate=3e-3, penalty=1.0),
        "batch_size": None,
        "n_passes": 500,
        "prior": "anchored",
    }
    return NetworkAlgorithm(EquinoxNetwork(frozen), **{**settings, **options})


def features(algorithm, x):
    return np.sqrt(2.0) * _waves(algorithm.encoding.encode(x) @ FREQUENCIES, np)


def refitted(algorithm):
    """A chunk of first fits, one block for each, and the refits; all in one place."""
    data = nb.Data.of(X, Y)
    prepared, real = algorithm.prepare(data, np.random.default_rng(1))
    streams = Seeds(0).streams(tuple(range(CHUNK)), 0)
    models = prepared.fit([real] * CHUNK, streams.at(0))
    counts = np.random.default_rng(2).multinomial(20, np.full(40, 1 / 40), size=CHUNK)
    x = [Rows.repeated(real.table, each) for each in counts]
    new = Blocks(x, prepared.sample(models, x, streams.at(1)), 60)
    grown = [real.extend(block, "means") for block in new]
    return prepared, real, models, new, prepared.refit(grown, new, models, streams.at(1))


def closed_form(prepared, real, models, new):
    """Sequential MAP (eq. gp-alg-spo) of the features, in units of the prior sd."""
    phi, weight = features(prepared, X) / 8, prepared.noise**2
    moved = []
    for theta, block in zip(models.parameters, new, strict=True):
        rows = phi[block.x.positions]
        inverse = np.linalg.inv(phi.T @ phi + rows.T @ rows + weight * np.eye(phi.shape[1]))
        step = inverse @ rows.T @ (block.y[:, 0] - rows @ (8 * theta))
        moved.append(theta + step / 8)
    return np.stack(moved)


@pytest.mark.parametrize("by", ["proximal", "gauss-newton"])
def test_refit_of_frozen_features_is_the_closed_form(by):
    prepared, real, models, new, found = refitted(linear(refit_by=by))
    exact = closed_form(prepared, real, models, new)
    phi = features(prepared, X)
    moved = np.abs((exact - models.parameters) @ phi.T).max()
    np.testing.assert_allclose(found.parameters @ phi.T, exact @ phi.T, atol=1e-3)
    assert moved > 0.05  # there was something to find


def test_spread_of_frozen_features_is_that_of_the_gaussian_process():
    x = np.random.default_rng(5).normal(size=(200, 2))  # so many that the prior hardly counts
    y = np.sin(2 * x[:, 0]) + 0.5 * np.random.default_rng(6).normal(size=200)
    posterior = nb.martingale_posterior(
        linear(refit_by="gauss-newton"),
        (x, y),
        schedule=nb.Schedule.optimal(refits=24),
        **{**RUN, "n_draws": 64},
    )
    algorithm, points = posterior.algorithm, np.random.default_rng(3).normal(size=(100, 2))
    known, at = features(algorithm, x) / 8, features(algorithm, points) / 8
    covariance = np.linalg.inv(known.T @ known / algorithm.noise**2 + np.eye(2 * N_FREQUENCIES))
    exact = algorithm.outcomes.sd * np.sqrt(np.einsum("ri,ij,rj->r", at, covariance, at))
    sd = posterior.predict(points).std(axis=0, ddof=1) * posterior.inflation
    # 64 draws: a single sd has an error of 9 %; their mean over correlated points about 5 %
    assert abs(np.mean(sd / exact) - 1) < 0.1


@pytest.mark.parametrize(
    ("outcomes", "y"),
    [
        (VaryingNumbers(), Y),
        (CountOutcomes(), np.random.default_rng(4).poisson(np.exp(X[:, 0] / 2))),
        (Classes(), np.where(Y > 0, "up", "down")),
        (
            UserOutcomes(
                lambda f, y: jnp.logaddexp(f[0] - y[0], y[0] - f[0]),
                lambda f, rng: f[:, 0] + rng.logistic(size=len(f)),
            ),
            Y,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_outcome_is_drawn(outcomes, y):
    posterior = nb.martingale_posterior(
        NetworkAlgorithm(SMALL, outcomes, n_passes=15), (X, y), **RUN
    )
    found = posterior.predict(X[:5])
    assert found.shape[:2] == (4, 5)
    assert np.isfinite(found).all()
    assert (found.std(axis=0) > 0).all()


def test_inputs_from_a_density_estimate_have_rows_of_their_own():
    posterior = nb.martingale_posterior(
        NetworkAlgorithm(SMALL, n_passes=15), (X, Y), inputs="kde", **RUN
    )
    assert np.isfinite(posterior.predict(X[:5])).all()


def test_two_outputs():
    both = np.stack([Y, -Y], axis=1)
    algorithm = NetworkAlgorithm(SMALL, n_passes=15)
    assert nb.martingale_posterior(algorithm, (X, both), **RUN).predict(X[:5]).shape == (4, 5, 2)


def test_divergence_is_reported_and_never_returned():
    # one draw gets a huge step at its second refit: the others are what they would have been
    wild = NetworkAlgorithm(SMALL, n_passes=15, optimiser=Optimiser(rate=1e30))
    with pytest.raises(FloatingPointError, match="training diverged at once"):
        nb.martingale_posterior(wild, (X, Y), **RUN)


class Poisoned(NetworkAlgorithm):
    """Training of draws 1 and 2 gives NaN: of 1 with the first keys only, of 2 always."""

    def _refits(self, examples, models, keys):
        fits = super()._refits(examples, models, keys)
        seen = vars(self).setdefault("seen", [])
        seen.append(None)
        bad = [1, 2] if len(seen) % 2 else [2]
        parameters = np.array(fits.parameters)
        parameters[bad] = np.nan
        return fits._replace(parameters=parameters)


def test_a_draw_that_diverges_is_trained_again_then_given_up():
    algorithm = Poisoned(SMALL, n_passes=5)
    prepared, real = algorithm.prepare(nb.Data.of(X, Y), np.random.default_rng(1))
    streams = Seeds(0).streams(tuple(range(CHUNK)), 0)
    models = prepared.fit([real] * CHUNK, streams.at(0))
    x = [Rows.every(real.table)] * CHUNK
    new = Blocks(x, prepared.sample(models, x, streams.at(1)), 80)
    grown = [real.extend(block, "means") for block in new]
    with pytest.raises(nb.core.protocols.DrawsFailedError) as caught:
        prepared.refit(grown, new, models, streams.at(1))
    assert list(caught.value.errors) == [2]
    assert "training diverged, also with another seed" in str(caught.value.errors[2])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X, np.ones(40)), "y is constant"),
        ((X[:1], Y[:1]), "at least 2 rows"),
        ((np.full((40, 1), np.inf), Y), "contains infinity"),
    ],
)
def test_bad_data_is_refused_in_one_sentence(data, message):
    with pytest.raises(ValueError, match=message):
        nb.martingale_posterior(NetworkAlgorithm(SMALL, n_passes=5), data, **RUN)


def test_a_constant_column_changes_nothing_but_adds_an_input():
    constant = np.column_stack([X, np.full(40, 3.0)])
    posterior = nb.martingale_posterior(NetworkAlgorithm(SMALL, n_passes=5), (constant, Y), **RUN)
    assert np.isfinite(posterior.predict(constant[:3])).all()


@pytest.mark.parametrize("method", ["anchored", "ntkgp", "bootstrap", "parametric_bootstrap"])
def test_baselines_take_networks(method):
    algorithm = NetworkAlgorithm(SMALL, n_passes=15)
    posterior = getattr(nb.baselines, method)(algorithm, (X, Y), **RUN)
    assert posterior.provenance.method == method
    assert (posterior.predict(X[:5]).std(axis=0) > 0).all()


def test_anchored_with_noise_on_y_has_more_spread():
    algorithm = linear(n_passes=500)
    plain, noisy = (
        nb.baselines.anchored(replace(algorithm, noisy_outcomes=each), (X, Y), **RUN)
        for each in (False, True)
    )
    assert noisy.predict(X).std(axis=0).mean() > plain.predict(X).std(axis=0).mean()


def test_the_noise_of_anchored_networks_is_learned_without_the_pull_of_the_prior():
    algorithm, data = NetworkAlgorithm(SMALL, max_passes=300), Data.of(X, Y)
    plain, anchored = (
        each.prepare(data, np.random.default_rng(0))[0]
        for each in (algorithm, algorithm.for_method("anchored"))
    )
    assert anchored.noise == plain.noise
    assert len(anchored.stopping.curve) != len(plain.stopping.curve)  # its passes are its own


def test_a_posterior_of_the_prior_is_refused_elsewhere():
    with pytest.raises(TypeError, match="needs draws of a prior"):
        nb.baselines.ntkgp(nb.gp.RandomFeatureGP(), (X, Y), **RUN)


def test_batches_have_equal_sizes():
    assert Batches.of(130, 64) == Batches(44, 3)


def test_models_are_chosen_like_a_list():
    models = NetworkModels(np.ones((3, 2)), np.arange(3.0), np.ones((3, 2)))
    assert models[1].noise == 1.0
    assert models[np.array([2, 0])].noise.tolist() == [2.0, 0.0]
