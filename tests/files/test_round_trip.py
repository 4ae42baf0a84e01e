"""What was saved comes back: the same predictions, bit for bit, for every model and noise."""

import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    BayesianRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NEW = RNG.normal(size=(9, 3))
SIGNAL = X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=60)
CLASSES = np.array(["no", "perhaps", "yes"])[np.digitize(SIGNAL, [0.2, 1.2])]
SETTINGS = {
    "n_draws": 3,
    "n_refits": 2,
    "random_state": 0,
    "calibration": None,
    "progress": False,
}


def fitted_classifier(estimator, x=X, y=CLASSES, fit=None, **options):
    model = nb.PosteriorClassifier(estimator, **{**SETTINGS, **options})
    return model.fit(x, y, **(fit or {}))


def fitted_regressor(estimator, x=X, y=SIGNAL, fit=None, **options):
    model = nb.PosteriorRegressor(estimator, **{**SETTINGS, **options})
    return model.fit(x, y, **(fit or {}))


def answers(model, x=NEW):
    """All that a fitted model says of rows."""
    yield model.predict(x)
    yield model.posterior_predictions(x)
    if isinstance(model, nb.PosteriorClassifier):
        yield model.predict_proba(x)
        yield model.predict_interval(x, [0.5, 0.9])
        yield model.predict_interval(x, spread="raw")
        yield model.predict_uncertainty(x).epistemic
        yield model.classes_
        return
    for kind in ("predictive", "credible"):
        yield model.predict_interval(x, kind=kind)
    yield model.predict(x, return_std=True)[1]
    yield model.sample(x, 3, random_state=0)
    yield model.log_density(x, np.abs(np.asarray(model.predict(x)).round()))


def check_same(model, loaded, x=NEW):
    for before, after in zip(answers(model, x), answers(loaded, x), strict=True):
        np.testing.assert_array_equal(before, after, strict=True)
    assert loaded.n_features_in_ == model.n_features_in_
    assert loaded.posterior_.summary() == model.posterior_.summary()
    assert loaded.posterior_.provenance == model.posterior_.provenance
    for name in ("schedule_", "schedule_scores_", "noise_factor_"):
        assert getattr(loaded, name, None) == getattr(model, name, None)
    assert [type(each) for each in loaded.estimators_] == [type(each) for each in model.estimators_]


def round_trip(model, tmp_path, x=NEW):
    path = model.save(tmp_path / "model.nearbayes")
    kind, n_draws = type(model.estimators_[0]).__name__, len(model.posterior_)
    print(f"{kind}, {n_draws} draws: {path.stat().st_size / 1e3:.1f} kB")  # shown by pytest -s
    loaded = nb.load(path)
    check_same(model, loaded, x)
    return loaded


BOOSTED = {
    "xgboost": xgboost.XGBClassifier(n_estimators=5, max_depth=2),
    "xgboost dart": xgboost.XGBClassifier(n_estimators=5, booster="dart", rate_drop=0.3),
    "xgboost rows": xgboost.XGBClassifier(n_estimators=5, subsample=0.7, max_bin=64),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, verbosity=-1),
    "lightgbm rows": lightgbm.LGBMClassifier(
        n_estimators=5, subsample=0.7, subsample_freq=1, verbosity=-1, class_weight="balanced"
    ),
}
CLASSIFIERS = {
    **BOOSTED,
    "histogram boosting": HistGradientBoostingClassifier(max_iter=4),
    "forest": RandomForestClassifier(5),
    "tree": DecisionTreeClassifier(max_depth=3),
    "bagging": BaggingClassifier(n_estimators=3),
    "logistic": LogisticRegression(),
    "sgd": SGDClassifier(loss="log_loss"),
    "bayes": GaussianNB(),
    "svm": make_pipeline(StandardScaler(), SVC(probability=True)),
    "k-d tree": KNeighborsClassifier(7, algorithm="kd_tree", leaf_size=5),
    "ball tree": KNeighborsClassifier(7, algorithm="ball_tree", leaf_size=5, metric="manhattan"),
    "brute": KNeighborsClassifier(7, algorithm="brute"),
    "network": MLPClassifier(4, max_iter=20, solver="lbfgs"),
    "network adam": MLPClassifier(4, max_iter=400, tol=1.0),
    "gaussian process": GaussianProcessClassifier(RBF(2.0), optimizer=None),
    "pipeline to xgboost": make_pipeline(StandardScaler(), BOOSTED["xgboost"]),
    "pipeline to lightgbm": make_pipeline(StandardScaler(), BOOSTED["lightgbm"]),
}


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, tmp_path):
    # XGBoost's own fit, which a pipeline calls, wants codes
    y = np.digitize(SIGNAL, [0.2, 1.2]) if name == "pipeline to xgboost" else CLASSES
    model = fitted_classifier(CLASSIFIERS[name], y=y)
    loaded = round_trip(model, tmp_path)
    assert repr(loaded.estimator) == repr(model.estimator)
    assert loaded.classes_.dtype == y.dtype


