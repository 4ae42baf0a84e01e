"""Algorithms that use NumPy's global generator are noticed."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

import nearbayes as nb
from nearbayes.execution.global_random import GlobalGeneratorWarning

ROWS = 40
X = np.random.default_rng(0).normal(size=(ROWS, 2))
OPTIONS = {"n_draws": 2, "n_refits": 1, "calibration": None, "random_state": 0}


class Shaken(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ += np.random.normal()  # noqa: NPY002
        return self


def test_the_global_generator_is_noticed():
    with pytest.warns(GlobalGeneratorWarning, match="uses NumPy's global random generator"):
        nb.PosteriorRegressor(Shaken(), **OPTIONS).fit(X, X[:, 0])


class ShakenLater(LinearRegression):
    """Uses the global generator from the first refit on."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if len(y) > ROWS:
            self.intercept_ += np.random.normal()  # noqa: NPY002
        return self


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_it_is_noticed_if_refits_alone_use_it(executor):
    model = nb.PosteriorRegressor(ShakenLater(), **OPTIONS, executor=executor)
    with pytest.warns(GlobalGeneratorWarning, match="uses NumPy's global random generator"):
        model.fit(X, X[:, 0])


def test_random_estimators_with_a_seed_of_their_own_are_not_blamed():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    nb.PosteriorRegressor(RandomForestRegressor(5), **OPTIONS).fit(X, X[:, 0])
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_a_generator_that_is_used_for_nothing_is_not_blamed():
    before = np.random.get_state()[2]  # noqa: NPY002
    nb.PosteriorRegressor(SVR(), **OPTIONS).fit(X, X[:, 0])  # warnings are errors
    assert np.random.get_state()[2] != before  # noqa: NPY002


class Centred(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        X -= X.mean(axis=0)
        X *= 2.0
        return super().fit(X, y, sample_weight)


def test_estimators_that_change_their_table_change_nobody_elses():
    mine = X.copy()
    found = [
        nb.PosteriorRegressor(Centred(), n_jobs=n_jobs, **OPTIONS).fit(mine, mine[:, 0])
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(mine, X)
    alone, together = (each.posterior_.predict(X) for each in found)
    np.testing.assert_array_equal(alone, together)
