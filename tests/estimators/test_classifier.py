"""PosteriorClassifier: shapes, meaning and the choices a user has."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import nearbayes as nb
from nearbayes.core.engine import DrawWarning

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


@pytest.fixture(scope="module")
def fitted():
    return nb.PosteriorClassifier(LogisticRegression(max_iter=500), n_draws=30, random_state=0).fit(
        X, NAMES
    )


def test_shapes_and_labels(fitted):
    assert fitted.posterior_.predict(X).shape == (30, 150, 3)
    assert fitted.predict_proba(X).shape == (150, 3)
    assert list(fitted.classes_) == sorted(set(NAMES))
    assert set(fitted.predict(X)) <= set(NAMES)
    assert fitted.score(X, NAMES) > 0.9
    assert fitted.predict_interval(X).shape == (150, 3, 2)
    assert fitted.predict_interval(X, [0.5, 0.9]).shape == (150, 3, 2, 2)
    assert len(fitted.estimators_) == 30
    assert fitted.posterior_.apply(lambda model: model.coef_).values.shape == (30, 3, 4)


def test_mean_is_inside_its_interval(fitted):
    low, high = np.moveaxis(fitted.predict_interval(X, 0.99), -1, 0)
    mean = fitted.predict_proba(X)
    assert np.mean((low <= mean) & (mean <= high)) > 0.97
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_intervals_nest_and_adjustment_widens(fitted):
    narrow, wide = np.moveaxis(fitted.predict_interval(X, [0.5, 0.9]), -1, 0)
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (wide[..., 1] >= narrow[..., 1]).all()
    raw = fitted.predict_interval(X, spread="raw")
    adjusted = fitted.predict_interval(X)
    assert np.mean(np.ptp(adjusted, axis=-1)) > np.mean(np.ptp(raw, axis=-1))


def test_uncertainty_adds_up(fitted):
    split = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(split.total, split.aleatoric + split.epistemic, atol=1e-12)
    assert (split.epistemic >= 0).all()
    between = (X[Y == 1].mean(axis=0) + X[Y == 2].mean(axis=0))[None] / 2
    assert fitted.predict_uncertainty(between).total > np.median(split.total)


def test_one_draw_has_no_interval():
    X, y = load_iris(return_X_y=True)
    model = nb.PosteriorClassifier(GaussianNB(), n_draws=1, n_refits=1, random_state=0).fit(X, y)
    for verb in (model.predict_interval, model.predict_uncertainty):
        with pytest.raises(ValueError, match="at least 2 draws, got 1: draw again with a larger"):
            verb(X)
    with pytest.raises(ValueError, match="at least 2 draws, got 1"):
        model.functional(lambda m: m.theta_).interval()
    assert model.predict_proba(X).shape == (150, 3)


def test_zero_refits_are_the_estimator_itself():
    plain = LogisticRegression(max_iter=500).fit(X, Y)
    model = nb.PosteriorClassifier(LogisticRegression(max_iter=500), n_draws=3, n_refits=0).fit(
        X, Y
    )
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap"])
def test_methods(method):
    model = nb.PosteriorClassifier(GaussianNB(), n_draws=10, method=method, random_state=0).fit(
        X, Y
    )
    assert model.posterior_.provenance.method == method
    assert model.posterior_.predict(X).std(axis=0).max() > 0
    assert model.score(X, Y) > 0.9


def test_ensemble_of_a_random_estimator_varies():
    estimator = HistGradientBoostingClassifier(max_iter=5, max_features=0.3)
    model = nb.PosteriorClassifier(estimator, n_draws=5, method="ensemble", random_state=0).fit(
        X, Y
    )
    assert model.posterior_.predict(X).std(axis=0).max() > 0


def test_ensemble_of_a_deterministic_estimator_warns():
    with pytest.warns(DrawWarning, match="equal draws"):
        nb.PosteriorClassifier(GaussianNB(), n_draws=3, method="ensemble").fit(X, Y)


def test_default_estimator_takes_missing_values():
    holes = X.copy()
    holes[::5, 0] = np.nan
    model = nb.PosteriorClassifier(n_draws=2, n_refits=1, random_state=0).fit(holes, Y)
    assert model.predict(holes).shape == (150,)


def test_class_missing_from_a_bootstrap_sample_is_reported_and_kept():
    rare = np.array([0] * 40 + [1] * 40 + [2])
    inputs = np.random.default_rng(0).normal(size=(81, 2)) + rare[:, None]
    with pytest.warns(DrawWarning, match="class 2 was in no resampled row of .* draws"):
        model = nb.PosteriorClassifier(
            GaussianNB(), n_draws=20, method="bootstrap", random_state=0
        ).fit(inputs, rare)
    draws = model.posterior_.predict(inputs)
    assert draws.shape == (20, 81, 3)
    assert (draws[:, :, 2] == 0).all(axis=1).any()
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    martingale = nb.PosteriorClassifier(LogisticRegression(), n_draws=5, random_state=0).fit(
        inputs, rare
    )
    assert all(len(draw.classes_) == 3 for draw in martingale.estimators_)


def test_bootstrap_sample_with_one_class_left_is_no_failure():
    labels = np.array([0] * 20 + [1])
    inputs = np.random.default_rng(0).normal(size=(21, 2))
    with pytest.warns(DrawWarning, match="class 1 was in no resampled row"):
        model = nb.PosteriorClassifier(
            LogisticRegression(), n_draws=20, method="bootstrap", random_state=0
        ).fit(inputs, labels)
    assert not model.posterior_.failed


def test_auto_schedule_scores_every_candidate():
    model = nb.PosteriorClassifier(GaussianNB(), n_draws=8, schedule="auto", random_state=0).fit(
        X, NAMES
    )
    assert len(model.schedule_scores_) == 4
    best = min(model.schedule_scores_, key=model.schedule_scores_.get)
    assert str(model.schedule_) == best == model.posterior_.provenance.schedule


def test_auto_schedule_with_a_class_of_one_row():
    labels = np.where(np.arange(150) == 149, 9, Y)
    model = nb.PosteriorClassifier(
        LogisticRegression(max_iter=500), n_draws=4, schedule="auto", random_state=3
    ).fit(X, labels)
    assert np.isfinite(list(model.schedule_scores_.values())).all()


def test_weights_count_rows():
    """Weights of 3 give the posterior of the data written three times: narrower by sqrt 3."""
    inputs, labels = make_classification(150, 4, random_state=0)
    model = nb.PosteriorClassifier(
        LogisticRegression(C=1e6), n_draws=200, n_refits=4, random_state=0
    )
    once = clone(model).fit(inputs, labels)
    thrice = model.fit(inputs, labels, sample_weight=np.full(150, 3.0))
    ratio = (
        once.posterior_.apply(lambda m: m.coef_[0]).std
        / thrice.posterior_.apply(lambda m: m.coef_[0]).std
    )
    # the error of a ratio of two sds from 200 draws is 1/sqrt(200): 4 errors, times sqrt 3
    assert np.all(np.abs(ratio / np.sqrt(3) - 1) < 4 / np.sqrt(200) + 0.05)


def test_weight_zero_is_no_row():
    weights = np.where(np.arange(150) % 2, 1.0, 0.0)
    dropped = weights > 0
    weighted = nb.PosteriorClassifier(GaussianNB(), n_draws=4, random_state=0).fit(
        X, Y, sample_weight=weights
    )
    plain = nb.PosteriorClassifier(GaussianNB(), n_draws=4, random_state=0).fit(
        X[dropped], Y[dropped], sample_weight=weights[dropped]
    )
    assert np.array_equal(weighted.posterior_.predict(X), plain.posterior_.predict(X))
