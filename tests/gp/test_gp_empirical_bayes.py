"""Empirical Bayes: its likelihood, its counts, its posteriors, and numbers that try to break it."""

import jax
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.core.seeds import Seeds
from nearbayes.gp.empirical_bayes import EmpiricalBayesAlgorithm
from nearbayes.gp.marginal import (
    FLATTEST,
    SHORTEST,
    Collapsed,
    Model,
    _believed,
    factored,
    negative_log_marginal,
    predicted,
)
from nearbayes.gp.process import SLACK, FittedMany, fitted_many

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 6, (40, 2))
Y = 100 + 30 * np.sin(X[:, 0]) + 5 * RNG.normal(size=40)
NEW = RNG.uniform(0, 6, (9, 2))
GP = nb.gp.EmpiricalBayesGP
RUN = {"n_draws": 4, "n_refits": 2, "random_state": 0}


def log_marginal(model, logs, *data):
    with jax.enable_x64(True):
        collapsed = Collapsed(*(np.asarray(part, dtype=float) for part in data))
        return -float(negative_log_marginal(model, np.asarray(logs), collapsed))


def test_counts_are_repeated_rows_in_the_likelihood():
    model, logs = Model("matern32", 1.0, 0.01), [0.2, -0.3, -0.5]
    times = RNG.integers(1, 4, 12)
    y = [RNG.normal(size=k) for k in times]
    rows = np.repeat(X[:12], times, axis=0)
    whole = log_marginal(model, logs, rows, np.concatenate(y), np.ones(times.sum()), 0.0)
    within = sum(((part - part.mean()) ** 2).sum() for part in y)
    mean = [part.mean() for part in y]
    assert log_marginal(model, logs, X[:12], mean, times, within) == pytest.approx(whole, rel=1e-9)
    matrix = np.asarray(Matern(SHORTEST + np.exp([0.2, -0.3]), nu=1.5)(rows))
    matrix = matrix + (0.01**2 + np.exp(-1.0)) * np.eye(len(rows))
    exact = multivariate_normal(np.zeros(len(rows)), matrix).logpdf(np.concatenate(y))
    assert whole * len(rows) == pytest.approx(exact, rel=1e-9)


def test_a_search_that_goes_to_no_length_at_all_keeps_its_digits():
    # a column of few values, as naval has, can be told apart at any length scale however short
    rng = np.random.default_rng(3)
    x = np.stack([rng.integers(-1, 2, 60) * 1.2345, rng.normal(size=60)], axis=1)
    y, new = rng.normal(size=60), x[:5] + np.array([0.0, 0.01])
    logs = np.array([-18.0, 0.0, -5.0])
    with jax.enable_x64(True):
        data = Collapsed(x[None], y[None], np.ones((1, 60)), np.zeros(1))
        model = Model("matern32", 1.0, 0.01)
        factors = factored(model, logs[None], data)
        mean, _, noise = predicted(model, logs[None], factors, x[None], new[None])
    kernel = Matern(SHORTEST + np.exp(logs[:2]), nu=1.5)
    exact = kernel(new, x) @ np.linalg.solve(kernel(x) + float(noise[0]) * np.eye(60), y)
    # squared distances of 1e6 with 16 digits, over a noise variance of 1e-4
    np.testing.assert_allclose(mean[0], exact, rtol=1e-5)


def test_padding_changes_nothing():
    part = Collapsed(X[:5], Y[:5] / 100, np.array([3.0, 1, 1, 2, 1]), 0.4)
    model, logs = Model("matern52", None, 0.01), [0.1, 0.1, -1.0, 0.3]
    values = [log_marginal(model, logs, *part.padded(size)) for size in (5, 6, 11)]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)
    assert len(part.padded(11).mean) == 11
    assert part.padded(11).count.sum() == pytest.approx(8)


def test_it_finds_what_scikit_learn_finds():
    ours = GP(variance=1.0, noise_floor=1e-4, scale_penalty=0.0, tolerance=1e-6).fit(X, Y)
    scale = Y.std()
    kernel = Matern([1.0, 1.0], (1e-3, 1e5), nu=1.5) + WhiteKernel(1.0)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = GaussianProcessRegressor(kernel).fit(rows, (Y - Y.mean()) / scale)
    expected = theirs.log_marginal_likelihood_value_ - 40 * np.log(scale)
    assert ours.log_marginal_likelihood_ == pytest.approx(expected, abs=1e-3)
    mean, sd = ours.predict(NEW, return_std=True)
    new = (NEW - X.mean(axis=0)) / X.std(axis=0)
    their_mean, their_sd = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(mean, Y.mean() + scale * their_mean, rtol=1e-3)
    np.testing.assert_allclose(sd, scale * their_sd, rtol=1e-2)


