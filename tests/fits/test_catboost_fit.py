"""CatBoost: the user's own settings in every draw, categories, losses and early stopping."""

import copy
import random
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("catboost")

from catboost import CatBoostClassifier, CatBoostRegressor, Pool

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.files.arrays import NotSaveable
from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.catboost_fit import CatBoostFit
from nearbayes.fits.estimator_fit import EstimatorFit, unfitted

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=N)
TWO, THREE = (SIGNAL > 0).astype(np.intp), np.digitize(SIGNAL, [-0.5, 0.5])
NAMES = np.array(["low", "mid", "top"])
FRAME = pd.DataFrame({"colour": NAMES[THREE], "size": np.where(X[:, 1] > 1, np.nan, X[:, 1])})
X_VALID = RNG.normal(size=(40, 3))
SIGNAL_VALID = X_VALID[:, 0] + 0.5 * RNG.normal(size=40)
THREE_VALID = np.digitize(SIGNAL_VALID, [-0.5, 0.5])
SMALL = {"iterations": 8, "depth": 3}
QUIET = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
# Without chance, and with borders of bins that do not depend on how often values occur.
FIXED = {
    "bootstrap_type": "No",
    "random_strength": 0,
    "boosting_type": "Plain",
    "feature_border_type": "Uniform",
    "learning_rate": 0.3,
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    """CatBoost writes its files where it runs; every test checks that there are none."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path("catboost_info").exists()


def posterior(kind, run=None, **options):
    face = nb.PosteriorClassifier if kind is CatBoostClassifier else nb.PosteriorRegressor
    usual = {"n_draws": 3, "n_refits": 2, "random_state": 0, "calibration": None, "progress": False}
    return face(kind(**{**SMALL, **options}), **{**usual, **(run or {})})


def classifier(run=None, **options):
    return posterior(CatBoostClassifier, run, **options)


def regressor(run=None, **options):
    return posterior(CatBoostRegressor, run, **options)


def grown(y, times=3):
    """Real rows, and each of them imputed with its own label, so that all count `times`."""
    return Data(X, np.tile(np.arange(N), times), np.tile(y, times), real=Data.of(X, y))


def raw(model):
    return model.predict(X, prediction_type="RawFormulaVal")


# Weights, repeats and what depends on the number of rows.


@pytest.mark.parametrize("options", [{}, {"bootstrap_type": "No", "random_strength": 0}], ids=str)
@pytest.mark.parametrize("kind", [CatBoostClassifier, CatBoostRegressor])
def test_weights_are_not_repeated_rows(kind, options):
    """So counts are not declared; by much more than rounding."""
    y, times = (TWO if kind is CatBoostClassifier else SIGNAL), 1 + np.arange(N) % 3
    model = kind(**SMALL, **QUIET, **options, learning_rate=0.3, random_seed=0)
    weighted = raw(model.copy().fit(X, y, sample_weight=times))
    repeated = raw(model.copy().fit(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert np.abs(weighted - repeated).max() > 0.1 * weighted.std()
    assert CatBoostFit(model).traits.counts is False


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_catboost_divides_weights_by_their_mean(scale):
    """So weights that sum to n do not keep the penalty's strength, as in XGBoost."""
    model = CatBoostRegressor(**SMALL, **QUIET, **FIXED)
    plain, scaled = (model.copy().fit(X, SIGNAL, sample_weight=[w] * N) for w in (1, scale))
    np.testing.assert_allclose(raw(scaled), raw(plain), atol=1e-9)


def test_weights_and_repeats_differ_by_the_penalty_alone_without_chance():
    times = 1 + np.arange(N) % 3
    growth = times.sum() / N
    model = CatBoostRegressor(**SMALL, **QUIET, **FIXED)
    weighted = raw(model.copy().fit(X, SIGNAL, sample_weight=times))
    rows = np.repeat(np.arange(N), times)
    scaled = model.copy().set_params(l2_leaf_reg=3 * growth).fit(X[rows], SIGNAL[rows])
    np.testing.assert_allclose(weighted, raw(scaled), atol=1e-6)
    assert np.abs(weighted - raw(model.copy().fit(X[rows], SIGNAL[rows]))).max() > 1e-3


def test_imputed_rows_are_passed_one_by_one_with_weights_that_sum_to_n(monkeypatch):
    given = {}

    def fit(self, X, y, sample_weight=None, callbacks=None, verbose=None):
        given.update(X=X, sample_weight=sample_weight)

    monkeypatch.setattr(CatBoostRegressor, "fit", fit)
    CatBoostFit(CatBoostRegressor()).fit(grown(SIGNAL), 0)
    assert given["X"].shape == (3 * N, 3)
    assert given["sample_weight"].sum() == pytest.approx(N)


def test_leaves_grow_with_the_rows():
    options = {"grow_policy": "Depthwise", "min_data_in_leaf": 10}
    fitting = CatBoostFit(CatBoostRegressor(**SMALL, **options))
    fits = [fitting.fit(data, 0).get_params() for data in (Data.of(X, SIGNAL), grown(SIGNAL))]
    assert [params["min_data_in_leaf"] for params in fits] == [10, 30]


@pytest.mark.parametrize("kind", [CatBoostClassifier, CatBoostRegressor])
@pytest.mark.parametrize("options", [{}, {"boosting_type": "Ordered"}], ids=str)
def test_first_fit_is_the_plain_one(kind, options):
    y, labels = (THREE, np.arange(3)) if kind is CatBoostClassifier else (SIGNAL, None)
    model = CatBoostFit(kind(**SMALL, **options)).fit(Data.of(X, y), 5, labels)
    plain = kind(**SMALL, **QUIET, **options, random_seed=5).fit(X, y)
    assert np.array_equal(raw(model), raw(plain))


# The user's estimator: copied, seeded, silent, never changed.


def test_adapters():
    for kind in (CatBoostClassifier, CatBoostRegressor):
        assert type(fitting_of(kind(), {})) is CatBoostFit
    assert type(fitting_of(make_pipeline(CatBoostRegressor()), {})) is EstimatorFit


def test_draws_differ_by_their_seeds_and_use_one_thread():
    model = regressor({"method": "ensemble"}, thread_count=4).fit(X, SIGNAL)
    params = [draw.get_params() for draw in model.estimators_]
    assert len({each["random_seed"] for each in params}) == 3
    assert {each["thread_count"] for each in params} == {1}
    assert model.posterior_predictions(X).std(axis=0).max() > 0.01


@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted"])
def test_nothing_of_the_users_is_changed(fitted):
    estimator = CatBoostClassifier(**SMALL, **QUIET, cat_features=["colour"], random_state=3)
    if fitted:
        estimator.fit(FRAME, TWO)
    before, frame = copy.deepcopy(estimator.get_params()), FRAME.copy()
    numpy_state, state = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    model = nb.PosteriorClassifier(estimator, n_draws=2, n_refits=1, calibration=None)
    model.fit(FRAME, THREE)
    assert model.estimator is estimator
    assert estimator.get_params() == before
    assert estimator.is_fitted() == fitted
    pd.testing.assert_frame_equal(FRAME, frame)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert random.getstate() == state


@pytest.mark.parametrize(
    "options",
    [{}, {"verbose": True}, {"silent": False}, {"logging_level": "Verbose"}, {"verbose": 2}],
    ids=str,
)
@pytest.mark.parametrize("asked", [{}, {"verbose": True}, {"logging_level": "Verbose"}], ids=str)
def test_fits_are_silent(options, asked, capfd):
    regressor({"n_draws": 1, "n_refits": 1}, **options).fit(X, SIGNAL, **asked)
    assert capfd.readouterr() == ("", "")


def test_lists_among_parameters_can_be_cloned():
    estimator = CatBoostClassifier(cat_features=[0], class_weights=[1, 2])
    with pytest.raises(RuntimeError, match="Cannot clone"):
        clone(estimator)
    model = nb.PosteriorClassifier(estimator, n_draws=7)
    cloned = clone(model)
    assert cloned.n_draws == 7
    assert cloned.estimator is not estimator
    assert cloned.estimator.get_params() == estimator.get_params()
    assert model.get_params()["estimator__cat_features"] == [0]
    assert model.set_params(estimator__depth=2).estimator.get_params()["depth"] == 2


def test_a_fitted_posterior_is_cloned_without_its_draws():
    cloned = clone(classifier(cat_features=["colour"]).fit(FRAME, TWO))
    assert not hasattr(cloned, "posterior_")
    assert not cloned.estimator.is_fitted()


def test_cross_validation():
    scores = cross_val_score(classifier(cat_features=["colour"]), FRAME, TWO, cv=2)
    assert scores.mean() > 0.7


def test_pipelines_with_lists_among_parameters():
    steps = make_pipeline(
        StandardScaler(), CatBoostRegressor(**SMALL, monotone_constraints=[1, 0, 0])
    )
    model = nb.PosteriorRegressor(steps, n_draws=2, n_refits=1, calibration=None, random_state=0)
    assert clone(model).fit(X, SIGNAL).posterior_predictions(X).std(axis=0).max() > 0


def test_others_that_cannot_be_cloned_are_refused_as_before():
    class Own(CatBoostRegressor):
        """Of another package than CatBoost."""

    with pytest.raises(RuntimeError, match="Cannot clone"):
        unfitted(Own(monotone_constraints=[1, 0]))


def test_same_draws_for_any_number_of_processes():
    def drawn(n_jobs):
        model = classifier({"n_draws": 4, "n_jobs": n_jobs}, cat_features=["colour"])
        return model.fit(FRAME, THREE).posterior_predictions(FRAME)

    serial = drawn(1)
    assert np.array_equal(serial, drawn(2))
    with joblib.parallel_config(backend="threading"):
        assert np.array_equal(serial, drawn(2))


# Tables and their columns.


@pytest.mark.parametrize("how", ["constructor", "index", "fit"])
@pytest.mark.parametrize(
    "make",
    [lambda: FRAME, lambda: FRAME.astype({"colour": "category"}), lambda: pl.from_pandas(FRAME)],
    ids=["pandas", "category", "polars"],
)
def test_categories_and_missing_numbers(make, how):
    table, columns = make(), [0] if how == "index" else ["colour"]
    model = classifier(**({} if how == "fit" else {"cat_features": columns}))
    model.fit(table, THREE, **({"cat_features": columns} if how == "fit" else {}))
    assert (model.predict(table) == THREE).mean() > 0.95
    assert all(draw.get_cat_feature_indices() == [0] for draw in model.estimators_)


def test_categories_of_arrays_and_unseen_ones():
    table = FRAME.to_numpy()
    model = classifier(cat_features=[0]).fit(table, THREE)
    assert (model.predict(table) == THREE).mean() > 0.95
    unseen = table.copy()
    unseen[:, 0] = "mauve"
    assert np.isfinite(model.predict_proba(unseen)).all()


def test_every_draw_respects_monotone_constraints():
    model = regressor({"n_draws": 5}, monotone_constraints=[-1, 0, 0]).fit(X, SIGNAL)
    grid = np.column_stack([np.linspace(-2, 2, 50), np.zeros((50, 2))])
    assert (np.diff(model.posterior_predictions(grid), axis=1) <= 0).all()


# Classes, losses and outcomes.


@pytest.mark.parametrize("loss", [None, "Logloss", "CrossEntropy", "MultiClass"])
@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1, 1], [3, 7], [1.0, 2.0]], ids=str
)
def test_two_classes(labels, loss):
    y = np.array(labels)[TWO]
    options = {} if loss is None else {"loss_function": loss}
    model = classifier(**options).fit(X, y, eval_set=(X_VALID, np.array(labels)[THREE_VALID // 2]))
    assert model.classes_.tolist() == labels
    assert (model.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("loss", [None, "MultiClass", "MultiClassOneVsAll"])
@pytest.mark.parametrize("labels", [NAMES, np.array([5, 6, 9])], ids=str)
def test_three_classes(labels, loss):
    options = {} if loss is None else {"loss_function": loss}
    model = classifier(**options, class_weights=dict.fromkeys(labels.tolist(), 1))
    model.fit(X, labels[THREE])
    assert (model.predict(X) == labels[THREE]).mean() > 0.7
    np.testing.assert_allclose(model.posterior_predictions(X).sum(axis=2), 1)
    assert all(draw.classes_.tolist() == labels.tolist() for draw in model.estimators_)


@pytest.mark.parametrize("rare", [0, 1, 2])
def test_a_class_that_a_bootstrap_sample_lost(rare):
    y = (rare + 1 + np.arange(N) % 2) % 3
    y[0] = rare
    model = classifier({"method": "bootstrap", "n_draws": 8}, class_weights=[1, 2, 3])
    model.fit(X, NAMES[y], eval_set=(X, NAMES[y]))
    assert model.posterior_.failed == ()
    assert model.predict_proba(X).shape == (N, 3)


@pytest.mark.parametrize(
    "loss", ["MAE", "Quantile", "Quantile:alpha=0.5", "Huber:delta=1", "Expectile:alpha=0.5"]
)
def test_losses_with_a_centre(loss):
    model = regressor(loss_function=loss, learning_rate=0.5).fit(X, SIGNAL)
    assert np.corrcoef(model.predict(X), SIGNAL)[0, 1] > 0.7


@pytest.mark.parametrize("loss", ["Poisson", "Tweedie:variance_power=1.5"])
def test_counts_are_imputed_from_the_distribution_of_the_loss(loss):
    y = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    model = regressor({"n_draws": 4}, loss_function=loss, learning_rate=0.3).fit(X, y)
    assert CatBoostFit(model.estimator).variance_power == (1.0 if loss == "Poisson" else 1.5)
    assert (model.posterior_predictions(X) > 0).all()
    assert (model.sample(X, 5) >= 0).all()


def test_several_outputs():
    y = np.column_stack([SIGNAL, -SIGNAL])
    model = regressor(loss_function="MultiRMSE", learning_rate=0.5).fit(X, y)
    assert model.posterior_predictions(X).shape == (3, N, 2)


# Early stopping.


def test_first_fit_stops_where_the_plain_one_does():
    options = {"iterations": 60, "early_stopping_rounds": 4, "learning_rate": 0.3}
    evaluation = {"eval_set": [(X_VALID, NAMES[THREE_VALID])]}
    fitting = CatBoostFit(CatBoostClassifier(**options), evaluation)
    model = fitting.fit(Data.of(X, THREE), 5, NAMES)
    plain = CatBoostClassifier(**options, **QUIET, random_seed=5)
    plain.fit(X, NAMES[THREE], **evaluation)
    assert model.best_iteration_ == plain.best_iteration_ < 59
    assert model.best_score_ == plain.best_score_


@pytest.mark.parametrize("where", ["early_stopping_rounds", "od_wait", "fit"])
def test_draws_stop_at_iterations_of_their_own(where):
    options = {"iterations": 60, "learning_rate": 0.3, **({} if where == "fit" else {where: 4})}
    asked = {"early_stopping_rounds": 4} if where == "fit" else {}
    model = classifier({"n_draws": 6}, **options)
    model.fit(X, THREE, eval_set=(X_VALID, THREE_VALID), **asked)
    stops = [draw.best_iteration_ for draw in model.estimators_]
    assert len(set(stops)) > 1
    assert max(stops) < 59


def test_outcomes_of_evaluation_sets_are_replaced():
    fitting = CatBoostFit(CatBoostRegressor(), {"eval_set": (X_VALID, SIGNAL_VALID)})
    ((x, y),) = fitting.with_outcomes(lambda x, y: y + 1).params["eval_set"]
    assert x is X_VALID
    assert np.array_equal(y, SIGNAL_VALID + 1)
    assert fitting.params["eval_set"][1] is SIGNAL_VALID
    plain = CatBoostFit(CatBoostRegressor())
    assert plain.with_outcomes(lambda x, y: y) is plain


@pytest.mark.parametrize("make", [classifier, regressor])
def test_calibration(make):
    y, valid = (NAMES[THREE], NAMES[THREE_VALID]) if make is classifier else (SIGNAL, SIGNAL_VALID)
    model = make({"calibration": "simulation", "n_draws": 4}, early_stopping_rounds=3)
    model.fit(X, y, eval_set=(X_VALID, valid))
    assert model.calibration_ is not None


class CountRounds:
    def __init__(self):
        self.rounds = 0

    def after_iteration(self, info):
        self.rounds += 1
        return True


def test_callbacks_are_not_shared_between_fits():
    mine = CountRounds()
    regressor().fit(X, SIGNAL, callbacks=[mine])
    assert mine.rounds == 0


# What is refused, in one sentence.


MESSAGES = {
    "early_stopping": (
        lambda: classifier(early_stopping_rounds=3).fit(X, THREE),
        "early_stopping_rounds=3 needs an eval_set, got none: fit",
    ),
    "od_wait": (lambda: regressor(od_wait=3).fit(X, SIGNAL), "od_wait=3 needs an eval_set"),
    "eval_fraction": (
        lambda: regressor(eval_fraction=0.2).fit(X, SIGNAL),
        "eval_fraction would evaluate on imputed rows: use fit",
    ),
    "snapshot": (
        lambda: regressor(save_snapshot=True).fit(X, SIGNAL),
        "save_snapshot is for one fit, not for many",
    ),
    "pool": (
        lambda: classifier().fit(X, THREE, eval_set=Pool(X, THREE)),
        r"eval_set must be a pair .* Pool cannot .* got Pool: fit",
    ),
    "unknown_class": (
        lambda: classifier().fit(X, THREE, eval_set=(X, np.full(N, 7))),
        r"eval_set must hold only classes of y, got \[7\]",
    ),
    "misspelling": (
        lambda: classifier().fit(X, THREE, eval_sets=(X, THREE)),
        "CatBoostClassifier.fit has no argument 'eval_sets'",
    ),
    "baseline": (
        lambda: regressor().fit(X, SIGNAL, baseline=np.zeros(N)),
        "baseline is not for imputed rows",
    ),
    "text_features": (
        lambda: classifier(text_features=["colour"]).fit(FRAME, THREE),
        "text_features is not for imputed rows, which repeat",
    ),
    "text_of_fit": (
        lambda: classifier().fit(FRAME, THREE, text_features=["colour"]),
        "text_features is not for imputed rows, which repeat",
    ),
    "text": (
        lambda: classifier().fit(FRAME, THREE),
        r"column 'colour' of X holds text: name it in cat_features=\['colour'\]",
    ),
    "category": (
        lambda: classifier().fit(FRAME.astype({"colour": "category"}), THREE),
        "column 'colour' of X holds text",
    ),
    "missing_category": (
        lambda: classifier(cat_features=[0]).fit(FRAME.replace({"colour": {"mid": None}}), THREE),
        "column 'colour' of X has missing values, which CatBoost does not take among categories",
    ),
    "polars": (
        lambda: classifier(cat_features=["colour"]).fit(
            pl.from_pandas(FRAME).with_columns(pl.col("colour").cast(pl.Categorical)), THREE
        ),
        "column 'colour' of X is Categorical, which crashes CatBoost with polars: use",
    ),
    "focal": (
        lambda: classifier(loss_function="Focal:focal_alpha=0.3;focal_gamma=2").fit(X, TWO),
        "loss_function='Focal:.*' gives no probabilities to impute labels from: use one of Logl",
    ),
    "rmse": (
        lambda: classifier(objective="RMSE").fit(X, TWO),
        "loss_function='RMSE' gives no probabilities",
    ),
    "cross_entropy": (
        lambda: classifier(loss_function="CrossEntropy").fit(X, THREE),
        "loss_function='CrossEntropy' is for two classes, got 3: use loss_function='MultiClass'",
    ),
    "quantile": (
        lambda: regressor(loss_function="Quantile:alpha=0.9").fit(X, SIGNAL),
        "'Quantile:alpha=0.9' predicts no mean or median .* predict_quantiles",
    ),
    "uncertainty": (
        lambda: regressor(loss_function="RMSEWithUncertainty").fit(X, SIGNAL),
        "'RMSEWithUncertainty' predicts no mean or median",
    ),
    "negative_counts": (
        lambda: regressor(loss_function="Poisson").fit(X, SIGNAL),
        "y must be at least 0 for a Poisson loss, got -",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    action, message = MESSAGES[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        action()
    assert "\n" not in str(caught.value)


def test_models_are_not_saved_but_predictions_are():
    model = classifier(cat_features=["colour"]).fit(FRAME, NAMES[THREE])
    with pytest.raises(NotSaveable, match=r"CatBoost's own files .* predict_on=X to save") as said:
        model.save("model.nearbayes")
    assert "trusted" not in str(said.value)
    assert not Path("model.nearbayes").exists()
    kept = classifier(cat_features=["colour"]).fit(FRAME, NAMES[THREE], predict_on=FRAME)
    loaded = nb.load(kept.save("kept.nearbayes"))
    assert np.array_equal(loaded.predict_proba(FRAME), kept.predict_proba(FRAME))
    assert np.array_equal(kept.predict_proba(FRAME), model.predict_proba(FRAME))