@pytest.mark.parametrize("name", ["forest", "histogram boosting", "xgboost", "lightgbm", "svm"])
@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
def test_the_same_model_gives_the_same_file(name, tmp_path):
    model = fitted_classifier(CLASSIFIERS[name])
    file = model.save(tmp_path / "a.nearbayes").read_bytes()
    assert model.save(tmp_path / "b.nearbayes").read_bytes() == file
    assert nb.load(tmp_path / "a.nearbayes").save(tmp_path / "c.nearbayes").read_bytes() == file


REGRESSORS = {
    "xgboost": xgboost.XGBRegressor(n_estimators=5, max_depth=2),
    "xgboost linear": xgboost.XGBRegressor(n_estimators=5, booster="gblinear"),
    "lightgbm": lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=5, verbosity=-1),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=4),
    "default": None,
    "forest": RandomForestRegressor(5),
    "extra trees": ExtraTreesRegressor(5, max_depth=3),
    "ridge": Ridge(),
    "bayesian ridge": BayesianRidge(),
    "lasso": Lasso(0.1),
    "svm": SVR(),
    "neighbours": KNeighborsRegressor(),
    "network": MLPRegressor(hidden_layer_sizes=4, max_iter=30, solver="lbfgs"),
    "gaussian process": GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None),
    "transformed target": TransformedTargetRegressor(
        Ridge(), func=np.arcsinh, inverse_func=np.sinh
    ),
    "transformed inputs": make_pipeline(FunctionTransformer(np.tanh), LinearRegression()),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, tmp_path):
    round_trip(fitted_regressor(REGRESSORS[name]), tmp_path)


@pytest.mark.parametrize("noise", ["auto", "gaussian", "residual", "heteroscedastic"])
@pytest.mark.parametrize("estimator", [Ridge(), REGRESSORS["xgboost"]], ids=["ridge", "xgboost"])
def test_noises(noise, estimator, tmp_path):
    round_trip(fitted_regressor(estimator, noise=noise), tmp_path)


@pytest.mark.parametrize("noise", ["poisson", "gamma", "tweedie"])
def test_noises_of_positive_outcomes(noise, tmp_path):
    y = np.random.default_rng(1).poisson(3.0, 60) + 1.0
    model = fitted_regressor(PoissonRegressor(), y=y, noise=noise)
    assert round_trip(model, tmp_path).posterior_.link == "log"


def test_the_estimators_own_noise(tmp_path):
    model = fitted_regressor(REGRESSORS["gaussian process"], noise="estimator")
    round_trip(model, tmp_path)


@pytest.mark.parametrize("method", ["bootstrap", "parametric_bootstrap", "ensemble"])
def test_other_methods(method, tmp_path):
    round_trip(fitted_classifier(RandomForestClassifier(3), method=method), tmp_path)
    loaded = round_trip(fitted_regressor(RandomForestRegressor(3), method=method), tmp_path)
    assert not hasattr(loaded, "schedule_")


