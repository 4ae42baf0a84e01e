"""Sequential MAP with random features: its updates are its definition, its spread the exact one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import nearbayes as nb
from nearbayes.core.data import Blocks, Repeated, Rows
from nearbayes.core.seeds import Seeds
from nearbayes.gp.sequential_map import FeatureModel

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 6, (40, 1)), axis=0)
Y = np.sin(X[:, 0]) + 0.5 * RNG.normal(size=40)
GRID = np.linspace(0.5, 5.5, 21)[:, None]
FAR = np.array([[-30.0], [40.0]])


def streams(n_draws):
    return Seeds(4).streams(range(n_draws), 0)


def prepared(**settings):
    process = nb.gp.RandomFeatureGP(noise=0.5, n_features=60, **settings)
    return process.prepare(nb.Data.of(X, Y), np.random.default_rng(3))


@pytest.mark.parametrize("proximal", [None, 0.7])
def test_a_refit_is_the_minimum_of_its_objective(proximal):
    process, data = prepared(proximal=proximal)
    models = process.fit(Repeated(data, 2), streams(2))
    x, y = Rows.every(np.array([[1.0], [9.0], [1.0]])), np.array([1.0, 2.0, 0.0])
    new = Blocks([x, x], np.stack([y, y]), 43)
    again = process.refit(Repeated(data, 2), new, models, streams(2))
    first, second = models[1], again[1]
    phi, psi = process._features(data.x), process._features(x.values)
    weight = 0.25 if proximal is None else proximal
    step = second.weights - first.weights
    # old rows at what the model said, new ones at y, and the weights near the old ones
    gradient = phi.T @ (phi @ step) + psi.T @ (psi @ second.weights - y) + weight * step
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    precision = phi.T @ phi + psi.T @ psi + weight * np.eye(60)
    np.testing.assert_allclose(second.inverse @ precision, np.eye(60), atol=1e-8)


def test_the_first_fit_from_zero_is_ridge_regression():
    process, data = prepared(initial="zero")
    (weights,) = process.fit([data], streams(1)).weights
    phi = process._features(data.x)
    expected = np.linalg.solve(phi.T @ phi + 0.25 * np.eye(60), phi.T @ data.y)
    np.testing.assert_allclose(weights, expected, rtol=1e-8)


def test_counts_are_repeated_rows():
    process, _ = prepared(initial="zero")
    times = np.arange(40) % 3 + 1
    counted = nb.Data.of(X, Y, times)
    repeated = nb.Data.of(np.repeat(X, times, axis=0), np.repeat(Y, times))
    one, two = process.fit([counted, repeated], streams(2)).weights
    np.testing.assert_allclose(one, two, rtol=1e-7)


def test_draws_do_not_depend_on_each_other():
    process = nb.gp.RandomFeatureGP(noise=0.5)
    run = {"schedule": nb.Schedule.optimal(refits=3), "random_state": 1}
    few, many = (nb.martingale_posterior(process, (X, Y), n_draws=k, **run) for k in (2, 5))
    np.testing.assert_array_equal(few.predict(GRID), many.predict(GRID)[:2])
    again = nb.martingale_posterior(process, (X, Y), n_draws=5, **run)
    np.testing.assert_array_equal(again.predict(GRID), many.predict(GRID))


def test_the_same_rows_for_all_draws_are_fitted_as_rows_of_each():
    process, data = prepared()
    same, apart = process.fit(Repeated(data, 3), streams(3)), process.fit([data] * 3, streams(3))
    np.testing.assert_allclose(same.weights, apart.weights, rtol=1e-9)
    np.testing.assert_allclose(same.inverse, apart.inverse, rtol=1e-9)


def test_matrices_are_not_kept():
    posterior = nb.martingale_posterior(
        nb.gp.RandomFeatureGP(n_features=20), (X, Y), n_draws=2, random_state=0
    )
    assert isinstance(posterior.models[0], FeatureModel)
    assert posterior.models[0].inverse is None
    assert posterior.provenance.versions["jax"]


# An sd of 200 draws is known to 1 / sqrt(400) = 5 %, their mean over correlated points to not
# much less: the bounds, .9 to 1.1 at rows and .85 to 1.2 far from them, are two errors.
@pytest.mark.parametrize("inputs", [nb.inputs.Urn(), nb.inputs.Uniform(0, 6)], ids=["urn", "box"])
def test_the_spread_is_that_of_the_exact_posterior(inputs):
    posterior = nb.martingale_posterior(
        nb.gp.RandomFeatureGP(noise=0.5, n_features=120),
        (X, Y),
        n_draws=200,
        schedule=nb.Schedule.arithmetic(horizon=6.0, block=0.1),
        inputs=inputs,
        random_state=0,
    )
    _, sd = nb.gp.exact_posterior(X, Y, X, noise=0.5)
    values = posterior.predict(X)
    ratio = values.std(axis=0, ddof=1) / sd
    assert 0.9 < ratio.mean() * posterior.inflation < 1.1
    ridge = replace(posterior.algorithm, initial="zero").fit([nb.Data.of(X, Y)], streams(1))
    error = values.mean(axis=0) - posterior.algorithm.predict(ridge, X)[0]
    assert (np.abs(error) < 4 * values.std(axis=0) / np.sqrt(200)).all()
    far = posterior.predict(FAR).std(axis=0, ddof=1)  # where the prior is: 1
    assert ((far > 0.85) & (far < 1.2)).all()


def test_from_zero_there_is_no_uncertainty_far_away():
    process = nb.gp.RandomFeatureGP(noise=0.5, n_features=300, initial="zero")
    posterior = nb.martingale_posterior(process, (X, Y), n_draws=50, random_state=0)
    assert posterior.predict(FAR).std(axis=0).max() < 0.5


def test_anchored_draws_know_too_much_where_there_is_data():
    posterior = nb.baselines.anchored(
        nb.gp.RandomFeatureGP(noise=0.5, n_features=300), (X, Y), n_draws=200, random_state=0
    )
    _, sd = nb.gp.exact_posterior(X, Y, GRID, noise=0.5)
    ratio = posterior.predict(GRID).std(axis=0, ddof=1) / sd
    assert ratio.mean() < 0.6
    assert posterior.provenance.method == "anchored"
    with pytest.raises(TypeError, match="anchored needs"):
        nb.baselines.anchored(nb.gp.RandomFeatureGP(initial="zero"), (X, Y))


def test_frames_and_several_columns():
    frame = pd.DataFrame(RNG.normal(size=(30, 2)), columns=["a", "b"])
    process = nb.gp.RandomFeatureGP("rbf", length_scale=[1.0, 2.0], n_features=40)
    posterior = nb.martingale_posterior(
        process, (frame, frame["a"].to_numpy()), n_draws=3, inputs="kde", random_state=0
    )
    assert posterior.predict(frame).shape == (3, 30)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kernel": "cubic"}, "kernel must be one of matern12"),
        ({"noise": 0.0}, "noise must be a positive number"),
        ({"variance": -1.0}, "variance must be a positive number"),
        ({"proximal": 0.0}, "proximal must be a positive number"),
        ({"n_features": 3}, "n_features must be an even integer"),
        ({"initial": "one"}, "initial must be 'prior' or 'zero'"),
        ({"length_scale": [1.0, 2.0]}, "length_scale must be a number or have shape"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(ValueError, match=says):
        nb.martingale_posterior(nb.gp.RandomFeatureGP(**settings), (X, Y), n_draws=2)


def test_bad_data():
    process = nb.gp.RandomFeatureGP(n_features=20)
    with pytest.raises(TypeError, match="RandomFeatureGP needs numeric columns"):
        nb.martingale_posterior(process, (pd.DataFrame({"a": ["x"] * 40}), Y), n_draws=2)
    with pytest.raises(ValueError, match="one dimension"):
        nb.martingale_posterior(process, (X, np.stack([Y, Y], axis=1)), n_draws=2)
