"""XGBoost and LightGBM given what they cannot use: one clear message, and nothing is lost."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.exceptions import NotFittedError
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from nearbayes.core.engine import DrawWarning

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=N)
THREE = np.digitize(SIGNAL, [-0.5, 0.5])
COLOURS = np.array(["blue", "green", "red"])
FRAME = pd.DataFrame({"colour": pd.Categorical(COLOURS[THREE]), "size": X[:, 1]})
LIBRARIES = ["xgboost", "lightgbm"]
TASKS = ["classes", "numbers"]
# without calibration, which asks nothing of these libraries that a fit does not
SETTINGS = {
    "n_draws": 3,
    "n_refits": 2,
    "calibration": None,
    "random_state": 0,
    "progress": False,
}

every_library = pytest.mark.parametrize("library", LIBRARIES)
every_task = pytest.mark.parametrize("task", TASKS)


def posterior(library, task="classes", run=None, **options):
    if library == "xgboost":
        kind = {"classes": XGBClassifier, "numbers": XGBRegressor}[task]
        estimator = kind(n_estimators=4, max_depth=3, enable_categorical=True, **options)
    else:
        kind = {"classes": LGBMClassifier, "numbers": LGBMRegressor}[task]
        estimator = kind(n_estimators=4, min_child_samples=5, verbosity=-1, **options)
    face = {"classes": nb.PosteriorClassifier, "numbers": nb.PosteriorRegressor}[task]
    return face(estimator, **{**SETTINGS, **(run or {})})


def target(task):
    return THREE if task == "classes" else SIGNAL


# Prediction.


BAD_TABLES = {
    "wrong_name": (FRAME.rename(columns={"size": "weight"}), "unseen at fit time:\n- weight\n"),
    "missing_column": (FRAME[["colour"]], "yet now missing:\n- size\n"),
    "wrong_order": (FRAME[["size", "colour"]], "must be in the same order"),
    "one_column_more": (FRAME.assign(more=1.0), "unseen at fit time:\n- more\n"),
}


@every_library
@every_task
@pytest.mark.parametrize("name", BAD_TABLES)
def test_wrong_columns_are_named_and_the_model_still_predicts(library, task, name):
    table, message = BAD_TABLES[name]
    model = posterior(library, task).fit(FRAME, target(task))
    before = model.predict(FRAME)
    with pytest.raises(ValueError, match=message):
        model.predict(table)
    assert np.array_equal(model.predict(FRAME), before)


@every_library
def test_a_missing_column_of_an_array(library):
    model = posterior(library).fit(X, THREE)
    with pytest.raises(
        ValueError, match="X has 2 features, but PosteriorClassifier is expecting 3"
    ):
        model.predict(X[:, :2])


# "mauve" comes before "red", and XGBoost by itself takes it for that (dmlc/xgboost#12189).
@every_task
@pytest.mark.parametrize("colour", ["violet", "mauve"])
def test_xgboost_names_an_unseen_category_and_still_predicts(task, colour):
    model = posterior("xgboost", task).fit(FRAME, target(task))
    before = model.predict(FRAME)
    unseen = FRAME.assign(colour=pd.Categorical([colour] * N))
    with pytest.raises(ValueError, match=f"column 'colour' .* not in training: .'{colour}'"):
        model.predict(unseen)
    assert np.array_equal(model.predict(FRAME), before)


@every_task
def test_lightgbm_takes_an_unseen_category_for_a_missing_value(task):
    model = posterior("lightgbm", task).fit(FRAME, target(task))
    unseen, missing = (FRAME.assign(colour=pd.Categorical([name] * N)) for name in ("mauve", None))
    assert np.array_equal(model.predict(unseen), model.predict(missing))


@every_library
def test_a_declared_category_without_rows_is_no_error(library):
    declared = pd.Categorical(COLOURS[THREE], categories=[*COLOURS, "mauve"])
    model = posterior(library).fit(FRAME.assign(colour=declared), THREE)
    new = FRAME.assign(colour=pd.Categorical(["mauve"] * N, categories=declared.categories))
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


@every_library
def test_a_column_of_another_type_is_refused(library):
    model = posterior(library).fit(FRAME, THREE)
    message = {"xgboost": "data type doesn't match", "lightgbm": "categorical_feature do not match"}
    with pytest.raises(ValueError, match=message[library]):
        model.predict(FRAME.assign(colour=1.0))


# Fitting.


@every_library
@every_task
def test_a_column_without_values_changes_nothing(library, task):
    with_empty = np.column_stack([X, np.full(N, np.nan)])
    model = posterior(library, task).fit(with_empty, target(task))
    without = posterior(library, task).fit(X, target(task))
    assert np.array_equal(model.predict(with_empty), without.predict(X))


@every_library
@every_task
def test_no_column_with_values_gives_one_prediction_for_all(library, task):
    model = posterior(library, task).fit(np.full((N, 2), np.nan), target(task))
    predictions = model.posterior_predictions(np.arange(8.0).reshape(4, 2))
    assert (predictions == predictions[:, :1]).all()


@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
@every_library
@pytest.mark.parametrize("method", ["bootstrap", "parametric_bootstrap"])
@pytest.mark.parametrize("rare", [0, 1, 2])
def test_a_class_missing_from_a_refit_costs_no_draw(library, method, rare):
    y = (rare + 1 + np.arange(N) % 2) % 3
    y[0] = rare
    model = posterior(library, run={"method": method, "n_draws": 6})
    with warnings.catch_warnings():  # a draw that lost a class may say so
        warnings.filterwarnings("ignore", "class .* was in no resampled row", DrawWarning)
        model.fit(X, COLOURS[y])
    assert len(model.estimators_) == 6
    assert model.predict_proba(X).shape == (N, 3)


@every_library
def test_text_columns_are_named(library):
    with pytest.raises(ValueError, match="colour: object"):
        posterior(library).fit(FRAME.astype({"colour": object}), THREE)


MESSAGES = {
    "early_stopping_xgboost": (
        lambda: posterior("xgboost", early_stopping_rounds=3).fit(X, THREE),
        "early_stopping_rounds=3 needs an eval_set, got none: fit",
    ),
    "early_stopping_lightgbm": (
        lambda: posterior("lightgbm", early_stopping_round=3).fit(X, THREE),
        "early_stopping_round=3 needs an eval_set, got none|For early stopping",
    ),
    "empty_eval_set": (
        lambda: posterior("xgboost", early_stopping_rounds=3).fit(X, THREE, eval_set=[]),
        "early_stopping_rounds=3 needs an eval_set, got none: fit",
    ),
    "base_margin": (
        lambda: posterior("xgboost").fit(X, THREE, base_margin=np.zeros((N, 3))),
        "base_margin must not be passed to fit, because imputed rows would have none: add it",
    ),
    "base_margin_eval_set": (
        lambda: posterior("xgboost").fit(
            X, THREE, eval_set=[(X, THREE)], base_margin_eval_set=[np.zeros((N, 3))]
        ),
        "base_margin_eval_set must not be passed to fit",
    ),
    "eval_set_without_list": (
        lambda: posterior("xgboost").fit(X, THREE, eval_set=(X, THREE)),
        "eval_set must be a list of pairs, got tuple of ndarray, ndarray: fit",
    ),
    "eval_set_of_wrong_length": (
        lambda: posterior("xgboost").fit(X, THREE, eval_set=[(X, THREE, X)]),
        "eval_set must be a list of pairs, got list of tuple",
    ),
    "eval_set_with_unknown_class": (
        lambda: posterior("xgboost").fit(X, THREE, eval_set=[(X, np.full(N, 7))]),
        r"eval_set must hold only classes of y, got \[7\]: remove those rows",
    ),
    "weights_of_eval_set": (
        lambda: posterior("xgboost").fit(
            X, THREE, eval_set=[(X, THREE)], sample_weight_eval_set=[None, None]
        ),
        "sample_weight_eval_set must have one array per pair of eval_set, got 2 for 1",
    ),
    "misspelling": (
        lambda: posterior("xgboost").fit(X, THREE, eval_sets=[(X, THREE)]),
        "XGBClassifier.fit has no argument 'eval_sets'",
    ),
    "no_probabilities": (
        lambda: posterior("xgboost", objective="binary:logitraw").fit(X, THREE > 0),
        "objective must not be 'binary:logitraw', .* use objective='binary:logistic'",
    ),
    "negative_counts": (
        lambda: posterior("xgboost", "numbers", objective="count:poisson").fit(X, SIGNAL),
        "y must be at least 0 for a Poisson loss, got -",
    ),
    "zero_for_gamma": (
        lambda: posterior("xgboost", "numbers", objective="reg:gamma").fit(X, THREE),
        "y must be above 0 for a gamma loss, got 0",
    ),
    "fractions_above_1": (
        lambda: posterior("xgboost", "numbers", objective="reg:logistic").fit(X, THREE),
        "objective='reg:logistic' needs y from 0 to 1, got 2",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    action, message = MESSAGES[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        action()
    assert "\n" not in str(caught.value)


def test_a_refused_fit_leaves_the_model_unfitted():
    model = posterior("xgboost", early_stopping_rounds=3)
    with pytest.raises(ValueError, match="needs an eval_set, got none"):
        model.fit(X, THREE)
    with pytest.raises(NotFittedError):
        model.predict(X)


@every_library
def test_a_refused_fit_leaves_the_last_one(library):
    model = posterior(library).fit(X, THREE)
    before = model.predict_proba(X)
    with pytest.raises(TypeError, match="eval_sets"):
        model.fit(X, THREE, eval_sets=[(X, THREE)])
    assert np.array_equal(model.predict_proba(X), before)


def _noise_below_zero_at_times(mean, x, rng):
    return np.full(len(mean), -1.0) if rng.random() < 0.2 else rng.poisson(mean)


def test_draws_whose_noise_breaks_the_objective_cost_no_other():
    model = posterior("xgboost", "numbers", {"n_draws": 12}, objective="count:poisson")
    model.set_params(noise=_noise_below_zero_at_times)
    with pytest.warns(DrawWarning, match="needs y of at least 0, got -.* noise='auto'") as w:
        model.fit(X, THREE)
    assert len(w) == 1
    assert 0 < len(model.posterior_.failed) < 12
    assert len(model.estimators_) + len(model.posterior_.failed) == 12
    assert np.isfinite(model.predict(X)).all()


# A GPU that is not there.

without_gpu = pytest.mark.skipif(xgboost.build_info()["USE_CUDA"], reason="may find a GPU")


@without_gpu
@every_task
@pytest.mark.parametrize("device", ["cuda", "gpu", "cuda:0"])
def test_xgboost_without_a_gpu_goes_on_and_says_so_once(task, device):
    model = posterior("xgboost", task, device=device)
    with pytest.warns(UserWarning, match=f"device='{device}', but XGBoost finds no GPU") as said:
        predicted = model.fit(X, target(task)).predict(X)
    assert len(said) == 1
    assert model.estimator.device == device
    assert np.array_equal(predicted, posterior("xgboost", task).fit(X, target(task)).predict(X))


def test_xgboost_on_the_cpu_says_nothing():
    on_cpu = posterior("xgboost", device="cpu").fit(X, THREE)
    assert [draw.device for draw in on_cpu.estimators_] == ["cpu"] * 3


@pytest.mark.parametrize("device", ["sycl", "abacus"])
def test_xgboost_refuses_other_devices(device):
    model = posterior("xgboost", device=device)
    with pytest.raises(ValueError, match=f"device must be 'cpu' .* got '{device}'"):
        model.fit(X, THREE)
    assert not hasattr(model, "posterior_")


@without_gpu
@pytest.mark.parametrize(
    ("device_type", "message"),
    [("gpu", "OpenCL|GPU"), ("cuda", "CUDA Tree Learner was not enabled")],
)
def test_lightgbm_refuses_a_gpu_that_is_not_there(device_type, message):
    model = posterior("lightgbm", device_type=device_type)
    with pytest.raises(Exception, match=message) as caught:
        model.fit(X, THREE)
    assert caught.type.__name__ in ("LightGBMError", "ValueError")
    assert not hasattr(model, "posterior_")
