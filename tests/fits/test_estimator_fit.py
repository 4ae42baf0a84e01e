import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    BaggingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from nearbayes.core.data import Block, Data, Rows
from nearbayes.fits.estimator_fit import EstimatorFit, has_no_missing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X @ [1.0, 2.0] + RNG.normal(size=30)


class Threaded(RegressorMixin, BaseEstimator):
    """An estimator of another package, with threads of its own."""

    def __init__(self, level=1.0, n_jobs=None):
        self.level = level
        self.n_jobs = n_jobs

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.level)


def test_the_estimator_is_cloned():
    estimator = Ridge(3.0)
    model = EstimatorFit(estimator).fit(Data.of(X, Y), 0)
    assert model is not estimator
    assert model.alpha == 3.0
    assert not hasattr(estimator, "coef_")


def test_every_random_state_is_seeded():
    nested = BaggingRegressor(DecisionTreeRegressor(random_state=1), n_estimators=2, random_state=2)
    fitting = EstimatorFit(nested)
    assert set(fitting.seed_names) == {"random_state", "estimator__random_state"}
    assert fitting.randomised
    model = fitting.fit(Data.of(X, Y), 17)
    assert (model.random_state, model.estimator.random_state) == (17, 17)
    assert (nested.random_state, nested.estimator.random_state) == (2, 1)
    assert not EstimatorFit(LinearRegression()).randomised


def test_every_part_is_fitted_on_one_thread():
    threaded = Threaded(n_jobs=8)
    steps = make_pipeline(StandardScaler(), GridSearchCV(threaded, {"level": [1.0]}, n_jobs=2))
    fitting = EstimatorFit(steps)
    assert fitting.thread_names == ("gridsearchcv__estimator__n_jobs",)
    assert fitting.fit(Data.of(X, Y), 0)[-1].best_estimator_.n_jobs == 1
    assert threaded.n_jobs == 8
    assert EstimatorFit(RandomForestClassifier(n_jobs=4)).thread_names == ()


def test_smallest_leaves_of_boosting_grow_with_imputed_rows():
    boosting = make_pipeline(StandardScaler(), HistGradientBoostingRegressor(min_samples_leaf=4))
    fitting = EstimatorFit(boosting)
    data = Data.of(X, Y)
    block = Block(Rows.every(X), Y, total=60)
    assert fitting.fit(data, 0)[-1].min_samples_leaf == 4
    assert fitting.fit(data.extend(block), 0)[-1].min_samples_leaf == 8
    assert fitting.fit(data.replaced_by(block), 0)[-1].min_samples_leaf == 4
    assert EstimatorFit(DecisionTreeRegressor(min_samples_leaf=4)).leaf_sizes == {}


def test_weight_names():
    steps = make_pipeline(StandardScaler(), Ridge())
    assert EstimatorFit(Ridge()).weight_name == "sample_weight"
    assert EstimatorFit(steps).weight_name == "ridge__sample_weight"
    assert EstimatorFit(KNeighborsRegressor()).weight_name is None
    assert EstimatorFit(make_pipeline(KNeighborsRegressor())).weight_name is None
    with sklearn.config_context(enable_metadata_routing=True):
        assert EstimatorFit(steps).weight_name == "sample_weight"


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), make_pipeline(Ridge()), KNeighborsRegressor(3, weights="distance")],
    ids=["weights", "pipeline", "rows"],
)
def test_counts_equal_repeated_rows(estimator):
    data = Data.of(X, Y, np.arange(30) % 3)
    fitting = EstimatorFit(estimator)
    fits = [fitting.fit(rows, 0).predict(X + 0.1) for rows in (data, data.repeat())]
    np.testing.assert_allclose(*fits)


def test_fractions_need_an_estimator_with_weights():
    with pytest.raises(ValueError, match="whole numbers for an algorithm that takes no weights"):
        EstimatorFit(KNeighborsRegressor()).fit(Data.of(X, Y, np.full(30, 0.5)), 0)


