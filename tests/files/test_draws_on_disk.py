"""Draws that stay in their file predict as others do, and are in memory one at a time."""

import gc

import numpy as np
import pytest
from forging import SETTINGS, unpacked
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.files import FileRefused

X = np.random.default_rng(0).normal(size=(60, 2))


def saved(path, estimator, y, **settings):
    kind = nb.PosteriorClassifier if y.dtype == bool else nb.PosteriorRegressor
    return kind(estimator, **{**SETTINGS, "n_draws": 4, **settings}).fit(X, y).save(path)


@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeRegressor(max_depth=3)])
def test_they_predict_the_same(estimator, tmp_path):
    y = X[:, 0] > 0 if isinstance(estimator, LogisticRegression) else X[:, 0]
    path = saved(tmp_path / "m", estimator, y)
    whole, on_disk = nb.load(path), nb.load(path, on_disk=True)
    np.testing.assert_array_equal(on_disk.predict_interval(X), whole.predict_interval(X))
    np.testing.assert_array_equal(on_disk.predict(X), whole.predict(X))

    def first(model):
        return model.predict(X[:1])[0]

    np.testing.assert_array_equal(on_disk.functional(first).values, whole.functional(first).values)
    path.unlink()  # the file stays open
    on_disk.predict(X)


def test_one_at_a_time_is_in_memory(tmp_path, monkeypatch):
    forest = RandomForestRegressor(20, max_depth=2)
    path = saved(tmp_path / "m", forest, X[:, 0], n_draws=6)
    model, most = nb.load(path, on_disk=True), []
    predict = RandomForestRegressor.predict

    def forests():
        gc.collect()
        return sum(type(each) is RandomForestRegressor for each in gc.get_objects())

    def counted(self, rows):
        most.append(forests() - before)
        return predict(self, rows)

    before = forests()  # other tests of this process have some, too

    monkeypatch.setattr(RandomForestRegressor, "predict", counted)
    model.predict(X)
    assert max(most) <= 2  # one draw and the one before


def test_the_limit_is_for_each_draw(tmp_path):
    """Of a file of 6 draws, each of some 50 kB, one fits in 0.2 MB."""
    path = saved(tmp_path / "m", RandomForestRegressor(40), X[:, 0], n_draws=6)
    largest = max(len(data) for data in unpacked(path).values())
    assert largest > 30_000
    limit = 5 * largest / 1e6  # scikit-learn's loader makes four copies
    with pytest.raises(FileRefused, match="max_megabytes"):
        nb.load(path, max_megabytes=limit)
    nb.load(path, on_disk=True, max_megabytes=limit).predict(X)
