"""Law 9: bad input gets one sentence that names the argument, what it got and what to do."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import nearbayes as nb

X, Y = load_iris(return_X_y=True)
Z = Y.astype(float)


def classifier(**options):
    return nb.PosteriorClassifier(
        **{"estimator": LogisticRegression(max_iter=500), "n_draws": 3, **options}
    )


def regressor(**options):
    return nb.PosteriorRegressor(**{"estimator": LinearRegression(), "n_draws": 3, **options})


def with_value(array, value):
    changed = np.array(array, dtype=object if value is None else float)
    changed[3] = value
    return changed


CASES = {
    "lengths": (
        lambda: classifier().fit(X, Y[:-1]),
        "X and y must have the same length, got 150 rows of X and 149 of y",
    ),
    "lengths_regression": (
        lambda: regressor().fit(X[:-1], Z),
        "X and y must have the same length, got 149 rows of X and 150",
    ),
    "missing_label": (
        lambda: classifier().fit(X, with_value(Y.astype(str), None)),
        "y contains NaN, missing or infinity in 1 places: drop",
    ),
    "missing_y": (
        lambda: regressor().fit(X, with_value(Z, np.nan)),
        "y contains NaN, missing or infinity in 1 places: drop",
    ),
    "infinite_y": (
        lambda: regressor().fit(X, with_value(Z, np.inf)),
        "y contains NaN, missing or infinity in 1 places: drop",
    ),
    "one_class": (
        lambda: classifier().fit(X, np.zeros(150, int)),
        "y must have at least 2 classes, got only the class .*0",
    ),
    "continuous_labels": (
        lambda: classifier().fit(X, Z + 0.5 * np.random.default_rng(0).normal(size=150)),
        "continuous",
    ),
    "constant_y": (
        lambda: regressor().fit(X, np.full(150, 2.5)),
        r"y is constant \(2.5 in every row\)",
    ),
    "one_row": (
        lambda: regressor().fit(X[:1], Z[:1]),
        "a posterior needs at least 2 rows, got n_samples=1",
    ),
    "one_row_classifier": (
        lambda: classifier().fit(X[:1], Y[:1]),
        "a posterior needs at least 2 rows, got n_samples=1",
    ),
    "no_predict_proba": (
        lambda: classifier(estimator=LinearSVC()).fit(X, Y),
        "estimator must have predict_proba, but LinearSVC",
    ),
    "no_draws": (
        lambda: classifier(n_draws=0).fit(X, Y),
        "n_draws must be a whole number, 1 or more, got 0",
    ),
    "half_a_draw": (
        lambda: classifier(n_draws=1.5).fit(X, Y),
        "n_draws must be a whole number, 1 or more, got 1.5",
    ),
    "negative_refits": (
        lambda: classifier(n_refits=-1).fit(X, Y),
        "refits must be a whole number, 0 or more, got -1",
    ),
    "unknown_method": (
        lambda: classifier(method="magic").fit(X, Y),
        "method must be one of martingale.* got 'magic'",
    ),
    "unknown_inputs": (
        lambda: classifier(inputs="vase").fit(X, Y),
        "inputs must be 'urn', 'kde' .* got 'vase'",
    ),
    "inputs_class": (
        lambda: classifier(inputs=nb.inputs.Uniform).fit(X, Y),
        "inputs must be .* such as",
    ),
    "unknown_schedule": (
        lambda: classifier(schedule="soon").fit(X, Y),
        "schedule must be None, 'auto' or a Schedule.* got 'soon'",
    ),
    "unknown_noise": (
        lambda: regressor(noise="pink").fit(X, Z),
        "noise must be one of 'auto'.* got 'pink'",
    ),
    "unknown_on_error": (
        lambda: classifier(on_error="hide").fit(X, Y),
        "on_error must be 'report' or 'raise', got 'hide'",
    ),
    "unknown_kind": (
        lambda: regressor().fit(X, Z).predict_interval(X, kind="tight"),
        "kind must be 'predictive', 'credible' or 'conformal', got 'tight'",
    ),
    "own_noise_of_none": (
        lambda: regressor(noise="estimator").fit(X, Z),
        "noise='estimator' needs .* LinearRegression has neither",
    ),
    "negative_weight": (
        lambda: classifier().fit(X, Y, sample_weight=np.where(Y == 0, -1.0, 1.0)),
        "sample_weight must be finite and not negative, got a minimum of -1",
    ),
    "zero_weights": (
        lambda: classifier().fit(X, Y, sample_weight=np.zeros(150)),
        "sample_weight is all zero",
    ),
    "weights_that_sum_to_one": (
        lambda: classifier().fit(X, Y, sample_weight=np.full(150, 1 / 150)),
        "weights that sum to 1: .*weight 2 means the row twice",
    ),
    "weights_of_wrong_length": (
        lambda: classifier().fit(X, Y, sample_weight=np.ones(3)),
        r"one weight per row: got sample_weight.shape \(3,\), expected \(150,\)",
    ),
    "fractions_without_weights": (
        lambda: classifier(estimator=KNeighborsClassifier()).fit(
            X, Y, sample_weight=np.full(150, 0.5)
        ),
        "whole numbers for an algorithm that takes no weights",
    ),
    "coverage_in_percent": (
        lambda: classifier().fit(X, Y).predict_interval(X, coverage=90),
        "coverage must lie strictly between 0 and 1, got 90",
    ),
    "quantile": (
        lambda: regressor().fit(X, Z).predict_quantiles(X, [0.0, 0.5]),
        "quantiles must lie strictly between 0 and 1",
    ),
    "one_dimension": (
        lambda: classifier().fit(X[:, 0], Y),
        r"X must have rows and columns, got shape \(150,\). Reshape your data",
    ),
    "columns_at_prediction": (
        lambda: classifier().fit(X, Y).predict(X[:, :2]),
        "X has 2 features, but PosteriorClassifier is expecting 4",
    ),
    "random_state": (
        lambda: classifier(random_state="dice").fit(X, Y),
        "random_state must be None, an integer, .* got str",
    ),
    "negative_seed": (
        lambda: classifier(random_state=-3).fit(X, Y),
        "random_state must not be negative, got -3",
    ),
    "pool_columns": (
        lambda: classifier(inputs=nb.inputs.Pool(X[:, :2])).fit(X, Y),
        r"Pool\(X\) must have rows, and the columns of the training X",
    ),
    "box_upside_down": (
        lambda: classifier(inputs=nb.inputs.Uniform(1, 0)).fit(X, Y),
        "finite low below high",
    ),
    "box_of_wrong_size": (
        lambda: classifier(inputs=nb.inputs.Uniform([0, 0], 1)).fit(X, Y),
        "one bound per column: X has 4 columns",
    ),
    "bandwidth": (
        lambda: classifier(inputs=nb.inputs.KDE("wide")).fit(X, Y),
        "bandwidth must be 'scott', 'silverman' or a positive number, got 'wide'",
    ),
    "kde_of_text": (
        lambda: classifier(inputs="kde").fit(X.astype(str), Y),
        "inputs.KDE needs numeric columns",
    ),
    "unknown_calibration": (
        lambda: classifier(calibration="magic").fit(X, Y),
        "calibration must be None, 'auto' or 'simulation', got 'magic'",
    ),
    "auto_with_samples_only": (
        lambda: regressor(
            noise=lambda mean, x, rng: mean + rng.normal(size=len(mean)), schedule="auto"
        ).fit(X, Z),
        "schedule='auto' needs a predictive density",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    action, message = CASES[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        action()
    assert "\n" not in str(caught.value)


def test_bad_values_inside_x_are_the_estimators_to_refuse():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        classifier().fit(np.where(np.isclose(X, X[0, 0]), np.nan, X), Y)