def test_labels_stand_for_codes():
    model = EstimatorFit(LogisticRegression()).fit(
        Data.of(X, (Y > 0).astype(np.intp)), 0, np.array(["no", "yes"])
    )
    assert model.classes_.tolist() == ["no", "yes"]


def test_further_arguments_reach_fit():
    class Takes(LinearRegression):
        def fit(self, X, y, sample_weight=None, flavour=None):
            self.flavour_ = flavour
            return super().fit(X, y, sample_weight)

    model = EstimatorFit(Takes(), {"flavour": "sweet"}).fit(Data.of(X, Y, 2), 0)
    assert model.flavour_ == "sweet"


def test_arguments_that_fit_writes_into_stay_as_they_were():
    """SGDClassifier trains in the array `coef_init`: draws would share their coefficients."""
    rng, start = np.random.default_rng(0), np.zeros((1, 2))
    x = rng.normal(size=(50, 2))
    data = Data(x, None, (x[:, 0] > 0).astype(int))
    fitting = EstimatorFit(SGDClassifier(loss="log_loss"), {"coef_init": start})
    first, second = (fitting.fit(data, seed) for seed in (1, 2))
    assert not start.any()
    assert not np.shares_memory(first.coef_, second.coef_)
    assert not np.array_equal(first.coef_, second.coef_)


def test_packages():
    class Local(LinearRegression):
        __module__ = "xgboost.sklearn"

    assert EstimatorFit(RandomForestClassifier()).packages == ()
    assert EstimatorFit(Local()).packages == ("xgboost",)


def test_has_no_missing():
    values = np.array([1.0, 2.0])
    assert has_no_missing(values, Ridge()) is values
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Ridge predicted NaN or infinity"):
            has_no_missing(np.array([1.0, bad]), Ridge())


class LikeCatBoost(RegressorMixin, BaseEstimator):
    """Lists only the parameters that were set, as CatBoost does."""

    __module__ = "catboost.core"

    def __init__(self, **params):
        self.params = params

    def get_params(self, deep=True):
        return self.params

    def set_params(self, **params):
        self.params = {**self.params, **params}
        return self

    def fit(self, X, y, sample_weight=None):
        return self


def test_catboost_is_seeded_and_has_one_thread_though_it_lists_neither():
    fitting = EstimatorFit(LikeCatBoost(depth=3))
    assert fitting.randomised
    settings = {"random_seed": 7, "thread_count": 1, "allow_writing_files": False}
    assert fitting.configured(7).get_params() == {"depth": 3, **settings}


def test_catboost_keeps_the_name_that_the_user_gave_its_seed():
    configured = EstimatorFit(LikeCatBoost(random_state=1)).configured(7)
    settings = {"thread_count": 1, "allow_writing_files": False}
    assert configured.get_params() == {"random_state": 7, **settings}


@pytest.mark.parametrize(
    ("estimator", "refits", "expected"),
    [
        (Ridge(), None, "optimal(refits=8)"),
        (Ridge(), 3, "optimal(refits=3)"),
        (HistGradientBoostingRegressor(), None, "arithmetic(horizon=1.0, block=0.25)"),
        (LikeCatBoost(), 2, "arithmetic(horizon=1.0, block=0.5)"),
        (
            make_pipeline(StandardScaler(), HistGradientBoostingRegressor()),
            None,
            "arithmetic(horizon=1.0, block=0.25)",
        ),
        (HistGradientBoostingRegressor(), 0, "optimal(refits=0)"),
    ],
)
def test_boosted_trees_prefer_short_horizons(estimator, refits, expected):
    assert str(EstimatorFit(estimator).traits.schedule(refits)) == expected


@pytest.mark.parametrize("refits", [-1, 1.5, "four"])
def test_refits_must_be_a_whole_number(refits):
    with pytest.raises(ValueError, match=r"refits must be a whole number, 0 or more, got"):
        EstimatorFit(HistGradientBoostingRegressor()).traits.schedule(refits)
