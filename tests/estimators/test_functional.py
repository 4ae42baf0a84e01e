"""Functionals of a fitted model: one answer, calibrated where truths are known, and faults."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier

import nearbayes as nb
from nearbayes.core.engine import DrawWarning
from nearbayes.draws.credible import on_link_scale, reach_of
from nearbayes.estimators import face as face_module

RNG = np.random.default_rng(8)
X = RNG.normal(size=(90, 3))
Y = np.where(X[:, 0] + RNG.logistic(size=90) > 0, "yes", "no")
Z = X[:, 0] + RNG.normal(size=90)
FEW = {"n_draws": 10, "random_state": 0, "progress": False}


def chance(fitted):
    return fitted.predict_proba(X[:5])[:, 1]


def level(fitted):
    return fitted.predict(X[:5])


@pytest.fixture(scope="module")
def classifier():
    return nb.PosteriorClassifier(DecisionTreeClassifier(max_depth=3), **FEW).fit(X, Y)


@pytest.fixture(scope="module")
def regressor():
    return nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=3), **FEW).fit(X, Z)


@pytest.fixture(scope="module")
def linear():
    return nb.PosteriorRegressor(LinearRegression(), **FEW).fit(X, Z)


@pytest.mark.parametrize("spread", [None, "raw", "inflated", "calibrated"])
@pytest.mark.parametrize("coverage", [0.9, [0.5, 0.99]])
def test_model_and_posterior_give_one_answer(classifier, regressor, spread, coverage):
    np.testing.assert_array_equal(
        classifier.predict_interval(X, coverage, spread=spread),
        classifier.posterior_.interval(X, coverage, spread=spread),
    )
    np.testing.assert_array_equal(
        regressor.predict_interval(X, coverage, kind="credible", spread=spread),
        regressor.posterior_.predictions(X).interval(coverage, spread=spread),
    )


def test_model_and_posterior_give_one_functional(classifier):
    ours, theirs = classifier.functional(chance), classifier.posterior_.apply(chance)
    np.testing.assert_array_equal(ours.interval(), theirs.interval())
    assert ours.spread == theirs.spread == classifier.posterior_.spread == "calibrated"
    assert ours.summary()["spread"] == "calibrated"
    assert "intervals: calibrated on" in classifier.posterior_.summary()


@pytest.mark.parametrize("link", ["identity", "logit"])
def test_intervals_of_functionals_are_nested_by_kind_and_hold_the_mean(classifier, link):
    found = classifier.functional(chance, link=link)
    for coverage in (0.1, 0.5, 0.9, 0.99):
        raw, inflated, best = (
            found.interval(coverage, spread=kind) for kind in ("raw", "inflated", "calibrated")
        )
        for inner, outer in ((raw, inflated), (inflated, best)):
            assert (outer[:, 0] <= inner[:, 0] + 1e-12).all()
            assert (outer[:, 1] >= inner[:, 1] - 1e-12).all()
        assert (best[:, 0] <= found.mean).all()
        assert (best[:, 1] >= found.mean).all()
        np.testing.assert_array_equal(best, found.interval(coverage))


def test_draws_are_spread_as_far_as_intervals_reach(classifier, regressor):
    for model in (classifier, regressor):
        found, start = model.posterior_.predictions(X), model.calibration_.start
        draws, bounds = found.adjusted(), found.interval(0.9)
        scaled, ends = (on_link_scale(each, found.link, start) for each in (draws, bounds))
        free = np.ptp(found.values, axis=0) > 0
        if found.link == "logit":  # probabilities that were not cut at 0 or 1
            for cut in (0, 1):
                free &= (draws != cut).all(axis=0) & (bounds != cut).all(axis=-1)
        assert free.sum() > 20
        reach = reach_of(0.9, 10) * scaled.std(axis=0, ddof=1)
        np.testing.assert_allclose(reach[free], np.ptp(ends, axis=-1)[free] / 2, rtol=1e-6)


def test_what_is_not_calibrated_says_so(linear):
    found = linear.functional(lambda fitted: fitted.coef_)
    assert (linear.calibration_, found.spread, linear.posterior_.spread) == (None,) + (
        "inflated",
    ) * 2
    with pytest.raises(ValueError, match="spread='calibrated' needs simulated data sets"):
        found.interval(spread="calibrated")
    with pytest.raises(ValueError, match=r"spread must be one of raw, inflated, calibrated, or"):
        found.interval(spread="wide")
    with pytest.raises(ValueError, match="'inflated' or 'raw' for a new y, got 'calibrated'"):
        linear.predict_interval(X, spread="calibrated")
    bootstrap = nb.PosteriorRegressor(LinearRegression(), method="bootstrap", **FEW).fit(X, Z)
    assert bootstrap.functional(level).spread == "raw"


def test_simulating_afterwards_calibrates_one_functional(linear):
    coefficients = linear.functional(lambda fitted: fitted.coef_, X, Z)
    assert coefficients.spread == "calibrated"
    assert coefficients.values.shape == (10, 3)
    assert linear.posterior_.truths is None


def test_what_is_too_large_is_simulated_again(monkeypatch):
    monkeypatch.setattr(face_module, "MOST_BYTES", 100)
    model = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=2), **FEW).fit(X, Z)
    assert model.calibration_ is not None
    assert model.posterior_.truths is None
    with pytest.warns(DrawWarning, match="inflated, not calibrated.*pass X and y, as in fit"):
        assert model.functional(level).spread == "inflated"
    assert model.functional(level, X, Z).spread == "calibrated"


def test_importances_have_a_truth_too(classifier):
    found = classifier.functional(lambda fitted: fitted.feature_importances_)
    assert found.spread == "calibrated"
    learned = classifier.posterior_.truths.learned
    assert learned.feature_importances_[0] > 0.5  # the only column that matters


def test_functions_of_scikit_learn_take_the_truth_for_an_estimator(classifier):
    y = (Y == "yes").astype(int)
    labels = classifier.estimators_[0].classes_[y]

    def shuffled(fitted):
        return permutation_importance(fitted, X, labels, random_state=0).importances_mean

    def curve(fitted):
        return partial_dependence(fitted, X, [0], grid_resolution=4)["average"][0]

    for function in (shuffled, curve):
        assert classifier.functional(function).spread == "calibrated"
    truth = classifier.posterior_.truths.truth
    assert 0 <= truth.score(X, labels) <= 1
    np.testing.assert_allclose(np.exp(truth.predict_log_proba(X)), truth.predict_proba(X))
    assert truth.n_features_in_ == 3


def test_a_frame_reaches_the_truth_as_a_frame():
    frame = pd.DataFrame(X, columns=list("abc"))
    steps = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2))
    model = nb.PosteriorRegressor(steps, **FEW).fit(frame, Z)
    found = model.functional(lambda fitted: fitted.predict(frame[:3]))
    assert found.spread == "calibrated"


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(9), XGBClassifier(n_estimators=8)])
def test_the_size_of_what_is_kept_and_pickling(estimator):
    model = nb.PosteriorClassifier(estimator, **FEW).fit(X, (Y == "yes").astype(int))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.functional(chance).interval(), model.functional(chance).interval()
    )


def test_same_seed_same_functional_for_any_number_of_jobs(classifier):
    tree = DecisionTreeClassifier(max_depth=3)
    again = nb.PosteriorClassifier(tree, n_jobs=2, **FEW).fit(X, Y)
    np.testing.assert_array_equal(
        again.functional(chance).interval(), classifier.functional(chance).interval()
    )


def test_more_draws_by_warm_start_are_calibrated_again(classifier):
    model = nb.PosteriorClassifier(
        DecisionTreeClassifier(max_depth=3), warm_start=True, **{**FEW, "n_draws": 4}
    ).fit(X, Y)
    model.set_params(n_draws=10).fit(X, Y)
    np.testing.assert_array_equal(
        model.functional(chance).interval(), classifier.functional(chance).interval()
    )


def test_kept_predictions_have_no_functionals():
    model = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=2), **FEW)
    model.fit(X, Z, predict_on=X[:4])
    assert model.posterior_.spread == "calibrated"
    for ask in (model.functional, model.posterior_.apply, lambda f: model.functional(f, X, Z)):
        with pytest.raises(ValueError, match=r"functionals need models, but only predictions"):
            ask(level)


def test_files_keep_intervals_and_simulated_sets_on_request(classifier, tmp_path):
    plain = nb.load(classifier.save(tmp_path / "plain.nearbayes"))
    whole = nb.load(classifier.save(tmp_path / "whole.nearbayes", simulated=True))
    draws = nb.load(classifier.posterior_.save(tmp_path / "draws.nearbayes"))
    for each in (plain.posterior_, whole.posterior_, draws):
        np.testing.assert_array_equal(each.interval(X), classifier.predict_interval(X))
        assert each.spread == "calibrated"
    with pytest.warns(DrawWarning, match="or are not in the file: pass X and y"):
        assert plain.functional(chance).spread == "inflated"
    for function in (chance, lambda fitted: fitted.feature_importances_):
        found = whole.functional(function)
        assert found.spread == "calibrated"
        np.testing.assert_array_equal(found.interval(), classifier.functional(function).interval())


def failing(at):
    seen = []

    def function(fitted):
        seen.append(fitted)
        if len(seen) == at:
            raise KeyError("no such column")
        return 1.0

    return function


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (failing(4), ValueError, "the function failed at draw 3: KeyError: 'no such column'"),
        (lambda fitted: {1.0}, TypeError, "must return a number .* got set for draw 0"),
        (lambda fitted: {"slope": "up"}, TypeError, "must return a number .* got str for draw 0"),
        (lambda fitted: "steep", TypeError, "must return a number .* got str for draw 0"),
        (lambda fitted: None, ValueError, "must return finite numbers, got others for 10 of 10"),
        (lambda fitted: [1.0, np.nan], ValueError, "must return finite numbers"),
        (lambda fitted: np.zeros(id(fitted) % 97), ValueError, "same shape for every draw"),
    ],
)
def test_a_function_that_fails_gets_one_sentence(regressor, function, error, words):
    with pytest.raises(error, match=words):
        regressor.functional(function)


def test_a_function_that_fails_on_simulated_data_is_not_calibrated(regressor):
    with pytest.warns(DrawWarning, match="could not be calibrated on simulated data: the function"):
        assert regressor.functional(failing(13)).spread == "inflated"


def test_a_function_without_a_value_at_the_truth_is_not_calibrated(classifier):
    sets = replace(classifier.posterior_.truths, learned=None)
    posterior = replace(classifier.posterior_, truths=sets)
    with pytest.warns(DrawWarning, match="it has no value at the truth"):
        found = posterior.apply(lambda fitted: fitted.feature_importances_)
    assert found.spread == "inflated"


def test_the_first_fit_may_be_the_truth():
    model = nb.PosteriorClassifier(GaussianNB(), calibration="simulation", **FEW).fit(X, Y)
    found = model.functional(lambda fitted: fitted.theta_)
    assert found.values.shape == (10, 2, 3)
    assert found.interval([0.5, 0.9]).shape == (2, 3, 2, 2)
