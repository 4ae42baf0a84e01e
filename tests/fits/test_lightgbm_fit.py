"""LightGBM: the same trees as by hand, of the user's class, whatever the user configured."""

import copy
import warnings

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy import sparse

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.lightgbm_fit import LightGBMFit
from nearbayes.predictives.recalibration import N_FOLDS

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 3))
FRAME = pd.DataFrame(X.copy(), columns=["u", "v", "w"])
FRAME["w"] = pd.Categorical(np.array(["a", "b", "c", "d"])[np.digitize(X[:, 2], [-0.7, 0, 0.7])])
FRAME.loc[::7, "u"] = np.nan
SPARSE = sparse.csr_matrix(np.where(np.abs(X) < 0.8, 0.0, X))
TABLES = {"array": X, "frame": FRAME, "sparse": SPARSE}
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=N)
TWO, THREE = (SIGNAL > 0).astype(np.intp), np.digitize(SIGNAL, [-0.5, 0.5])
LABELS = np.array(["low", "mid", "top"])
X_VALID = RNG.normal(size=(60, 3))
THREE_VALID = np.digitize(X_VALID[:, 0] + 0.5 * RNG.normal(size=60), [-0.5, 0.5])
SMALL = {"n_estimators": 6, "num_leaves": 5, "learning_rate": 0.3, "verbosity": -1}
# leaves limited by their weights, which counts are exactly, rather than by their rows
BY_WEIGHT = {
    **SMALL,
    "max_bin": 255,  # its own default, but refits of few rows have fewer
    "min_child_samples": 1,
    "min_child_weight": 4.0,
    "min_data_in_bin": 1,
    "feature_pre_filter": False,
    "min_data_per_group": 1,
    "cat_smooth": 0.0,
}


def posterior(estimator=LGBMClassifier, run=None, **options):
    made = nb.PosteriorRegressor if estimator is LGBMRegressor else nb.PosteriorClassifier
    settings = {"n_draws": 3, "n_refits": 2, "random_state": 0, "progress": False}
    return made(estimator(**{**SMALL, **options}), **{**settings, **(run or {})})


# Exactness: counts against truly repeated rows.


def grown(table, y, sampled, size=300):
    """Real rows and imputed ones, as plain repeated rows."""
    rng = np.random.default_rng(1)
    index = np.concatenate([np.arange(N), rng.integers(N, size=size)])
    labels = np.concatenate([y, sampled(rng, index[N:])])
    return Data(table, index, labels, real=Data.of(table, y))


def by_lightgbm(data, **loss):
    """Raw scores of LightGBM's own loss on truly repeated rows, at the rows of the table."""
    params = {**BY_WEIGHT, "num_threads": 1, **loss}
    rounds = params.pop("n_estimators")
    bins = lightgbm.Dataset(data.table, np.zeros(N), params=params).construct()
    weight = np.full(len(data.y), N / len(data.y))
    rows = lightgbm.Dataset(data.x, data.y, bins, weight, params=params)
    return lightgbm.train(params, rows, rounds).predict(data.table, raw_score=True)


def by_counts(data, estimator):
    fitting = LightGBMFit(estimator.set_params(**BY_WEIGHT))
    classes = np.arange(len(np.unique(data.y)))
    labels = classes if isinstance(estimator, LGBMClassifier) else None
    merged = data.merge(fitting.traits.counts)
    assert len(merged.y) < len(data.y)
    return fitting.fit(merged, 0, labels).predict(data.table, raw_score=True)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    "options",
    [{}, {"scale_pos_weight": 3.0}, {"sigmoid": 0.7}, {"boost_from_average": False}],
    ids=["plain", "scaled", "sigmoid", "no_intercept"],
)
def test_two_classes_are_exactly_repeated_rows(table, options):
    data = grown(table, TWO, lambda rng, rows: rng.integers(2, size=len(rows)))
    expected = by_lightgbm(data, objective="binary", **options)
    assert expected.std() > 0.1
    np.testing.assert_allclose(by_counts(data, LGBMClassifier(**options)), expected, atol=1e-5)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("options", [{}, {"boosting_type": "dart"}], ids=["plain", "dart"])
def test_three_classes_are_exactly_repeated_rows(table, options):
    data = grown(table, THREE, lambda rng, rows: rng.integers(3, size=len(rows)))
    expected = by_lightgbm(data, objective="multiclass", num_class=3, seed=0, **options)
    np.testing.assert_allclose(by_counts(data, LGBMClassifier(**options)), expected, atol=1e-5)


