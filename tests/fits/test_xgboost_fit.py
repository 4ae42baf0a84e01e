"""XGBoost: the same trees as by hand, of the user's class, whatever the user configured."""

import random

import joblib
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from xgboost import XGBClassifier, XGBRegressor
from xgboost.callback import TrainingCallback

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.fits.xgboost_fit import XGBoostFit

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
X_MISSING = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=N)
TWO, THREE = (SIGNAL > 0).astype(np.intp), np.digitize(SIGNAL, [-0.5, 0.5])
NAMES = np.array(["low", "mid", "top"])
X_VALID = RNG.normal(size=(40, 3))
THREE_VALID = np.digitize(X_VALID[:, 0] + 0.5 * RNG.normal(size=40), [-0.5, 0.5])
SMALL = {"n_estimators": 5, "max_depth": 3, "learning_rate": 0.5, "max_bin": 256}


def classifier(run=None, **options):
    estimator = XGBClassifier(**{**SMALL, **options})
    settings_ = {"n_draws": 3, "n_refits": 2, "random_state": 0, "progress": False}
    return nb.PosteriorClassifier(estimator, **{**settings_, **(run or {})})


def regressor(run=None, **options):
    estimator = XGBRegressor(**{**SMALL, **options})
    settings_ = {"n_draws": 3, "n_refits": 2, "random_state": 0, "progress": False}
    return nb.PosteriorRegressor(estimator, **{**settings_, **(run or {})})


def trees(model):
    return model.get_booster().get_dump(with_stats=True)


# Exactness: counts against truly repeated rows.


def grown(table, y, sampled, size=150, seed=1):
    """Real rows and imputed ones: positions in the table, labels, and the data in plain form."""
    rng = np.random.default_rng(seed)
    index = np.concatenate([np.arange(N), rng.integers(N, size=size)])
    labels = np.concatenate([y, sampled(rng, index[N:])])
    return Data(table, index, labels, real=Data.of(table, y))


def by_xgboost(data, objective, **params):
    """Margins of XGBoost's own objective on truly repeated rows, at the rows of the table."""
    bins = xgboost.QuantileDMatrix(data.table)
    weight = np.full(len(data.y), N / len(data.y))
    rows = xgboost.QuantileDMatrix(data.x, data.y, weight=weight, ref=bins)
    tree = {"max_depth": 3, "learning_rate": 0.5, "nthread": 1, "objective": objective}
    booster = xgboost.train({**tree, **params}, rows, SMALL["n_estimators"])
    return booster.predict(xgboost.DMatrix(data.table), output_margin=True)


def by_counts(data, estimator):
    fitting = XGBoostFit(estimator.set_params(**SMALL))
    n_classes = len(np.unique(data.y))
    labels = np.arange(n_classes) if isinstance(estimator, XGBClassifier) else None
    model = fitting.fit(data.merge(fitting.traits.counts), 0, labels)
    return model.predict(data.table, output_margin=True)


