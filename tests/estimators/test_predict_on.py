"""predict_on: predictions at given rows are kept, and nothing else of a draw."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.core.lifting import KeptPredictions
from nearbayes.tables.table import same_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
NEW = RNG.normal(size=(5, 3))
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=80)
CLASSES = np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-0.5, 0.5])]
SETTINGS = {"n_draws": 4, "n_refits": 2, "random_state": 0, "progress": False}
METHODS = ["martingale", "bootstrap", "parametric_bootstrap", "ensemble"]


def classifier(**options):
    return nb.PosteriorClassifier(GaussianNB(), **{**SETTINGS, **options})


def regressor(**options):
    return nb.PosteriorRegressor(Ridge(), **{**SETTINGS, **options})


@pytest.mark.filterwarnings("ignore:an ensemble of an algorithm without randomness")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classes_are_predicted_as_by_the_models(method, n_jobs):
    kept = classifier(method=method, n_jobs=n_jobs).fit(X, CLASSES, predict_on=NEW)
    full = classifier(method=method).fit(X, CLASSES)
    np.testing.assert_array_equal(kept.posterior_predictions(NEW), full.posterior_predictions(NEW))
    np.testing.assert_array_equal(kept.predict_proba(NEW), full.predict_proba(NEW))
    np.testing.assert_array_equal(kept.predict_interval(NEW), full.predict_interval(NEW))
    np.testing.assert_array_equal(kept.predict(NEW), full.predict(NEW))
    assert kept.predict_uncertainty(NEW).total.shape == (5,)


@pytest.mark.parametrize("noise", ["gaussian", "residual", "heteroscedastic"])
def test_numbers_are_predicted_as_by_the_models(noise):
    kept = regressor(noise=noise).fit(X, SIGNAL, predict_on=NEW)
    full = regressor(noise=noise).fit(X, SIGNAL)
    # noise is scaled by the spread of the draws, which is known at other rows
    assert kept.noise_factor_ == pytest.approx(full.noise_factor_, rel=0.1)
    full.noise_factor_ = kept.noise_factor_
    for kind in ("predictive", "credible"):
        np.testing.assert_array_equal(
            kept.predict_interval(NEW, kind=kind), full.predict_interval(NEW, kind=kind)
        )
    np.testing.assert_array_equal(kept.predict(NEW, True), full.predict(NEW, True))
    samples = [model.sample(NEW, 3, random_state=0) for model in (kept, full)]
    np.testing.assert_array_equal(*samples)


def test_no_model_is_left():
    for model in (
        classifier().fit(X, CLASSES, predict_on=NEW),
        regressor().fit(X, SIGNAL, predict_on=NEW),
    ):
        posterior = model.posterior_
        assert {type(kept) for kept in [*posterior.models, posterior.first]} == {KeptPredictions}
        assert all(isinstance(kept, KeptPredictions) for kept in model.estimators_)


@pytest.mark.parametrize("rows", [NEW[:2], NEW + 1e-9, X, pd.DataFrame(NEW)])
def test_other_rows_are_refused(rows):
    model = classifier().fit(X, CLASSES, predict_on=NEW)
    with pytest.raises(ValueError, match=r"X must be the table given as predict_on .* fit with"):
        model.posterior_.predict(rows)


def test_columns_are_checked_before_the_work():
    with pytest.raises(ValueError, match="2 features"):
        classifier().fit(X, CLASSES, predict_on=NEW[:, :2])


def test_an_equal_copy_of_a_frame_will_do():
    frame = pd.DataFrame(NEW, columns=["u", "v", "w"], index=[3] * 5)
    fitted = classifier().fit(pd.DataFrame(X, columns=["u", "v", "w"]), CLASSES, predict_on=frame)
    assert fitted.predict_proba(frame.reset_index(drop=True)).shape == (5, 3)


def test_intervals_can_be_calibrated():
    options = {"calibration": "simulation", "n_draws": 5}
    kept = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=2), **{**SETTINGS, **options})
    kept.fit(X, SIGNAL, predict_on=NEW)
    full = nb.PosteriorRegressor(DecisionTreeRegressor(max_depth=2), **{**SETTINGS, **options})
    full.fit(X, SIGNAL)
    assert kept.calibration_ is not None
    np.testing.assert_array_equal(
        kept.predict_interval(NEW, kind="credible"), full.predict_interval(NEW, kind="credible")
    )


def test_schedules_can_be_chosen():
    model = nb.PosteriorClassifier(LogisticRegression(), **{**SETTINGS, "schedule": "auto"})
    assert model.fit(X, CLASSES, predict_on=NEW).predict_proba(NEW).shape == (5, 3)


def test_a_pickle_holds_no_model():
    forest = RandomForestClassifier(30)
    options = {**SETTINGS, "calibration": None}
    kept = nb.PosteriorClassifier(forest, **options).fit(X, CLASSES, predict_on=NEW)
    full = nb.PosteriorClassifier(forest, **options).fit(X, CLASSES)
    assert len(pickle.dumps(kept)) < len(pickle.dumps(full)) / 10
    again = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(again.predict_proba(NEW), full.predict_proba(NEW))


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1.0, np.nan]]),
        np.array([[1, "a"]], dtype=object),
        sparse.csr_matrix([[0.0, 2.0]]),
        pd.DataFrame({"u": [np.nan], "c": pd.Categorical(["a"])}),
        pl.DataFrame({"u": [None], "s": ["a"]}),
    ],
    ids=["missing", "objects", "sparse", "pandas", "polars"],
)
def test_a_table_has_the_same_rows_as_its_copy(table):
    assert same_rows(table, table)
    assert same_rows(table, table.clone() if isinstance(table, pl.DataFrame) else table.copy())
    assert not same_rows(table, table[:0])
    assert not same_rows(table, np.zeros((1, 2), dtype=np.intp)) or isinstance(table, np.ndarray)