OUTCOMES = {
    "regression": lambda rng, mean: rng.normal(mean),
    "poisson": lambda rng, mean: rng.poisson(np.exp(mean / 2)),
    "gamma": lambda rng, mean: rng.gamma(2.0, np.exp(mean / 2)),
    "tweedie": lambda rng, mean: rng.poisson(np.exp(mean / 2)) * rng.gamma(2.0, size=len(mean)),
    "cross_entropy": lambda rng, mean: 1 / (1 + np.exp(-rng.normal(mean))),
}


@pytest.mark.parametrize("objective", OUTCOMES)
def test_regression_is_exactly_repeated_rows(objective):
    def sampled(rng, rows):
        return OUTCOMES[objective](rng, SIGNAL[rows]).astype(float)

    data = grown(X, sampled(np.random.default_rng(2), np.arange(N)), sampled)
    expected = by_lightgbm(data, objective=objective)
    ours = by_counts(data, LGBMRegressor(objective=objective))
    np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_smallest_leaves_hold_a_share_of_the_rows():
    """A row per label must not make leaves smaller: the limit grows with them."""
    fitting = LightGBMFit(LGBMClassifier(**{**SMALL, "min_child_samples": 30}))
    data = grown(X, THREE, lambda rng, rows: rng.integers(3, size=len(rows))).merge("labels")
    assert fitting.fit(Data.of(X, THREE), 0, np.arange(3)).min_child_samples == 30
    model = fitting.fit(data, 0, np.arange(3))
    assert model.min_child_samples == round(30 * len(data.y) / N) > 30


def test_unlabelled_rows_do_not_make_leaves_smaller():
    pool = RNG.normal(size=(3 * N, 3))
    with_pool = LightGBMFit(LGBMRegressor(**SMALL)).fit(Data.of(X, SIGNAL).with_unlabelled(pool), 0)
    assert with_pool.min_child_samples == 4 * 20


# The first fit: what the user would have got without us.

FIRST = {"n_draws": 1, "n_refits": 0}
CLASSES = {"two": LABELS[TWO], "three": LABELS[THREE]}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("y", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_fit_of_classes_is_the_plain_fit(table, y, weighted):
    weight = RNG.integers(1, 4, N).astype(float) if weighted else None
    plain = LGBMClassifier(**SMALL, n_jobs=1).fit(table, y, sample_weight=weight)
    ours = posterior(run=FIRST).fit(table, y, sample_weight=weight)
    expected = plain.predict_proba(table)
    np.testing.assert_allclose(ours.posterior_predictions(table)[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"objective": "poisson"}, {"colsample_bytree": 0.5, "extra_trees": True}]
)
def test_the_first_fit_of_numbers_is_the_plain_fit(options):
    y = np.exp(SIGNAL)
    ours = LightGBMFit(LGBMRegressor(**SMALL, **options)).fit(Data.of(FRAME, y), 5)
    plain = LGBMRegressor(**SMALL, **options, random_state=5, n_jobs=1).fit(FRAME, y)
    np.testing.assert_allclose(ours.predict(FRAME), plain.predict(FRAME), atol=1e-12)


def test_weights_of_a_refit_do_not_stay():
    """LightGBM's `set_weight` leaves old weights where new ones are all 1."""
    fitting, data = LightGBMFit(LGBMRegressor(**SMALL)), Data.of(X, SIGNAL)
    before = fitting.fit(data, 0).predict(X)
    fitting.fit(Data(X, np.arange(N), SIGNAL, np.arange(N) % 3 + 1.0), 0)
    assert np.array_equal(fitting.fit(data, 0).predict(X), before)


# Draws are the user's class.


def test_private_names_of_lightgbm():
    """If this fails, LightGBM was changed: mend `_with_trees`, the only place that uses them."""
    names = {"_Booster", "_best_iteration", "_best_score", "_evals_result", "_other_params"}
    assert names <= set(vars(LGBMClassifier()))


