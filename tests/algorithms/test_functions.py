import numpy as np
import pandas as pd
import pytest

import nearbayes as nb
from nearbayes.core.data import Data, Rows

X = np.arange(6.0).reshape(3, 2)
Y = np.array([1.0, 2.0, 6.0])
RNG = np.random.default_rng(0)


def around(model, x, rng):
    return np.full(len(x), model)


def test_fit_gets_inputs_and_outcomes_as_they_are():
    frame = pd.DataFrame(X, columns=["a", "b"])
    algorithm = nb.algorithm(lambda x, y: (x, y), around)
    x, y = algorithm.fit(Data.of(frame, Y), RNG)
    assert x is frame
    assert y is Y


def test_fit_of_observations_alone():
    assert nb.algorithm(np.mean, around).fit(Data.of(Y), RNG) == 3.0


def test_counts_are_written_out_as_rows():
    algorithm = nb.algorithm(lambda x, y: (x[:, 0].tolist(), y.tolist()), around)
    rows, y = algorithm.fit(Data.of(X, Y, [2, 1, 0]), RNG)
    assert (rows, y) == ([0.0, 0.0, 2.0], [1.0, 1.0, 2.0])


def test_rng_reaches_a_random_fit_alone():
    algorithm = nb.algorithm(lambda z, rng: rng, around, randomised=True)
    assert algorithm.randomised
    assert algorithm.fit(Data.of(Y), RNG) is RNG
    plain = nb.algorithm(lambda z: "no rng", around)
    assert not plain.randomised
    assert plain.fit(Data.of(Y), RNG) == "no rng"


def test_refit_is_a_fit_of_all_rows():
    algorithm = nb.algorithm(np.sum, around)
    assert algorithm.refit(Data.of(Y), None, 0.0, RNG) == 9.0


def test_sample_gets_repeated_rows_or_a_size():
    algorithm = nb.algorithm(np.mean, lambda model, x, rng: x[:, 0] + model)
    x = Rows.repeated(X, np.array([0, 2, 1]))
    assert algorithm.sample(1.0, x, RNG).tolist() == [3.0, 3.0, 5.0]
    sized = nb.algorithm(np.mean, lambda model, size, rng: [model] * size)
    assert sized.sample(2.0, Rows.without_inputs(3), RNG).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("returned", [np.zeros(2), np.zeros((2, 3)), 0.0])
def test_a_sample_of_the_wrong_shape(returned):
    algorithm = nb.algorithm(np.mean, lambda model, x, rng: returned)
    with pytest.raises(ValueError, match="sample must return 3 values, got shape"):
        algorithm.sample(0.0, Rows.every(X), RNG)


def test_predict():
    algorithm = nb.algorithm(np.mean, around, predict=lambda model, x: [model] * len(x))
    assert algorithm.predict(2.0, X).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match=r"has no predict: pass predict= to nearbayes"):
        nb.algorithm(np.mean, around).predict(2.0, X)


def test_posterior_without_predict_says_what_to_do():
    algorithm = nb.algorithm(lambda x, y: float(np.mean(y)), around)
    posterior = nb.martingale_posterior(algorithm, (X, Y), n_draws=2, random_state=0)
    with pytest.raises(TypeError, match="has no predict"):
        posterior.predict(X)


def test_draws_of_functions_cannot_be_saved_but_their_values_can(tmp_path):
    algorithm = nb.algorithm(lambda z: float(np.mean(z)), lambda m, size, rng: [m] * size)
    posterior = nb.martingale_posterior(algorithm, Y, n_draws=3, random_state=0)
    with pytest.raises(TypeError, match=r"np.save\(path, posterior.apply\(function\).values\)"):
        posterior.save(tmp_path / "p.nearbayes")
    np.save(tmp_path / "p.npy", posterior.apply(float).values)
    assert np.load(tmp_path / "p.npy").tolist() == list(posterior.draws)


@pytest.mark.parametrize("name", ["fit", "sample"])
def test_functions_must_be_functions(name):
    functions = {"fit": np.mean, "sample": around, name: 3}
    with pytest.raises(TypeError, match=f"{name} must be a function, got 3"):
        nb.algorithm(**functions)


@pytest.mark.parametrize("name", ["randomised", "fully_bayesian"])
def test_flags_of_random_fits(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'yes'"):
        nb.algorithm(np.mean, around, **{name: "yes"})
    with pytest.raises(TypeError, match=f"fit must take the keyword rng with {name}=True"):
        nb.algorithm(lambda z: 0.0, around, **{name: True})
    for fit in (lambda z, *, rng: 0.0, lambda z, **options: 0.0):
        assert nb.algorithm(fit, around, **{name: True}).randomised


def test_predict_must_be_a_function():
    with pytest.raises(TypeError, match="predict must be a function, got 3"):
        nb.algorithm(np.mean, around, predict=3)
