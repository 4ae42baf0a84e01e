"""Warm starts: draws that are there are kept; calibration afterwards is that of `fit`."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.core.engine import DrawWarning

X_CLASSES, Y_CLASSES = load_iris(return_X_y=True)
X_NUMBERS, Y_NUMBERS = make_regression(80, 4, noise=20.0, random_state=0)
RUN = {"n_draws": 5, "n_refits": 2, "random_state": 3}
CASES = {
    "classes": (nb.PosteriorClassifier, GaussianNB, X_CLASSES, Y_CLASSES),
    "numbers": (nb.PosteriorRegressor, Ridge, X_NUMBERS, Y_NUMBERS),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


def stopping(base, calls, at):
    """An estimator that notes the calls of `fit`, and is interrupted at one of them."""

    class Stopping(base):
        def fit(self, X, y, sample_weight=None):
            calls.append(len(calls))
            if len(calls) == at:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    return Stopping()


@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap"])
def test_more_draws_equal_one_run(case, method):
    kind, base, X, y = case
    whole = kind(base(), **RUN, method=method).fit(X, y)
    part = kind(base(), **{**RUN, "n_draws": 2}, method=method, warm_start=True).fit(X, y)
    first = part.posterior_.models[0]
    part.set_params(n_draws=5).fit(X, y)
    assert part.posterior_.models[0] is first
    np.testing.assert_array_equal(part.posterior_predictions(X), whole.posterior_predictions(X))
    np.testing.assert_array_equal(part.predict_interval(X), whole.predict_interval(X))


def test_an_interrupted_fit_goes_on(case):
    kind, base, X, y = case
    calls = []
    whole = kind(stopping(base, calls, at=None), **RUN).fit(X, y)
    in_the_last_draw_but_one = len(calls) - 3
    model = kind(stopping(base, [], in_the_last_draw_but_one), **RUN, warm_start=True)
    with pytest.warns(DrawWarning, match="interrupted: 3 of 5 draws are finished and kept"):
        model.fit(X, y)
    kept = model.posterior_predictions(X)
    np.testing.assert_array_equal(kept, whole.posterior_predictions(X)[:3])
    model.fit(X, y)
    assert not model.posterior_.provenance.interrupted
    np.testing.assert_array_equal(model.posterior_predictions(X), whole.posterior_predictions(X))


def test_without_warm_start_draws_are_made_anew(case):
    kind, base, X, y = case
    model = kind(base(), **RUN).fit(X, y)
    first = model.posterior_.models[0]
    assert model.fit(X, y).posterior_.models[0] is not first


def test_other_settings_cannot_be_gone_on_with(case):
    kind, base, X, y = case
    model = kind(base(), **RUN, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="seed=3, but this run has 4"):
        model.set_params(random_state=4).fit(X, y)


def test_other_arguments_of_fit_cannot_be_gone_on_with():
    class Moved(GaussianNB):
        def fit(self, X, y, sample_weight=None, by=0.0):
            return super().fit(X + by, y, sample_weight)

    model = nb.PosteriorClassifier(Moved(), **RUN, calibration=None, warm_start=True)
    by = np.ones(X_CLASSES.shape[1])
    model.fit(X_CLASSES, Y_CLASSES, by=by)
    model.fit(X_CLASSES, Y_CLASSES, by=by.copy())
    with pytest.raises(ValueError, match="arguments of fit are not the same"):
        model.fit(X_CLASSES, Y_CLASSES, by=2 * by)


@pytest.mark.parametrize("n_sets", [None, 2, 3])
def test_calibration_afterwards_is_that_of_fit(n_sets, monkeypatch):
    run = {"n_draws": 4, "n_refits": 1, "random_state": 0}
    tree = DecisionTreeRegressor(max_depth=3)
    late = nb.PosteriorRegressor(tree, **run, calibration=None).fit(X_NUMBERS, Y_NUMBERS)
    assert late.calibration_ is None
    assert late.calibrate(X_NUMBERS, Y_NUMBERS, n_sets=n_sets) is late
    if n_sets is not None:
        monkeypatch.setattr(
            "nearbayes.estimators.calibration.simulation_plan", lambda draws: (n_sets, draws)
        )
    early = nb.PosteriorRegressor(tree, **run, calibration="simulation")
    early.fit(X_NUMBERS, Y_NUMBERS)
    assert len(late.calibration_.ratios) == len(early.calibration_.ratios) == (n_sets or 2)
    for kind in ("credible", "predictive"):
        np.testing.assert_array_equal(
            late.predict_interval(X_NUMBERS, kind=kind),
            early.predict_interval(X_NUMBERS, kind=kind),
        )


@pytest.mark.parametrize("n_sets", [1, 0, -2, 2.5, "two", True])
def test_bad_numbers_of_sets(n_sets):
    model = nb.PosteriorClassifier(GaussianNB(), **RUN, calibration=None)
    model.fit(X_CLASSES, Y_CLASSES)
    with pytest.raises(ValueError, match="n_sets must be a whole number, 2 or more"):
        model.calibrate(X_CLASSES, Y_CLASSES, n_sets=n_sets)


def test_models_are_needed_to_calibrate():
    model = nb.PosteriorClassifier(GaussianNB(), **RUN, calibration=None)
    with pytest.raises(NotFittedError):
        model.calibrate(X_CLASSES, Y_CLASSES)
    model.fit(X_CLASSES, Y_CLASSES, predict_on=X_CLASSES[:5])
    with pytest.raises(ValueError, match="only predictions are kept cannot be calibrated"):
        model.calibrate(X_CLASSES, Y_CLASSES)
