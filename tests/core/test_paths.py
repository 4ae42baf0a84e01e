"""Methods as paths: what each draw is fitted to."""

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.core.data import Data, Repeated
from nearbayes.core.inputs import KDE, Urn
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Bootstrap, Ensemble, ParametricBootstrap, checked_inputs
from nearbayes.core.seeds import Seeds
from nearbayes.core.state import State

Z = np.random.default_rng(0).normal(size=20)
X = np.random.default_rng(1).normal(size=(20, 2))


class Rows(nb.Algorithm):
    """The model is the rows that it was fitted to."""

    def fit(self, data, rng):
        return data

    def sample(self, model, x, rng):
        return 100 + rng.random(len(x))


def begun(path, n_draws=3):
    state = State(Seeds(0).streams(range(n_draws), 0), 0, Repeated(Data.of(X, Z), n_draws))
    algorithm = as_chunks(Rows())
    return algorithm, path.start(algorithm, state, lambda state: list(state.data))


def test_bootstrap_fits_n_rows_resampled_from_the_real_ones():
    _, state = begun(Bootstrap())
    for data in state.models:
        assert len(data.y) == 20
        assert set(data.y) < set(Z)
        assert data.real is None
    assert not np.array_equal(state.models[0].y, state.models[1].y)


def test_parametric_bootstrap_fits_n_imputed_rows_alone():
    algorithm, state = begun(ParametricBootstrap(Urn()))
    end = ParametricBootstrap(Urn()).step(algorithm, state)
    for data in end.models:
        assert len(data.y) == 20
        assert (data.y >= 100).all()
        assert data.n == 20


def test_parametric_bootstrap_of_a_family_has_its_sampling_variance():
    """The mean of n observations with unit variance: sd 1 / sqrt(n), to 4.5 errors."""
    mle = nb.SequentialMLE(nb.families.Gaussian(1.0))
    posterior = nb.baselines.parametric_bootstrap(mle, Z, n_draws=5000, random_state=0)
    draws = posterior.apply(lambda theta: theta[0]).values
    assert abs(draws.std() * np.sqrt(20) - 1) < 4.5 / np.sqrt(2 * 5000)
    assert abs(draws.mean() - Z.mean()) < 4.5 / np.sqrt(20 * 5000)


def test_bootstrap_of_a_family_has_the_variance_of_resampled_means():
    mle = nb.SequentialMLE(nb.families.Gaussian(1.0))
    posterior = nb.baselines.bootstrap(mle, Z, n_draws=2500, random_state=0)
    draws = posterior.apply(lambda theta: theta[0]).values
    assert abs(draws.std() / (Z.std() / np.sqrt(20)) - 1) < 4.5 / np.sqrt(2 * 2500)


def test_an_ensemble_is_its_first_fits():
    _, state = begun(Ensemble())
    assert all(np.array_equal(data.y, Z) for data in state.models)
    assert Ensemble().n_steps == 0


def test_checked_inputs():
    data = Data.of(X, Z)
    assert isinstance(checked_inputs(None, data)[0], Urn)
    assert checked_inputs("kde", data) == (KDE(), data)
    assert checked_inputs(None, Data.of(Z))[0] is None
    with pytest.raises(ValueError, match="inputs must be None for data without X"):
        checked_inputs("urn", Data.of(Z))