@pytest.mark.filterwarnings("ignore:class .* was in no resampled row")
def test_draws_that_lost_all_but_one_class(tmp_path):
    y = np.array([0] * 59 + [1])
    model = fitted_classifier(GaussianNB(), y=y, method="bootstrap", n_draws=6)
    assert len({type(each) for each in model.estimators_}) == 2
    round_trip(model, tmp_path)


@pytest.mark.parametrize("estimator", [LogisticRegression(), BOOSTED["xgboost"]], ids=str)
def test_calibrated_classes(estimator, tmp_path):
    model = fitted_classifier(estimator, calibration="simulation")
    loaded = round_trip(model, tmp_path)
    assert loaded.calibration_.factor(0.9) == model.calibration_.factor(0.9)
    assert str(loaded.calibration_) == str(model.calibration_)


def test_calibrated_numbers_and_a_chosen_schedule(tmp_path):
    model = fitted_regressor(Ridge(), calibration="simulation", schedule="auto")
    assert len(round_trip(model, tmp_path).schedule_scores_) > 1


def test_conformal_intervals(tmp_path):
    model = fitted_regressor(Ridge()).conformalize(X[:30], SIGNAL[:30])
    loaded = round_trip(model, tmp_path)
    for coverage in (0.5, [0.5, 0.9, 0.99]):
        np.testing.assert_array_equal(
            loaded.predict_interval(NEW, coverage, kind="conformal"),
            model.predict_interval(NEW, coverage, kind="conformal"),
        )


@pytest.mark.parametrize("noise", ["gaussian", "residual"])
def test_several_outputs(noise, tmp_path):
    y = np.column_stack([SIGNAL, X[:, 2] + SIGNAL])
    model = fitted_regressor(RandomForestRegressor(3), y=y, noise=noise)
    assert round_trip(model, tmp_path).predict(NEW).shape == (9, 2)


FRAME = pd.DataFrame(
    {
        "amount": np.where(np.arange(60) % 7, X[:, 0], np.nan),
        "colour": pd.Categorical(np.array(["red", "green", "blue"])[np.arange(60) % 3]),
        "size": X[:, 1].astype(np.float32),
    }
)
TABLE = ColumnTransformer(
    [
        ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["amount"]),
        ("colour", OneHotEncoder(), make_column_selector(dtype_include="category")),
    ],
    remainder="passthrough",
)
WITH_CATEGORIES = {
    "xgboost": xgboost.XGBClassifier(n_estimators=4, enable_categorical=True),
    "xgboost to one hot": xgboost.XGBClassifier(
        n_estimators=4, enable_categorical=True, max_cat_to_onehot=1
    ),
    "lightgbm": lightgbm.LGBMClassifier(
        n_estimators=4, min_child_samples=2, min_data_per_group=2, cat_smooth=1, verbosity=-1
    ),
    "histogram boosting": HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=3, categorical_features="from_dtype"
    ),
    "pipeline": make_pipeline(TABLE, LogisticRegression()),
    "pipeline to xgboost": make_pipeline(TABLE, BOOSTED["xgboost"]),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", WITH_CATEGORIES)
