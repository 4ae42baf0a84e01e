"""MLPClassifier and MLPRegressor as scikit-learn estimators, alone and inside a posterior."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearbayes as nb

QUICK = {"hidden": (8,), "max_passes": 10, "random_state": 0}
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "folds and minibatches go by row order",
    "check_sample_weight_equivalence_on_sparse_data": "folds and minibatches go by row order",
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=60)


@parametrize_with_checks(
    [
        # without the search for a number of passes, which a classifier does the same way
        nb.neural.MLPRegressor(**QUICK, learning_rate=0.02, n_passes=10),
        nb.neural.MLPClassifier(**QUICK, learning_rate=0.02),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_learning_curves_are_kept():
    model = nb.neural.MLPRegressor(hidden=(8,), random_state=0).fit(X, Y)
    assert len(model.validation_curve_) == len(model.validation_passes_)
    best = model.validation_passes_[np.argmin(model.validation_curve_)]
    assert model.n_passes_ == best


def test_weights_count_rows():
    times = np.arange(60) % 3
    weighted = nb.neural.MLPRegressor(**QUICK, n_passes=10).fit(X, Y, sample_weight=times)
    assert weighted.algorithm_.encoding.numeric.mean == pytest.approx(
        np.average(X, axis=0, weights=times)
    )


def test_noise_of_heteroscedastic_networks_depends_on_x():
    x = np.random.default_rng(1).uniform(-1, 1, size=(400, 1))
    y = np.where(x[:, 0] > 0, 1.0, 0.1) * np.random.default_rng(2).normal(size=400)
    model = nb.neural.MLPRegressor((16,), loss="heteroscedastic", random_state=0).fit(x, y)
    _, sd = model.predict(np.array([[-0.5], [0.5]]), return_std=True)
    assert sd[1] > 3 * sd[0]


def test_counts_have_positive_means():
    y = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    model = nb.neural.MLPRegressor(loss="poisson", **QUICK).fit(X, y)
    assert (model.predict(X) > 0).all()
    with pytest.raises(ValueError, match="y must be at least 0"):
        nb.neural.MLPRegressor(loss="poisson", **QUICK).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": (0,)}, "hidden must be widths"),
        ({"hidden": ()}, "hidden must be widths"),
        ({"activation": "sine"}, "activation must be one of"),
        ({"learning_rate": 0}, "learning_rate must be a positive number"),
        ({"weight_decay": -1}, "weight_decay must be a number of 0 or more"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"max_passes": None}, "max_passes must be a whole number"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"refit_by": "newton"}, "refit_by must be"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        nb.neural.MLPRegressor(**options).fit(X, Y)


def test_frames_with_categories_and_gaps():
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    frame.loc[::5, "x"] = np.nan
    model = nb.PosteriorRegressor(
        nb.neural.MLPRegressor(**QUICK), n_draws=4, calibration=None, random_state=0
    ).fit(frame, Y)
    assert model.predict_interval(frame).shape == (60, 2)
    assert model.estimators_[0].predict(frame).shape == (60,)


@pytest.mark.parametrize("method", ["martingale", "ensemble", "anchored", "ntkgp"])
def test_methods_of_a_classifier(method):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = nb.PosteriorClassifier(
        nb.neural.MLPClassifier(hidden=(8,), max_passes=60),  # too short for random functions
        n_draws=4,
        method=method,
        calibration=None,
        random_state=0,
    ).fit(X, names)
    assert model.score(X, names) > (0.6 if method == "ntkgp" else 0.85)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_architectures(residual, layer_norm):
    model = nb.neural.MLPRegressor(
        (8, 8), residual=residual, layer_norm=layer_norm, n_passes=30, random_state=0
    )
    assert np.isfinite(clone(model).fit(X, Y).predict(X)).all()


def test_files_keep_a_posterior_of_networks(tmp_path):
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    model = nb.PosteriorRegressor(
        nb.neural.MLPRegressor(**QUICK), n_draws=4, calibration=None, random_state=0
    ).fit(frame, Y)
    loaded = nb.load(model.save(tmp_path / "model.nearbayes"))
    np.testing.assert_array_equal(loaded.posterior_.predict(frame), model.posterior_.predict(frame))
    np.testing.assert_array_equal(loaded.predict_interval(frame), model.predict_interval(frame))


@pytest.mark.parametrize("noisy", [False, True])
def test_noise_on_y_is_an_option_of_methods_with_a_prior(noisy):
    algorithm = nb.neural.MLPRegressor((8,), n_passes=5, noisy_outcomes=noisy).algorithm()
    data = nb.Data.of(np.linspace(-1, 1, 30)[:, None], np.arange(30.0))
    fits = nb.baselines.anchored(algorithm, data, n_draws=8, random_state=0).predict(data.x)
    quiet = nb.neural.MLPRegressor((8,), n_passes=5).algorithm()
    others = nb.baselines.anchored(quiet, data, n_draws=8, random_state=0).predict(data.x)
    assert np.array_equal(fits, others) != noisy