def test_units_do_not_matter():
    plain, wild = GP().fit(X, Y), GP().fit(1e6 + 1e-3 * X, 1e9 + 1e12 * Y)
    # to the digits that 1e9 + 1e12 y keeps
    mean, sd = wild.predict(1e6 + 1e-3 * NEW, return_std=True)
    expected, expected_sd = plain.predict(NEW, return_std=True)
    np.testing.assert_allclose((mean - 1e9) / 1e12, expected, rtol=1e-4)
    np.testing.assert_allclose(sd / 1e12, expected_sd, rtol=1e-3)
    np.testing.assert_allclose(wild.length_scale_ * 1e3, plain.length_scale_, rtol=0.05)


def test_weights_count_rows():
    times = np.arange(40) % 3
    counted = GP(tolerance=1e-6).fit(X, Y, sample_weight=times)
    repeated = GP(tolerance=1e-6).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(counted.predict(NEW), repeated.predict(NEW), rtol=1e-3)


def test_single_precision_is_near_double():
    single, double = (GP(precision=name).fit(X, Y) for name in ("float32", "float64"))
    np.testing.assert_allclose(single.predict(NEW), double.predict(NEW), rtol=0.02)
    assert not jax.config.jax_enable_x64


def test_restarts_are_never_worse():
    given = {"random_state": 0, "scale_penalty": 0.0}
    one, many = GP(**given).fit(X, Y), GP(n_restarts=4, **given).fit(X, Y)
    assert many.log_marginal_likelihood_ >= one.log_marginal_likelihood_ - 1e-6


