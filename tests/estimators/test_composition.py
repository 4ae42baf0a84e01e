"""Both estimators inside the rest of scikit-learn; frames reach the estimator untouched (law 6)."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nearbayes as nb

X, Y = load_iris(return_X_y=True)
SMALL = {"n_draws": 4, "n_refits": 2, "random_state": 0}


def mixed_frame(library):
    rng = np.random.default_rng(0)
    number = rng.normal(size=80)
    number[::9] = np.nan
    kinds = np.array(["red", "green", "blue"])[rng.integers(3, size=80)]
    count = rng.integers(10, size=80)
    y = np.where(np.nan_to_num(number) + (kinds == "red") + rng.normal(size=80) > 0.3, "yes", "no")
    if library == "pandas":
        frame = pd.DataFrame({"number": number, "kind": pd.Categorical(kinds), "count": count})
    else:
        frame = pl.DataFrame(
            {
                "number": number,
                "kind": pl.Series(kinds, dtype=pl.Enum(["red", "green", "blue"])),
                "count": count,
            }
        )
    return frame, y


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what its fit was given."""

    def fit(self, X, y):
        self.seen_ = (type(X), list(X.columns), list(X.dtypes), X)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap"])
def test_law_6_a_frame_reaches_the_estimator_as_it_is(library, method):
    frame, y = mixed_frame(library)
    model = nb.PosteriorClassifier(Spy(), method=method, **SMALL).fit(frame, y)
    for draw in model.estimators_:
        kind, columns, dtypes, seen = draw.seen_
        assert kind is type(frame)
        assert columns == list(frame.columns)
        assert dtypes == list(frame.dtypes)
        if library == "pandas":
            assert list(seen["kind"].cat.categories) == list(frame["kind"].cat.categories)
        assert 0 < np.isnan(seen["number"].to_numpy()).mean() < 0.5


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_boosting_takes_categories_and_missing_values(library):
    frame, y = mixed_frame(library)
    estimator = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    model = nb.PosteriorClassifier(estimator, **SMALL).fit(frame, y)
    assert model.predict_proba(frame).shape == (80, 2)
    assert all(draw.is_categorical_.tolist() == [False, True, False] for draw in model.estimators_)
    assert list(model.feature_names_in_) == ["number", "kind", "count"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("inputs", [nb.inputs.KDE(), nb.inputs.Uniform(0, 1)])
def test_numeric_frames_work_with_made_up_inputs(library, inputs):
    frame, y = mixed_frame(library)
    numeric = frame[["number", "count"]]
    numeric = numeric.fillna(0.0) if library == "pandas" else numeric.fill_nan(0.0)
    model = nb.PosteriorClassifier(Spy(), inputs=inputs, **SMALL).fit(numeric, y)
    kind, columns, dtypes, seen = model.estimators_[0].seen_
    assert (kind, columns, dtypes) == (type(numeric), ["number", "count"], list(numeric.dtypes))
    assert len(seen) > 80


def test_a_pool_of_unlabelled_rows_keeps_the_frame():
    frame, y = mixed_frame("pandas")
    model = nb.PosteriorClassifier(Spy(), inputs=nb.inputs.Pool(frame.iloc[:20]), **SMALL).fit(
        frame, y
    )
    assert list(model.estimators_[0].seen_[3]["kind"].cat.categories) == ["blue", "green", "red"]


def test_in_a_pipeline_with_pandas_output():
    steps = make_pipeline(StandardScaler(), nb.PosteriorClassifier(LogisticRegression(), **SMALL))
    steps.set_output(transform="pandas")
    steps.fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert steps.score(pd.DataFrame(X, columns=list("abcd")), Y) > 0.9
    assert list(steps[-1].feature_names_in_) == list("abcd")


def test_around_a_pipeline_with_columns_and_strings():
    frame, y = mixed_frame("pandas")
    frame = frame.fillna({"number": 0.0}).astype({"kind": "str"})
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = nb.PosteriorClassifier(
        make_pipeline(columns, LogisticRegression(max_iter=500)), **SMALL
    ).fit(frame, y)
    assert model.score(frame, y) > 0.6
    assert model.posterior_.apply(lambda steps: steps[-1].coef_[0]).values.shape == (4, 5)


def test_grid_search_and_cross_validation():
    model = nb.PosteriorClassifier(GaussianNB(), **SMALL)
    search = GridSearchCV(
        model, {"estimator__var_smoothing": [1e-9, 1e-3], "n_refits": [0, 1]}, cv=2
    )
    assert set(search.fit(X, Y).best_params_) == {"estimator__var_smoothing", "n_refits"}
    assert cross_val_score(model, X, Y, cv=3).min() > 0.85


def test_clone_and_params():
    model = nb.PosteriorRegressor(Ridge(2.0), noise="residual", n_draws=7)
    copy = clone(model).set_params(estimator__alpha=3.0)
    assert (copy.estimator.alpha, model.estimator.alpha) == (3.0, 2.0)
    assert copy.get_params()["noise"] == "residual"


@pytest.mark.parametrize("scale", ["plain", "pipeline"])
def test_sample_weight_reaches_the_inner_estimator(scale):
    inner = (
        LogisticRegression(max_iter=500)
        if scale == "plain"
        else make_pipeline(StandardScaler(), LogisticRegression())
    )
    weights = np.where(Y == 2, 5.0, 1.0)
    heavy = nb.PosteriorClassifier(inner, **SMALL).fit(X, Y, sample_weight=weights)
    plain = nb.PosteriorClassifier(inner, **SMALL).fit(X, Y)
    assert heavy.predict_proba(X)[:, 2].mean() > plain.predict_proba(X)[:, 2].mean()
    assert heavy.posterior_.provenance.n == weights.sum()


def test_whole_weights_become_rows_for_an_estimator_without_weights():
    weights = np.where(Y == 2, 2, 1)
    model = nb.PosteriorClassifier(
        make_pipeline(StandardScaler(), GridSearchCV(GaussianNB(), {})), **SMALL
    )
    assert model.fit(X, Y, sample_weight=weights).posterior_.provenance.n == weights.sum()


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        model = nb.PosteriorClassifier(GaussianNB(), **SMALL).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"n_refits": [1, 2]}, cv=2)
        search.fit(X, Y, sample_weight=np.ones(150))
        assert search.best_estimator_.posterior_.provenance.n == 150
        router = model.get_metadata_routing()
        assert router.consumes("fit", ["sample_weight", "nothing"]) == {"sample_weight"}