def test_draws_have_all_that_a_fitted_model_has():
    y = LABELS[THREE]
    plain = LGBMClassifier(**SMALL, importance_type="gain").fit(FRAME, y)
    model = posterior(importance_type="gain").fit(FRAME, y)
    assert model.classes_.tolist() == LABELS.tolist()
    assert model.predict(FRAME)[0] in LABELS
    for draw in model.estimators_:
        assert type(draw) is LGBMClassifier
        assert set(vars(draw)) == set(vars(plain))
        assert {*draw.get_params()} == {*plain.get_params()}
        assert (draw.objective_, draw.n_classes_) == (plain.objective_, plain.n_classes_)
        assert draw.feature_name_ == draw.booster_.feature_name() == ["u", "v", "w"]
        assert draw.feature_names_in_.tolist() == ["u", "v", "w"]
        assert draw.n_features_in_ == 3
        assert draw.n_estimators_ == SMALL["n_estimators"]
        assert (draw.best_iteration_, draw.best_score_, draw.evals_result_) == (0, {}, {})
        assert draw.feature_importances_.sum() > 0
        probability = draw.predict_proba(FRAME)
        assert np.array_equal(draw.predict(FRAME), draw.classes_[probability.argmax(axis=1)])
        again = copy.deepcopy(draw)
        assert np.array_equal(again.predict_proba(FRAME), probability)
    assert len({draw.booster_.model_to_string() for draw in model.estimators_}) == 3


def test_regressor_draws():
    model = posterior(LGBMRegressor).fit(X, SIGNAL)
    assert all(type(draw) is LGBMRegressor for draw in model.estimators_)
    assert model.estimators_[0].feature_name_ == ["Column_0", "Column_1", "Column_2"]
    assert model.estimators_[0].objective_ == "regression"
    assert model.posterior_predictions(X).std(axis=0).mean() > 0


# LightGBM's own predictions warn of names that a table without any was fitted with
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_categorical_columns_by_number_and_own_names():
    table = np.column_stack([X[:, :2], np.digitize(X[:, 2], [-0.7, 0, 0.7])])
    given = {"categorical_feature": [2], "feature_name": ["u", "v", "kind"]}
    plain = LGBMClassifier(**BY_WEIGHT).fit(table, THREE, **given)
    own = {name: value for name, value in BY_WEIGHT.items() if name not in SMALL}
    sets = {"eval_set": [(table[:40], THREE[:40])]}
    model = posterior(run=FIRST, **own).fit(table, THREE, **given, **sets)
    expected = plain.predict_proba(table)
    np.testing.assert_allclose(model.posterior_predictions(table)[0], expected, atol=1e-12)
    refitted = posterior(**own).fit(table, THREE, **given, **sets)
    assert refitted.estimators_[0].feature_name_ == ["u", "v", "kind"]
    splits = pd.concat(draw.booster_.trees_to_dataframe() for draw in refitted.estimators_)
    assert (splits.query("split_feature == 'kind'").decision_type == "==").all()


# Early stopping.

VALID = {"eval_set": [(X_VALID, LABELS[THREE_VALID])]}
STOPS = {"n_estimators": 60, "early_stopping_round": 2}


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (STOPS, VALID),
        ({"n_estimators": 60, "n_iter_no_change": 2}, VALID),
        ({"n_estimators": 60}, {**VALID, "callbacks": [lightgbm.early_stopping(2, verbose=False)]}),
        (STOPS, {"eval_X": X_VALID, "eval_y": LABELS[THREE_VALID]}),
        (STOPS, {"eval_X": (X_VALID,), "eval_y": (LABELS[THREE_VALID],)}),
        (STOPS, {"eval_set": VALID["eval_set"][0]}),
        (STOPS, {**VALID, "eval_metric": "multi_logloss"}),
    ],
    ids=["round", "alias", "callback", "eval_X", "eval_X_tuple", "one_pair", "eval_metric"],
)
def test_early_stopping_is_repeated(options, given):
    draws = posterior(**options).fit(X, LABELS[THREE], **given).estimators_
    rounds = [draw.best_iteration_ for draw in draws]
    assert rounds == [draw.n_estimators_ for draw in draws]
    assert max(rounds) < 60
    assert len(set(rounds)) > 1
    for draw in draws:
        losses = draw.evals_result_["valid_0"]["multi_logloss"]
        assert np.argmin(losses) + 1 == draw.best_iteration_
        assert draw.best_score_["valid_0"]["multi_logloss"] == min(losses)