def test_noise_is_not_learned_by_heart():
    """Where no column matters, the likelihood alone is largest for a fit through every row."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    penalised, alone = GP().fit(x, y), GP(scale_penalty=0.0).fit(x, y)
    assert alone.noise_ < 0.5 * y.std()
    assert penalised.noise_ > 0.8 * y.std()
    lost = alone.log_marginal_likelihood_ - penalised.log_marginal_likelihood_
    spared = np.sum(x.std(axis=0) / alone.length_scale_ - x.std(axis=0) / penalised.length_scale_)
    assert 0 < lost < spared  # the objective is the likelihood less the penalty


def test_the_penalty_hardly_moves_a_clear_signal():
    penalised, alone = GP().fit(X, Y), GP(scale_penalty=0.0).fit(X, Y)
    np.testing.assert_allclose(penalised.predict(NEW), alone.predict(NEW), atol=0.1 * Y.std())


@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap", "ensemble"])
def test_every_method(method):
    model = nb.PosteriorRegressor(GP(initial="random"), method=method, **RUN).fit(X, Y)
    assert isinstance(model.posterior_.algorithm, EmpiricalBayesAlgorithm)
    assert model.posterior_.predict(NEW).shape == (4, 9)
    assert len({each.noise_ for each in model.estimators_}) == 4
    mean, sd = model.predict(NEW, return_std=True)
    parts = [each.predict(NEW, return_std=True) for each in model.estimators_]
    np.testing.assert_allclose(mean, np.mean([part[0] for part in parts], axis=0), rtol=1e-9)
    variance = np.var([part[0] for part in parts], axis=0) + np.mean(
        [part[1] ** 2 for part in parts], axis=0
    )
    np.testing.assert_allclose(sd, np.sqrt(variance), rtol=1e-6)
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


# with an urn: a law, tests/contracts
@pytest.mark.parametrize("inputs", ["kde", nb.inputs.Pool(NEW)], ids=["kde", "pool"])
def test_draws_together_are_draws_one_by_one(inputs):
    algorithm, data = EmpiricalBayesAlgorithm(GP(initial="random")), (X, Y)
    run = {"inputs": inputs, "schedule": nb.Schedule.arithmetic(horizon=1.0, block=0.5)}
    together = nb.martingale_posterior(algorithm, data, n_draws=3, random_state=1, **run)
    first = nb.martingale_posterior(algorithm, data, n_draws=1, random_state=1, **run)
    np.testing.assert_array_equal(together.predict(NEW)[0], first.predict(NEW)[0])


def test_a_search_that_starts_at_another_fit_ends_where_others_end():
    model = nb.PosteriorRegressor(GP(tolerance=1e-6), n_draws=2, random_state=0).fit(X, Y)
    algorithm, first = model.posterior_.chunks, model.posterior_.first
    data = [algorithm.coded(Data.of(X[rows], Y[rows])) for rows in (X[:, 0] < 5, X[:, 0] > 1)]
    streams = Seeds(0).streams(range(2), 0).at(0)
    cold, warm = algorithm.fit(data, streams), algorithm.fit_near(data, [first] * 2, streams)
    np.testing.assert_allclose(
        algorithm.predict(warm, X), algorithm.predict(cold, X), atol=1e-3 * np.std(Y)
    )


def test_urn_rows_are_counted_not_repeated():
    algorithm = EmpiricalBayesAlgorithm(GP())
    posterior = nb.martingale_posterior(algorithm, (X, Y), n_draws=2, random_state=0)
    data = posterior.models[0].data
    assert data.x.shape == (40, 2)
    assert data.count.sum() == 40 + sum(posterior.provenance.blocks)


def test_predictions_may_be_all_that_is_kept():
    model = nb.PosteriorRegressor(GP(), **RUN).fit(X, Y, predict_on=NEW)
    whole = nb.PosteriorRegressor(GP(), **RUN).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-9)
    np.testing.assert_allclose(model.predict_interval(NEW), whole.predict_interval(NEW), rtol=1e-9)


def test_calibration_can_be_asked_for():
    model = nb.PosteriorRegressor(GP(), calibration="simulation", **RUN).fit(X, Y)
    assert model.calibration_ is not None
    assert nb.PosteriorRegressor(GP(), **RUN).fit(X, Y).calibration_ is None


def test_other_noise_goes_around_it_as_around_any_regressor():
    run = {"n_draws": 2, "n_refits": 1, "random_state": 0, "calibration": None}
    model = nb.PosteriorRegressor(GP(), noise="residual", **run)
    assert type(model.fit(X, Y).posterior_.algorithm).__name__ == "RegressorAlgorithm"


def test_hyperparameters_are_taken_to_other_data():
    model = GP().fit(X, Y)
    same = model.condition(X, Y)
    np.testing.assert_allclose(same.predict(NEW), model.predict(NEW), rtol=1e-9)
    assert same.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_)
    half = model.condition(X[:20], Y[:20])
    np.testing.assert_array_equal(half.length_scale_, model.length_scale_)
    assert half.noise_ == model.noise_
    length, noise, variance = half.length_scale_, half.noise_**2, half.variance_
    matrix = variance * Matern(length, nu=1.5)(X[:20]) + noise * np.eye(20)
    cross = variance * Matern(length, nu=1.5)(NEW, X[:20])
    centre = Y.mean()
    exact = centre + cross @ np.linalg.solve(matrix, Y[:20] - centre)
    np.testing.assert_allclose(half.predict(NEW), exact, rtol=1e-6)


def test_draws_given_the_real_rows_differ_in_hyperparameters_only():
    model = nb.PosteriorRegressor(GP(), **RUN).fit(X, Y)
    for draw in model.posterior_.draws:
        given = draw.condition(X, Y)
        np.testing.assert_array_equal(given.length_scale_, draw.length_scale_)
        _, narrow = draw.predict(X, return_std=True)
        _, wide = given.predict(X, return_std=True)
        assert (narrow < wide + 1e-9).all()  # imputed rows say more


def standardised(rows):
    return Collapsed(X[:rows] / 6, (Y[:rows] - 100) / 30, np.ones(rows), 0.0)


def test_a_refit_that_knows_the_curvature_ends_where_others_end_sooner():
    process = GP(tolerance=1e-7, scale_penalty=0.0)
    before = fitted_many(process, np.zeros((1, 1, 4)), [standardised(35)])
    starts, data = before[0].logs[None, None], [standardised(40)]
    stricter = GP(tolerance=1e-7 / SLACK, scale_penalty=0.0)
    knowing = fitted_many(stricter, starts, data, before=before)[0]
    afresh = fitted_many(process, starts, data)[0]
    assert knowing.value == pytest.approx(afresh.value, abs=1e-9)
    np.testing.assert_allclose(knowing.logs, afresh.logs, atol=1e-3)
    assert knowing.steps < 0.7 * afresh.steps


def test_flat_directions_are_not_followed_far():
    with jax.enable_x64(True):
        values = np.linalg.eigvalsh(_believed(np.diag([1e9, 2.0, -1.0])))
    np.testing.assert_allclose(values, [FLATTEST, 2.0, 1 / FLATTEST])


HARD = {
    "duplicate rows": (np.repeat(X[:10], 4, axis=0), Y),
    "rows that nearly agree": (X[:1] + 1e-9 * np.arange(40)[:, None], Y),
    "a constant column": (np.column_stack([X[:, 0], np.full(40, 7.0)]), Y),
    "only constant columns": (np.ones((40, 2)), Y),
    "no noise": (X, X[:, 0]),
    "two rows": (X[:2], Y[:2]),
    "two equal rows": (np.ones((2, 2)), np.array([0.0, 1.0])),
    "far rows": (np.concatenate([X[:39], [[1e8, -1e8]]]), Y),
    "large numbers": (1e150 * X, 1e150 * Y),
    "small numbers": (1e-150 * X, 1e-150 * Y),
    "many columns": (RNG.normal(size=(40, 60)), Y),
    "an outlier": (X, np.append(Y[:39], 1e9)),
}


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", HARD)
def test_numbers_that_are_hard(name, precision):
    rows, outcomes = HARD[name]
    model = GP(precision=precision)
    mean, sd = model.fit(rows, outcomes).predict(rows, return_std=True)
    assert np.isfinite(mean).all()
    assert (sd > 0).all()
    assert np.isfinite(sd).all()


@pytest.mark.parametrize("name", HARD)
def test_posteriors_of_numbers_that_are_hard(name):
    rows, outcomes = HARD[name]
    model = nb.PosteriorRegressor(GP(), n_draws=2, n_refits=2, random_state=0).fit(rows, outcomes)
    interval = model.predict_interval(rows)
    assert np.isfinite(interval).all()
    assert (interval[:, 0] < interval[:, 1]).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kernel": "cubic"}, "kernel must be one of"),
        ({"variance": 0.0}, "variance must be None or a positive number"),
        ({"noise_floor": 0.0}, "noise_floor must be between 0 and 1"),
        ({"scale_penalty": -1.0}, "scale_penalty must be a number, 0 or more"),
        ({"initial": "best"}, "initial must be 'default' or 'random'"),
        ({"precision": "float16"}, "precision must be 'float64' or 'float32'"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(ValueError, match=says):
        GP(**settings).fit(X, Y)


def test_bad_data():
    with pytest.raises(ValueError, match="y must not be constant"):
        GP().fit(X, np.ones(40))
    with pytest.raises(ValueError, match="NaN"):
        GP().fit(np.where(X > 5, np.nan, X), Y)
    with pytest.raises(ValueError, match="small enough that their squares are"):
        GP().fit(1e200 * X, Y)
    with pytest.raises(TypeError, match="EmpiricalBayesGP needs numeric columns"):
        nb.PosteriorRegressor(GP()).fit(pd.DataFrame({"a": ["x"] * 40}), Y)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nearbayes.gp.exact", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nearbayes\[jax\]'"):
        nb.gp.exact_posterior  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nb.gp.nothing  # noqa: B018


@pytest.mark.parametrize("tolerance", [1e9, 1e-4])  # a search that ends where it starts, or moves
def test_a_fit_comes_with_the_factors_of_its_optimum(tolerance):
    process = nb.gp.EmpiricalBayesGP(tolerance=tolerance)
    part = Collapsed(X, Y, np.ones(len(Y)), 0.0)
    fits = fitted_many(process, np.zeros((2, 1, 4)), [part, part._replace(mean=-Y + 0.1 * X[:, 0])])
    assert (fits.steps == 0).all() == (tolerance > 1)
    afresh = FittedMany.of(list(fits), process)
    for name in ("root", "white"):
        found, again = (np.asarray(getattr(each.factors, name)) for each in (fits, afresh))
        np.testing.assert_allclose(found, again, rtol=1e-9, atol=1e-12)