def test_frames_with_categories_and_missing_values(name, tmp_path):
    y = np.where(FRAME["colour"] == "red", "no", np.where(SIGNAL > 0.5, "yes", "no"))
    y = y if "pipeline" not in name else (y == "yes").astype(int)  # XGBoost's own fit wants codes
    model = fitted_classifier(WITH_CATEGORIES[name], x=FRAME, y=y)
    loaded = round_trip(model, tmp_path, x=FRAME[:20])
    assert loaded.feature_names_in_.tolist() == ["amount", "colour", "size"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(FRAME.rename(columns={"size": "weight"}))


def test_unseen_categories_are_still_refused(tmp_path):
    model = fitted_classifier(WITH_CATEGORIES["xgboost"], x=FRAME)
    loaded = round_trip(model, tmp_path, x=FRAME)
    other = FRAME.assign(colour=pd.Categorical(["pink"] * 60))
    with pytest.raises(ValueError, match=r"'colour' that were not in training: \['pink'\]"):
        loaded.predict(other)


def test_polars_frames(tmp_path):
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    round_trip(fitted_classifier(GaussianNB(), x=frame), tmp_path, x=frame)


@pytest.mark.parametrize(
    "labels", [[False, True], [0, 1], [1.0, 2.0], ["a", "b"], ["zwölf", "é"]], ids=str
)
@pytest.mark.parametrize("kind", [np.array, pd.Series], ids=["array", "series"])
def test_labels_of_any_kind(labels, kind, tmp_path):
    y = kind(np.array(labels)[np.arange(60) % 2])
    loaded = round_trip(fitted_classifier(GaussianNB(), y=y), tmp_path)
    assert loaded.classes_.tolist() == labels


def test_early_stopping(tmp_path):
    evaluation = {"eval_set": [(X[40:], CLASSES[40:])]}
    for estimator in (
        xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=2),
        xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=2, subsample=0.8),
        lightgbm.LGBMClassifier(n_estimators=30, early_stopping_round=2, verbosity=-1),
    ):
        model = fitted_classifier(estimator, x=X[:40], y=CLASSES[:40], fit=evaluation)
        loaded = round_trip(model, tmp_path)
        name = (
            "best_iteration_"
            if hasattr(model.estimators_[0], "best_iteration_")
            else ("best_iteration")
        )
        assert [getattr(each, name) for each in loaded.estimators_] == [
            getattr(each, name) for each in model.estimators_
        ]


def test_functionals_of_the_draws(tmp_path):
    for estimator in (Ridge(), REGRESSORS["xgboost"], REGRESSORS["lightgbm"], REGRESSORS["forest"]):
        model = fitted_regressor(estimator)
        loaded = nb.load(model.save(tmp_path / "model.nearbayes"))
        name = "coef_" if hasattr(model.estimators_[0], "coef_") else "feature_importances_"
        before, after = (
            each.posterior_.apply(lambda draw: getattr(draw, name)).values  # noqa: B023
            for each in (model, loaded)
        )
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array])
def test_kept_predictions(table, tmp_path):
    rows = table(NEW)
    model = fitted_classifier(LogisticRegression(), x=table(X), fit={"predict_on": rows})
    loaded = round_trip(model, tmp_path, x=table(NEW.copy()))
    with pytest.raises(ValueError, match="X must be the table given as predict_on"):
        loaded.predict(table(NEW + 1))
    for noise in ("gaussian", "residual", "heteroscedastic"):
        model = fitted_regressor(Ridge(), x=table(X), noise=noise, fit={"predict_on": rows})
        round_trip(model, tmp_path, x=rows)


def test_a_fresh_process(tmp_path):
    estimators = [BOOSTED["xgboost"], BOOSTED["lightgbm"], RandomForestClassifier(3)]
    paths = []
    for i, estimator in enumerate(estimators):
        model = fitted_classifier(estimator)
        paths.append(str(model.save(tmp_path / f"{i}.nearbayes")))
        np.save(tmp_path / f"{i}.npy", model.predict_interval(NEW))
    np.save(tmp_path / "rows.npy", NEW)
    program = (
        "import sys, numpy as np, nearbayes as nb\n"
        "assert not {'skops', 'xgboost', 'lightgbm'} & set(sys.modules)\n"
        "rows = np.load(sys.argv[1])\n"
        "for path in sys.argv[2:]:\n"
        "    intervals = nb.load(path).predict_interval(rows)\n"
        "    assert (intervals == np.load(path.replace('.nearbayes', '.npy'))).all(), path\n"
    )
    arguments = [sys.executable, "-W", "error", "-c", program, tmp_path / "rows.npy", *paths]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