@pytest.mark.parametrize("table", [X, X_MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("options", [{}, {"scale_pos_weight": 3.0}], ids=["plain", "scaled"])
def test_two_classes_are_exactly_repeated_rows(table, options):
    data = grown(table, TWO, lambda rng, rows: rng.integers(2, size=len(rows)))
    expected = by_xgboost(data, "binary:logistic", **options)
    np.testing.assert_allclose(by_counts(data, XGBClassifier(**options)), expected, atol=1e-5)


@pytest.mark.parametrize("table", [X, X_MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"booster": "dart", "rate_drop": 0.5, "seed": 0},
        {"base_score": 0.3},
        {"num_parallel_tree": 2},
        {"min_child_weight": 4.0, "gamma": 0.5, "reg_alpha": 0.2},
    ],
    ids=["plain", "dart", "base_score", "forests", "regularised"],
)
def test_three_classes_are_exactly_repeated_rows(table, options):
    data = grown(table, THREE, lambda rng, rows: rng.integers(3, size=len(rows)))
    expected = by_xgboost(data, "multi:softprob", num_class=3, **options)
    ours = {name: value for name, value in options.items() if name != "seed"}
    np.testing.assert_allclose(by_counts(data, XGBClassifier(**ours)), expected, atol=1e-5)


OUTCOMES = {
    "reg:squarederror": lambda rng, mean: rng.normal(mean),
    "count:poisson": lambda rng, mean: rng.poisson(np.exp(mean / 2)),
    "reg:gamma": lambda rng, mean: rng.gamma(2.0, np.exp(mean / 2)),
    "reg:tweedie": lambda rng, mean: rng.poisson(np.exp(mean / 2)) * rng.gamma(2.0, size=len(mean)),
    "reg:logistic": lambda rng, mean: 1 / (1 + np.exp(-rng.normal(mean))),
}


@pytest.mark.parametrize("table", [X, X_MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("objective", OUTCOMES)
def test_regression_is_exactly_repeated_rows(table, objective):
    def sampled(rng, rows):
        return OUTCOMES[objective](rng, SIGNAL[rows]).astype(float)

    data = grown(table, sampled(np.random.default_rng(2), np.arange(N)), sampled)
    expected = by_xgboost(data, objective)
    ours = by_counts(data, XGBRegressor(objective=objective))
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@settings(max_examples=15, derandomize=True, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 400), n_classes=st.integers(2, 4))
def test_any_counts_are_exactly_repeated_rows(seed, size, n_classes):
    y = np.arange(N) % n_classes
    data = grown(X, y, lambda rng, rows: rng.integers(n_classes, size=len(rows)), size, seed)
    several = {"num_class": n_classes} if n_classes > 2 else {}
    objective = "multi:softprob" if several else "binary:logistic"
    expected = by_xgboost(data, objective, **several)
    np.testing.assert_allclose(by_counts(data, XGBClassifier()), expected, atol=1e-5)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_weight_2_is_the_row_twice(make):
    y = THREE if make is classifier else SIGNAL
    times = np.arange(N) % 3
    options = {"run": {"n_draws": 1, "n_refits": 0}}
    weighted = make(**options).fit(X, y, sample_weight=times)
    twice = make(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(
        weighted.posterior_predictions(X), twice.posterior_predictions(X), atol=1e-5
    )


# The first fit: what the user would have got without us.


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("max_bin", [None, 256])
@pytest.mark.parametrize("tree_method", [None, "exact", "approx"])
def test_first_fit_is_the_plain_classifier(y, tree_method, max_bin):
    options = {"tree_method": tree_method, "max_bin": max_bin}
    options |= {"scale_pos_weight": 3.0} if y is TWO else {}
    model = classifier({"n_refits": 0, "n_draws": 1}, **options).fit(X, y)
    plain = XGBClassifier(**{**SMALL, **options}, n_jobs=1).fit(X, y)
    assert trees(model.estimators_[0]) == trees(plain)
    assert np.array_equal(model.estimators_[0].predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("options", [{}, {"subsample": 0.8, "random_state": 5}], ids=str)
def test_first_fit_is_the_plain_regressor(options):
    data, fitting = Data.of(X, SIGNAL), XGBoostFit(XGBRegressor(**SMALL, **options))
    plain = XGBRegressor(**SMALL, **options, n_jobs=1).fit(X, SIGNAL)
    model = fitting.fit(data, 5)
    assert trees(model) == trees(plain)
    assert np.array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("tree_method", ["hist", "approx"])
def test_first_fit_stops_where_the_plain_one_does(tree_method):
    early = {"n_estimators": 60, "early_stopping_rounds": 4, "tree_method": tree_method}
    evaluation = {
        "eval_set": [(X_VALID, THREE_VALID), (X_VALID[:30], THREE_VALID[:30])],
        "sample_weight_eval_set": [None, np.arange(30)],
    }
    plain = XGBClassifier(**{**SMALL, **early}, n_jobs=1)
    plain.fit(X, THREE, verbose=False, **evaluation)
    model = classifier({"n_refits": 0, "n_draws": 1}, **early).fit(X, THREE, **evaluation)
    first = model.estimators_[0]
    assert first.best_iteration == plain.best_iteration < 59
    assert (first.best_score, trees(first)) == (plain.best_score, trees(plain))
    assert np.array_equal(first.predict_proba(X), plain.predict_proba(X))


def test_a_refit_stops_on_the_real_rows_of_eval_set():
    """Gradients are ours, the metric is XGBoost's: it must see probabilities and real labels."""
    data = grown(X, THREE, lambda rng, rows: THREE[rows]).merge("labels")
    data.y[-40:] = 0  # some rows get two labels, so gradients are needed
    patient = XGBClassifier(n_estimators=30, learning_rate=0.5, early_stopping_rounds=30)
    fitting = XGBoostFit(patient, {"eval_set": [(X_VALID, THREE_VALID)]})
    fitting, labels = fitting.for_classes(np.arange(3))
    model = fitting.fit(data, 0, labels)
    losses = [
        log_loss(THREE_VALID, model.predict_proba(X_VALID, iteration_range=(0, k + 1)))
        for k in range(30)
    ]
    assert model.best_iteration == np.argmin(losses) < 29
    assert model.best_score == pytest.approx(min(losses), abs=1e-6)


def test_draws_stop_at_iterations_of_their_own():
    model = classifier({"n_draws": 6}, n_estimators=60, early_stopping_rounds=4)
    model.fit(X, THREE, eval_set=[(X_VALID, THREE_VALID)])
    stops = [draw.best_iteration for draw in model.estimators_]
    assert len(set(stops)) > 1
    assert max(stops) < 59


def test_categories_of_eval_set_may_come_in_another_order():
    def frame(codes, order):
        return pd.DataFrame({"c": pd.Categorical(NAMES[codes], categories=NAMES[order])})

    early = {"enable_categorical": True, "early_stopping_rounds": 3}
    evaluation = {"eval_set": [(frame(THREE_VALID, [2, 0, 1]), THREE_VALID)]}
    model = classifier({"n_refits": 0, "n_draws": 1}, **early)
    model.fit(frame(THREE, [0, 1, 2]), THREE, **evaluation)
    plain = XGBClassifier(**SMALL, **early, n_jobs=1)
    plain.fit(frame(THREE, [0, 1, 2]), THREE, verbose=False, **evaluation)
    assert model.estimators_[0].best_score == plain.best_score


# Draws: the user's class, as configured.


@pytest.mark.parametrize("make", [classifier, regressor])
def test_draws_are_fitted_estimators_of_the_users_class(make):
    model = make().fit(X, THREE if make is classifier else SIGNAL)
    for draw in model.estimators_:
        assert type(draw) is type(model.estimator)
        assert draw.feature_importances_.shape == (3,)
        assert draw.get_booster().num_boosted_rounds() == 5


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("base_score", [None, 0.3])
def test_draws_keep_the_users_parameters(y, base_score):
    model = classifier(base_score=base_score, reg_lambda=2.0, max_bin=64, n_jobs=3).fit(X, y)
    changed = {"objective", "random_state", "n_jobs"}
    theirs = model.estimator.get_params()
    for draw in model.estimators_:
        ours = draw.get_params()
        assert {name for name in theirs if ours[name] is not theirs[name]} <= changed
        assert ours["n_jobs"] == 1


def test_string_labels():
    model = classifier().fit(X, NAMES[THREE])
    coded = classifier().fit(X, THREE)
    assert np.array_equal(model.predict_proba(X), coded.predict_proba(X))
    assert set(model.predict(X)) <= set(NAMES)


def test_string_labels_in_eval_set():
    early = {"n_estimators": 60, "early_stopping_rounds": 4}
    named = classifier(**early).fit(X, NAMES[THREE], eval_set=[(X_VALID, NAMES[THREE_VALID])])
    coded = classifier(**early).fit(X, THREE, eval_set=[(X_VALID, THREE_VALID)])
    stops = [[draw.best_score for draw in model.estimators_] for model in (named, coded)]
    assert stops[0] == stops[1]


def test_categorical_columns():
    frame = pd.DataFrame({"c": pd.Categorical(NAMES[THREE]), "x": X[:, 1]})
    model = classifier(enable_categorical=True).fit(frame, THREE)
    types = [draw.get_booster().feature_types for draw in model.estimators_]
    assert types == [["c", "float"]] * 3
    assert (model.predict(frame) == THREE).mean() > 0.95


def test_every_draw_respects_monotone_constraints():
    model = regressor({"n_draws": 5}, monotone_constraints=(-1, 0, 0)).fit(X, SIGNAL)
    grid = np.column_stack([np.linspace(-2, 2, 50), np.zeros((50, 2))])
    assert (np.diff(model.posterior_predictions(grid), axis=1) <= 0).all()


def test_every_draw_respects_feature_weights():
    options = {"feature_weights": [0.0, 1.0, 0.0], "colsample_bynode": 0.4}
    model = classifier(**options).fit(X, THREE)
    assert {name for draw in model.estimators_ for name in draw.get_booster().get_score()} == {"f1"}


def test_feature_weights_of_fit_are_heard():
    model = classifier(colsample_bynode=0.4).fit(X, THREE, feature_weights=[0.0, 1.0, 0.0])
    assert set(model.estimators_[0].get_booster().get_score()) == {"f1"}


@pytest.mark.parametrize("options", [{"tree_method": "exact"}, {"tree_method": "approx"}], ids=str)
@pytest.mark.parametrize("make", [classifier, regressor])
def test_other_tree_methods(make, options):
    y = THREE if make is classifier else SIGNAL
    model = make(**options).fit(X_MISSING, y)
    hist = make().fit(X_MISSING, y)
    ours, theirs = (each.posterior_predictions(X_MISSING).mean(axis=0) for each in (model, hist))
    assert np.abs(ours - theirs).mean() < 0.2
    assert all(draw.tree_method == options["tree_method"] for draw in model.estimators_)


@pytest.mark.parametrize("start", ["estimator", "booster"])
def test_training_goes_on_from_a_given_model(start):
    given_model = XGBClassifier(**SMALL).fit(X, THREE)
    given_model = given_model if start == "estimator" else given_model.get_booster()
    model = classifier().fit(X, THREE, xgb_model=given_model)
    rounds = [draw.get_booster().num_boosted_rounds() for draw in model.estimators_]
    assert rounds == [10, 10, 10]


# Settings for which counts are not repeated rows.


def squared(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


def squared_with_weight(y_true, y_pred, sample_weight=None):
    weight = np.ones_like(y_pred) if sample_weight is None else sample_weight
    return (y_pred - y_true) * weight, weight


def absolute(y_true, y_pred):
    return float(np.abs(y_true - y_pred).mean())


FALL_BACK = {
    "subsample": {"subsample": 0.7},
    "objective": {"objective": squared},
    "weighted_objective": {"objective": squared_with_weight},
    "metric": {"eval_metric": absolute},
    "metrics": {"eval_metric": ["rmse", absolute]},
    "absolute_error": {"objective": "reg:absoluteerror"},
    "linear": {"booster": "gblinear", "max_depth": None, "max_bin": None},
}


@pytest.mark.parametrize("options", FALL_BACK.values(), ids=FALL_BACK)
def test_fall_back_to_repeated_rows(options, capsys):
    model = regressor(**options)
    assert XGBoostFit(model.estimator).traits.counts is False
    model.fit(X, SIGNAL, eval_set=[(X_VALID, X_VALID[:, 0])])
    assert np.corrcoef(model.predict(X), SIGNAL)[0, 1] > 0.7
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("objective", [squared, squared_with_weight])
def test_a_callable_objective_is_weighted_and_kept(objective):
    data = grown(X, SIGNAL, lambda rng, rows: rng.normal(SIGNAL[rows]))
    options = {**SMALL, "base_score": 0.0}
    model = XGBoostFit(XGBRegressor(**options, objective=objective)).fit(data, 0)
    built_in = XGBoostFit(XGBRegressor(**options)).fit(data, 0)
    np.testing.assert_allclose(model.predict(X), built_in.predict(X), atol=1e-5)
    assert model.objective is objective


@pytest.mark.parametrize("options", [{"subsample": 0.7}, {"objective": "multi:softmax"}], ids=str)
def test_classifiers_fall_back_too(options):
    model = classifier(**options)
    assert XGBoostFit(model.estimator).traits.counts is False
    assert (model.fit(X, NAMES[THREE]).predict(X) == NAMES[THREE]).mean() > 0.7


@pytest.mark.parametrize(
    ("estimator", "counts"),
    [
        (XGBClassifier(), "labels"),
        (XGBClassifier(booster="dart", subsample=1.0), "labels"),
        (XGBRegressor(), "means"),
        (XGBRegressor(objective="count:poisson"), "means"),
        (XGBRegressor(eval_metric=["rmse", "mae"]), "means"),
    ],
    ids=["classifier", "dart", "regressor", "poisson", "metrics"],
)
def test_counts(estimator, counts):
    assert XGBoostFit(estimator).traits.counts == counts


@pytest.mark.parametrize(
    "options", [{"booster": "dart"}, {"rate_drop": 0.5}, {"one_drop": True}, {"subsample": 0.5}]
)
def test_dropped_trees_are_drawn_at_random(options):
    assert not XGBoostFit(XGBClassifier(rate_drop=0.0)).randomised
    assert XGBoostFit(XGBClassifier(**options)).randomised


# Bins, processes, and what must not change.


@pytest.fixture
def built(monkeypatch):
    """How many rows each binned matrix had that was made."""
    sizes = []

    class Counted(xgboost.QuantileDMatrix):
        def __init__(self, data, *arguments, **options):
            sizes.append(len(data))
            super().__init__(data, *arguments, **options)

    monkeypatch.setattr(xgboost, "QuantileDMatrix", Counted)
    return sizes


def test_bins_are_built_once_for_all_refits(built):
    run = {"n_refits": 3, "calibration": None}
    classifier(run).fit(X, THREE, eval_set=[(X_VALID, THREE_VALID)])
    assert built == [64, 40] * 5 + [80, 40]  # five folds tell how sure to be, then all rows


def test_refits_have_as_many_bins_as_rows_can_fill(built):
    model = classifier({"n_refits": 3, "calibration": None}, max_bin=None).fit(X, THREE)
    assert built == [64] * 5 + [80, 80]  # five folds, the first fit, and all refits
    assert [draw.max_bin for draw in model.estimators_] == [None] * 3


def test_bins_are_built_anew_for_other_input_rows(built):
    classifier({"n_refits": 2, "n_draws": 2, "inputs": "kde", "calibration": None}).fit(X, THREE)
    # five folds, the first fit, then two refits of two draws
    assert built == [64] * 5 + [80, 120, 160, 120, 160]


def test_bins_are_not_kept_for_other_classes():
    """The labels of evaluation sets are kept in coded form."""
    algorithm = nb.ClassifierAlgorithm.of(
        XGBClassifier(**SMALL, early_stopping_rounds=3), eval_set=[(X_VALID, np.full(40, 1))]
    )
    run = {"n_draws": 1, "schedule": nb.Schedule.optimal(0), "random_state": 0}
    nb.martingale_posterior(algorithm, (X, THREE), **run)
    posterior = nb.martingale_posterior(algorithm, (X, THREE.clip(1)), **run)
    probability = posterior.predict(X_VALID)[0, :, 0]
    assert posterior.models[0].best_score == pytest.approx(-np.log(probability).mean(), abs=1e-6)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_kde_inputs(make):
    y = THREE if make is classifier else SIGNAL
    model = make({"inputs": "kde"}).fit(X, y)
    assert model.posterior_predictions(X).std(axis=0).max() > 0.01


def test_same_draws_for_any_number_of_processes():
    def fitted(n_jobs):
        model = classifier({"n_draws": 4, "n_jobs": n_jobs}, early_stopping_rounds=4)
        return model.fit(X, THREE, eval_set=[(X_VALID, THREE_VALID)]).posterior_predictions(X)

    serial = fitted(1)
    assert np.array_equal(serial, fitted(2))
    with joblib.parallel_config(backend="threading"):
        assert np.array_equal(serial, fitted(2))


def test_nothing_of_the_users_is_changed():
    model = classifier(n_jobs=3)
    before = model.estimator.get_params()
    numpy_state, state = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    model.fit(X, THREE)
    assert model.estimator.get_params() == before
    assert not hasattr(model.estimator, "_Booster")
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert random.getstate() == state


class CountRounds(TrainingCallback):
    def __init__(self):
        self.rounds = 0

    def after_iteration(self, model, epoch, evals_log):
        self.rounds += 1
        return False


@pytest.mark.parametrize("options", [{}, {"subsample": 0.7}], ids=["counts", "rows"])
def test_callbacks_are_not_shared_between_fits(options):
    mine = CountRounds()
    model = classifier(callbacks=[mine], **options).fit(X, THREE)
    assert mine.rounds == 0
    assert [draw.callbacks[0].rounds for draw in model.estimators_] == [5, 5, 5]


@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap", "ensemble"])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_every_method(make, method):
    y = THREE if make is classifier else SIGNAL
    predictions = make({"method": method}, colsample_bynode=0.5).fit(X, y).posterior_predictions(X)
    assert np.isfinite(predictions).all()
    assert predictions.std(axis=0).max() > 0.01


@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
@pytest.mark.parametrize("options", [{}, {"subsample": 0.9}], ids=["counts", "rows"])
@pytest.mark.parametrize("rare", [0, 1, 2])
def test_a_class_that_a_bootstrap_sample_lost(rare, options):
    y = (rare + 1 + np.arange(N) % 2) % 3
    y[0] = rare
    model = classifier({"method": "bootstrap", "n_draws": 8}, **options).fit(X, y)
    assert model.posterior_.failed == ()
    at_rare = model.posterior_predictions(X)[:, 0, rare]
    assert (at_rare < 0.001).any()
    assert (at_rare > 0.01).any()


def test_what_xgboost_warns_of_is_said_once():
    with pytest.warns(UserWarning, match="scale_pos_weight.*not used") as said:
        classifier({"n_jobs": 1}, scale_pos_weight=3.0).fit(X, THREE).predict(X)
    assert len(said) == 1
