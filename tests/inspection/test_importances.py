import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import nearbayes as nb
from nearbayes.inspection.importance import own_importances, permutation_importances
from nearbayes.metrics import brier

SMALL = {"n_draws": 4, "n_refits": 1, "calibration": None, "random_state": 0}


class Wide(Ridge):
    """Coefficients of something else than the columns."""

    def fit(self, X, y, sample_weight=None):
        super().fit(self._widened(X), y, sample_weight)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self._widened(X) @ self.coef_ + self.intercept_

    def _widened(self, X):
        return np.hstack([X, X**2])


def fitted(estimator, X, y, **settings):
    return nb.PosteriorRegressor(estimator, **(SMALL | settings)).fit(X, y)


def test_own_importances_are_shares_of_every_draw(table, outcomes):
    class Counting(GradientBoostingRegressor):
        @property
        def feature_importances_(self):  # as LightGBM counts splits
            return 100 * super().feature_importances_

    model = fitted(Counting(n_estimators=3), table, outcomes)
    found = own_importances(model)
    counts = np.array([draw.feature_importances_ for draw in model.estimators_])
    np.testing.assert_allclose(found.draws.values, counts / 100)
    assert (found.names, found.kind) == (["x0", "x1", "x2"], "feature importance")


def test_a_scaler_before_them_does_not_change_scaled_coefficients(table, outcomes):
    X = table * [1, 10, 100]
    plain = own_importances(fitted(LinearRegression(), X, outcomes), X)
    steps = make_pipeline(StandardScaler(), LinearRegression())
    piped = own_importances(fitted(steps, X, outcomes), X)
    np.testing.assert_allclose(piped.draws.values, plain.draws.values)
    assert piped.names == plain.names == ["x0", "x1", "x2"]


def test_features_that_only_some_draws_select_are_zero_in_the_others(table):
    frame = pd.DataFrame(table / table.std(axis=0), columns=["a", "b", "c"])
    outcomes = frame["a"] + frame["b"]  # which matters more is a matter of which rows are drawn
    steps = make_pipeline(SelectKBest(f_regression, k=1), Ridge())
    model = fitted(steps, frame, outcomes, method="bootstrap", n_draws=12)
    found = own_importances(model)
    assert len(found.names) > 1  # else nothing is tested
    for values, draw in zip(found.draws.values, model.estimators_, strict=True):
        (name,) = draw[:-1].get_feature_names_out()
        place = found.names.index(name)
        assert values[place] == draw[-1].coef_[0]
        assert np.count_nonzero(values) == 1


def test_sparse_coefficients_and_tables(table, outcomes):
    class Sparse(Ridge):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.coef_ = sparse.csr_matrix(self.coef_)
            return self

        def predict(self, X):
            return X @ self.coef_.toarray()[0] + self.intercept_

    model = fitted(Sparse(), table, outcomes)
    found = own_importances(model, sparse.csr_matrix(table))
    slopes = np.array([draw.coef_.toarray()[0] for draw in model.estimators_])
    np.testing.assert_allclose(found.draws.values, slopes * table.std(axis=0))


def test_none_where_there_are_none_or_none_with_names(table, outcomes):
    assert own_importances(fitted(KNeighborsRegressor(), table, outcomes)) is None
    wide = fitted(Wide(), table, outcomes)
    assert own_importances(wide, table) is None
    unnamed = make_pipeline(FunctionTransformer(np.tanh), Ridge())
    assert own_importances(fitted(unnamed, table, outcomes)) is None


def test_shuffling_raises_the_loss_by_as_much_as_it_says(table, outcomes):
    y = (outcomes > 0).astype(int)
    model = nb.PosteriorClassifier(KNeighborsClassifier(), **SMALL).fit(table, y)
    found = permutation_importances(model, table, y, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rows = rng.permutation(60)
    changed = table[rows]
    changed[:, 1] = changed[rng.permutation(60), 1]
    before, after = (model.posterior_.predict(X) for X in (table[rows], changed))
    rises = [brier(y[rows], b) - brier(y[rows], a) for a, b in zip(before, after, strict=True)]
    np.testing.assert_allclose(found.draws.values[:, 1], rises)
    assert found.draws.inflation == model.posterior_.inflation
    assert found.kind == "increase of the Brier score"


def test_many_draws_are_thinned(table, outcomes):
    model = fitted(KNeighborsRegressor(), table, outcomes, n_draws=41)
    found = permutation_importances(model, table, outcomes, np.random.default_rng(0))
    assert found.draws.values.shape == (40, 3)
    assert len(model.posterior_) == 41


@pytest.mark.filterwarnings("ignore::nearbayes.RareClassWarning")
def test_the_driver_of_a_rare_class_is_found_among_many_rows():
    """Of 500 rows at random, two or three would be of a class of 0.5 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = (X[:, 2] > 2.58).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20)
    model = nb.PosteriorClassifier(tree, n_draws=3, n_refits=1, calibration=None, random_state=0)
    model.fit(X[:4_000], y[:4_000])
    for seed in range(3):
        found = permutation_importances(model, X, y, np.random.default_rng(seed))
        sizes = found.draws.mean
        assert found.names[sizes.argmax()] == "x2"
        assert sizes[2] > 3 * np.abs(np.delete(sizes, 2)).max()
        # about as large as on all rows, of which the class is 0.5 %
        moved = X.copy()
        moved[:, 2] = rng.permutation(moved[:, 2])
        whole = brier(y, model.predict_proba(moved)) - brier(y, model.predict_proba(X))
        assert 0.5 < sizes[2] / whole < 2
