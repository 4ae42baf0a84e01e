"""Inputs that are not tables reach the estimator as they are: texts, and arrays of images."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import nearbayes as nb

GOOD, BAD = ["fine", "great", "lovely", "warm"], ["poor", "bad", "cold", "grey"]
TRUSTED = [f"sklearn.feature_extraction.text.Tfidf{kind}" for kind in ("Vectorizer", "Transformer")]
FEW = {"n_draws": 4, "n_refits": 2, "random_state": 0}
Y = np.array(["no", "yes"] * 40)


class Flat(TransformerMixin, BaseEstimator):
    """Pixels of an image in one row."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.reshape(len(X), -1)


def texts():
    rng = np.random.default_rng(0)
    words = [
        [*rng.choice(GOOD if k % 2 else BAD, 3), *rng.choice(GOOD + BAD, 3)] for k in range(80)
    ]
    return [" ".join(each) for each in words]


def images():
    pixels = np.random.default_rng(1).normal(size=(80, 4, 5))
    pixels[1::2, :2] += 1
    return pixels


@pytest.mark.parametrize("calibration", [None, "simulation"])
@pytest.mark.parametrize("form", [list, pd.Series, lambda x: np.array(x, dtype=object)])
def test_texts_through_fit_predict_calibration_and_save(tmp_path, form, calibration):
    estimator = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = nb.PosteriorClassifier(estimator, calibration=calibration, **FEW)
    model.fit(form(texts()), Y)
    new = form(["great lovely warm", "poor cold grey"])
    assert model.predict(new).tolist() == ["yes", "no"]
    bounds = model.predict_interval(new)
    assert bounds.shape == (2, 2, 2)
    assert (bounds[..., 0] < bounds[..., 1]).all()
    assert (model.calibration_ is None) == (calibration is None)
    loaded = nb.load(model.save(tmp_path / "m.nearbayes", trusted=TRUSTED), trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict_interval(new), bounds)


def test_texts_for_regression_and_predict_on():
    X, y = texts(), np.arange(80) % 2 + 0.1 * np.random.default_rng(2).normal(size=80)
    model = nb.PosteriorRegressor(make_pipeline(TfidfVectorizer(), Ridge()), **FEW)
    kept = model.fit(X, y, predict_on=X[:5]).predict_interval(X[:5])
    assert kept.shape == (5, 2)
    assert np.all(np.diff(kept) > 0)


@pytest.mark.parametrize("calibration", [None, "simulation"])
def test_images_through_fit_predict_calibration_and_save(tmp_path, calibration):
    estimator = make_pipeline(Flat(), LogisticRegression())
    model = nb.PosteriorClassifier(estimator, calibration=calibration, **FEW).fit(images(), Y)
    assert model.score(images(), Y) > 0.9
    trusted = [f"{Flat.__module__}.Flat"]
    loaded = nb.load(model.save(tmp_path / "m.nearbayes", trusted=trusted), trusted=trusted)
    bounds = model.predict_interval(images()[:3])
    np.testing.assert_array_equal(loaded.predict_interval(images()[:3]), bounds)


class Moments(TransformerMixin, BaseEstimator):
    """Mean and length of each sequence."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[np.mean(each), len(each)] for each in X])


def sequences(form):
    rng = np.random.default_rng(3)
    return [form(rng.normal(k % 2, 1, size=rng.integers(5, 9))) for k in range(80)]


def dictionaries():
    rng = np.random.default_rng(4)
    return [{"a": rng.normal() + 2 * (k % 2), "colour": str(rng.integers(3))} for k in range(80)]


@pytest.mark.parametrize(
    ("first", "X"),
    [
        (DictVectorizer(), dictionaries()),
        (Moments(), sequences(list)),
        (Moments(), sequences(np.asarray)),
        (Moments(), tuple(sequences(tuple))),
        (MaxAbsScaler(), sparse.csr_array(images().reshape(80, -1))),
    ],
    ids=["dictionaries", "lists", "arrays", "tuples", "sparse"],
)
def test_any_sequence_of_rows_through_every_method(tmp_path, first, X):
    estimator = make_pipeline(first, LogisticRegression())
    model = nb.PosteriorClassifier(estimator, calibration="simulation", **FEW).fit(X, Y)
    assert model.score(X, Y) > 0.6
    few = X[:6]
    bounds = model.predict_interval(few)
    kept = nb.PosteriorClassifier(estimator, **FEW).fit(X, Y, predict_on=few)
    np.testing.assert_array_equal(kept.posterior_.predict(few), model.posterior_.predict(few))
    with pytest.raises(ValueError, match="nothing but predictions there was kept"):
        kept.predict(X[1:7])
    more = model.set_params(n_draws=8, warm_start=True).fit(X, Y)
    assert more.diagnose(X, Y).verdict
    assert more.report(X, Y).to_markdown()
    again = nb.PosteriorClassifier(estimator, checkpoint=tmp_path, calibration=None, **FEW)
    again.fit(X, Y).fit(X, Y)
    np.testing.assert_array_equal(again.posterior_.predict(few), kept.posterior_.predict(few))
    assert bounds.shape == (6, 2, 2)


def test_several_labels_per_row_are_refused_in_one_sentence():
    two = np.stack([Y, Y], axis=1)
    with pytest.raises(ValueError, match="For several labels per row, fit one classifier for each"):
        nb.PosteriorClassifier(LogisticRegression(), **FEW).fit(images().reshape(80, -1), two)


def test_numbers_in_a_line_are_still_refused():
    with pytest.raises(ValueError, match=r"reshape\(-1, 1\)"):
        nb.PosteriorRegressor(Ridge(), **FEW).fit(np.arange(80.0), np.arange(80.0))


def test_stacking_with_its_default_final_estimator():
    X = images().reshape(80, -1)
    stacked = StackingClassifier([("linear", LogisticRegression())])
    for estimator in (stacked, make_pipeline(stacked)):
        model = nb.PosteriorClassifier(estimator, calibration=None, **FEW).fit(X, Y)
        assert model.score(X, Y) > 0.9


def test_the_other_kind_of_estimator_is_refused_in_one_sentence():
    X = images().reshape(80, -1)
    with pytest.raises(TypeError, match="must be a classifier, got the regressor Ridge"):
        nb.PosteriorClassifier(Ridge(), **FEW).fit(X, Y)
    with pytest.raises(TypeError, match="must be a regressor, got the classifier Logistic"):
        nb.PosteriorRegressor(LogisticRegression(), **FEW).fit(X, X[:, 0])


def test_functions_may_return_dictionaries():
    X = images().reshape(80, -1)
    model = nb.PosteriorRegressor(Ridge(), **FEW).fit(X, X[:, 0])
    found = model.posterior_.apply(lambda draw: {"at 0": draw.intercept_, "slope": draw.coef_[:2]})
    assert found.values.shape == (4, 3)
    assert list(found.coordinates["entry"]) == ["at 0", "slope[0]", "slope[1]"]
    slopes = model.posterior_.apply(lambda draw: draw.coef_[:2]).values
    np.testing.assert_array_equal(found.values[:, 1:], slopes)
    pytest.importorskip("arviz")
    data = found.to_arviz()
    assert data["posterior"]["entry"].values.tolist() == ["at 0", "slope[0]", "slope[1]"]