class TakesMetadata(LogisticRegression):
    def fit(self, X, y, sample_weight=None, flavour=None):
        self.flavour_ = flavour
        return super().fit(X, y, sample_weight)


def test_other_metadata_is_routed_to_the_inner_estimator():
    plain = nb.PosteriorClassifier(TakesMetadata(max_iter=500), **SMALL).fit(X, Y, flavour="sweet")
    assert all(draw.flavour_ == "sweet" for draw in plain.estimators_)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = TakesMetadata(max_iter=500).set_fit_request(flavour=True, sample_weight=True)
        routed = nb.PosteriorClassifier(inner, **SMALL).fit(X, Y, flavour="sour")
        assert all(draw.flavour_ == "sour" for draw in routed.estimators_)
        with pytest.raises(TypeError, match="unknown"):
            nb.PosteriorClassifier(inner, **SMALL).fit(X, Y, unknown=1)


def test_multi_output_regression_with_boosting_per_output():
    from sklearn.multioutput import MultiOutputRegressor

    inputs, target = load_diabetes(return_X_y=True)
    both = np.column_stack([target, -target])[:100]
    inner = MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=3))
    model = nb.PosteriorRegressor(inner, **SMALL).fit(inputs[:100], both)
    assert model.predict_interval(inputs[:5], kind="credible").shape == (5, 2, 2)