def test_evaluation_is_that_of_the_plain_fit():
    """Metrics, names and weights of evaluation sets; the training rows do not stop."""
    y, y_valid = THREE > 0, THREE_VALID > 0
    metrics = ["error", "auc"]
    given = {
        "eval_names": ["first", "second"],
        "eval_sample_weight": [None, np.linspace(0.5, 2.0, 30)],
        "eval_metric": metrics,
    }
    sets = [(X_VALID[:30], y_valid[:30]), (X_VALID[30:], y_valid[30:])]
    ours = posterior(run=FIRST, **STOPS).fit(X, y, eval_set=sets, **given).estimators_[0]
    assert metrics == ["error", "auc"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eval_set is deprecated from 4.7 on
        plain = LGBMClassifier(**{**SMALL, **STOPS}).fit(X, y, eval_set=sets, **given)
    assert ours.best_iteration_ == plain.best_iteration_
    assert ours.evals_result_.keys() == plain.evals_result_.keys() == {"first", "second"}
    for name, results in plain.evals_result_.items():
        assert results.keys() == ours.evals_result_[name].keys()
        for metric, values in results.items():
            np.testing.assert_allclose(ours.evals_result_[name][metric], values, atol=1e-12)


def test_training_rows_among_the_evaluation_sets_do_not_stop():
    both = {"eval_set": [(X, LABELS[THREE]), *VALID["eval_set"]]}
    alone, beside = (posterior(**STOPS).fit(X, LABELS[THREE], **sets) for sets in (VALID, both))
    rounds = [[draw.best_iteration_ for draw in each.estimators_] for each in (alone, beside)]
    assert rounds[0] == rounds[1]
    assert set(beside.estimators_[0].evals_result_) == {"training", "valid_1"}


# Settings for which counts are not repeated rows.


def focal(y, score):
    return score - y, np.ones_like(score)


def far(y, predicted):
    return "far", float(np.abs(predicted).mean()), False


FALL_BACK = [
    LGBMClassifier(subsample=0.7, subsample_freq=1),
    LGBMClassifier(bagging_fraction=0.7, bagging_freq=2),
    LGBMClassifier(pos_bagging_fraction=0.7, bagging_freq=2),
    LGBMClassifier(boosting_type="rf", subsample=0.7, subsample_freq=1),
    LGBMClassifier(boosting="goss"),
    LGBMClassifier(data_sample_strategy="goss"),
    LGBMClassifier(class_weight="balanced"),
    LGBMClassifier(class_weight={"low": 2.0}),
    LGBMClassifier(is_unbalance=True),
    LGBMClassifier(objective="multiclassova"),
    LGBMRegressor(linear_tree=True),
    LGBMRegressor(objective="quantile"),
    LGBMRegressor(objective=focal),
    LGBMRegressor(loss="l1"),
    LGBMRegressor(reg_sqrt=True),
]


@pytest.mark.parametrize("estimator", FALL_BACK)
def test_fall_back(estimator):
    assert LightGBMFit(estimator).traits.counts is False


@pytest.mark.parametrize(
    ("estimator", "counts"),
    [
        (LGBMClassifier(), "labels"),
        (LGBMClassifier(subsample=0.7), "labels"),  # no frequency, no subsampling
        (LGBMClassifier(boosting_type="dart", objective="softmax"), "labels"),
        (LGBMRegressor(), "means"),
        (LGBMRegressor(application="tweedie"), "means"),
    ],
    ids=str,
)
def test_no_fall_back(estimator, counts):
    fitting = fitting_of(estimator, {})
    assert type(fitting) is LightGBMFit
    assert fitting.traits.counts == counts


def test_functions_as_metrics_and_started_models_fall_back():
    start = LGBMClassifier(**SMALL).fit(X, THREE)
    for given in ({"eval_metric": far}, {"eval_metric": ["auc", far]}, {"init_model": start}):
        assert LightGBMFit(LGBMClassifier(), given).traits.counts is False


@pytest.mark.parametrize(
    "options",
    [{"subsample": 0.7, "subsample_freq": 1}, {"class_weight": {"low": 2.0}}],
    ids=["subsample", "class_weight"],
)
def test_draws_that_fall_back(options):
    model = posterior(**options).fit(FRAME, LABELS[THREE])
    assert model.posterior_predictions(FRAME).std(axis=0).mean() > 0
    assert model.estimators_[0].classes_.tolist() == LABELS.tolist()
    # leaves grow with repeated rows, as these count in full
    assert model.estimators_[0].min_child_samples > 20


# Whatever the data and the machine do.


@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
def test_a_class_lost_in_a_sample_is_known_all_the_same():
    y = np.where(np.arange(N) < 2, 2, TWO)
    fitting, labels = LightGBMFit(LGBMClassifier(**SMALL)).for_classes(np.arange(3))
    kept = np.arange(2, N)
    model = fitting.fit(Data(X, kept, y[kept], np.ones(N - 2)), 0, labels)
    assert model.predict_proba(X).shape == (N, 3)
    assert model.predict_proba(X)[:, 2].max() < 1e-6
    draws = posterior(run={"n_draws": 12, "method": "bootstrap"}).fit(X, y).posterior_predictions(X)
    lost = draws[:, :, 2].max(axis=1) < 1e-6
    assert 0 < lost.sum() < 12
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_same_seed_same_draws_for_any_number_of_jobs(backend):
    options = {**STOPS, "colsample_bytree": 0.5}
    one = posterior(run={"n_draws": 4}, **options).fit(X, LABELS[THREE], **VALID)
    with joblib.parallel_config(backend=backend):
        model = posterior(run={"n_draws": 4, "n_jobs": 2}, **options)
        two = model.fit(X, LABELS[THREE], **VALID)
    assert np.array_equal(one.posterior_predictions(X), two.posterior_predictions(X))


def test_nothing_of_the_user_is_changed():
    callback = lightgbm.early_stopping(2, verbose=False)
    given = {**VALID, "callbacks": [callback], "eval_metric": ["logloss"]}
    estimator = LGBMClassifier(**SMALL)
    before = joblib.hash((vars(estimator), vars(callback), given["eval_metric"], FRAME))
    nb.PosteriorClassifier(estimator, n_draws=2, n_refits=1, random_state=0).fit(
        X, LABELS[THREE], **given
    )
    posterior().fit(FRAME, LABELS[THREE])
    assert joblib.hash((vars(estimator), vars(callback), given["eval_metric"], FRAME)) == before


@pytest.mark.parametrize("y", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize(("bins", "times"), [({"max_bin": 255}, 1), ({}, 2)])
def test_rows_are_binned_once(monkeypatch, y, bins, times):
    """Refits cost no more than trees: the table is binned once, however many refits and draws.

    Where the user has not chosen the bins, once more, as refits have fewer than the first fit. The
    folds that tell how sure to be of a fit are tables of their own.
    """
    binned = []

    class Counted(lightgbm.Dataset):
        def __init__(self, data, *args, **kwargs):
            binned.append(data)
            super().__init__(data, *args, **kwargs)

    monkeypatch.setattr(lightgbm, "Dataset", Counted)
    sets = [(X_VALID, y[: len(X_VALID)])]
    run = {"n_draws": 4, "n_refits": 5, "calibration": None}
    posterior(run=run, **bins).fit(X, y, eval_set=sets)
    assert sum(len(table) == N for table in binned) == times
    assert sum(len(table) < N for table in binned) == times + 2 * N_FOLDS


def test_one_thread_and_no_words(capfd):
    model = posterior(num_threads=7, **STOPS).fit(X, LABELS[THREE], **VALID)
    assert "[num_threads: 1]" in model.estimators_[0].booster_.model_to_string()
    assert capfd.readouterr() == ("", "")


# Bad input gets one sentence.


@pytest.mark.parametrize(
    ("options", "given", "error", "words"),
    [
        ({}, {"init_score": np.zeros(N)}, ValueError, "init_score must not be passed"),
        (STOPS, {}, ValueError, "early_stopping_round=2 needs an eval_set, got none"),
        ({"early_stopping": 4}, {}, ValueError, "early_stopping_round=4 needs an eval_set"),
        ({}, {"eval_X": X_VALID}, ValueError, "eval_X and eval_y must be passed together"),
        ({}, {"eval_sets": []}, TypeError, "LGBMClassifier.fit has no argument 'eval_sets'"),
        ({}, {"eval_set": [(X, ["huge"] * N)]}, ValueError, "classes of y, got .'huge'"),
    ],
    ids=["init_score", "no_rows", "no_rows_alias", "half", "misspelt", "unknown_class"],
)
def test_clear_errors(options, given, error, words):
    with pytest.raises(error, match=words):
        posterior(**options).fit(X, LABELS[THREE], **given)
