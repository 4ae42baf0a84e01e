"""Saving: sizes, attachments, what is refused and why, and files that are whole or not there."""

import json
import os
import stat

import numpy as np
import pytest
import xgboost
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import nearbayes as nb
from nearbayes.files import NotSaveable, OtherVersionWarning
from nearbayes.files.thinning import ThinnedWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=50)
Y = (SIGNAL > 0).astype(int)
SETTINGS = {"n_draws": 9, "n_refits": 1, "random_state": 0, "calibration": None, "progress": False}


def classifier(estimator, fit=None, **options):
    return nb.PosteriorClassifier(estimator, **{**SETTINGS, **options}).fit(X, Y, **(fit or {}))


def regressor(estimator, fit=None, **options):
    model = nb.PosteriorRegressor(estimator, **{**SETTINGS, **options})
    return model.fit(X, SIGNAL, **(fit or {}))


def double(x):
    return 2 * x


class Prior(ClassifierMixin, BaseEstimator):
    """A classifier of the user's own."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def test_save_gives_the_path_and_describe_tells_what_is_in_it(tmp_path):
    target = tmp_path / "model.nearbayes"
    assert classifier(GaussianNB()).save(str(target)) == target
    told = nb.files.describe(target)
    assert told.size == target.stat().st_size
    assert told.manifest["format"] == 3
    assert told.manifest["inputs"]["n_features"] == 2
    assert told.manifest["versions"]["scikit-learn"]
    assert told.manifest["posterior"]["provenance"]["seed"] == 0
    assert told.manifest["schedule"]["refits"] == 1
    assert set(told.sizes) == {"manifest.json", *told.manifest["members"]}
    assert "PosteriorClassifier with 9 draws" in str(told)


def test_equal_draws_are_stored_once(tmp_path):
    with pytest.warns(UserWarning, match="an ensemble of an algorithm without randomness"):
        model = classifier(GaussianNB(), method="ensemble")
    models = [
        name for name in nb.files.describe(model.save(tmp_path / "m")).sizes if "models/" in name
    ]
    assert len(models) == 2  # the estimator without a fit, and all draws


def test_thin_keeps_draws_evenly(tmp_path):
    model = classifier(GaussianNB())
    loaded = nb.load(model.save(tmp_path / "m", thin=3))
    kept = model.posterior_.predict(X)[[0, 4, 8]]
    np.testing.assert_array_equal(loaded.posterior_.predict(X), kept)
    assert len(nb.load(model.save(tmp_path / "m", thin=100)).posterior_) == 9
    noisy = regressor(Ridge(), noise="residual")
    thinned = nb.load(noisy.save(tmp_path / "m", thin=2)).posterior_
    assert [each.noise.weights.tolist() for each in thinned.models] == [
        noisy.posterior_.models[i].noise.weights.tolist() for i in (0, 8)
    ]


@pytest.mark.parametrize("thin", [0, 1, -2, 2.5, "all", True])
def test_thin_must_be_a_number_of_draws(thin, tmp_path):
    with pytest.raises(ValueError, match="thin must be a whole number of draws, 2 or more"):
        classifier(GaussianNB()).save(tmp_path / "m", thin=thin)


def test_files_are_kept_small(tmp_path):
    model = classifier(RandomForestClassifier(10))
    whole = model.save(tmp_path / "whole").stat().st_size
    with pytest.warns(ThinnedWarning, match=r"\d of 9 draws were saved, to keep within"):
        small = model.save(tmp_path / "small", max_megabytes=0.5 * whole / 1e6)
    assert small.stat().st_size <= 0.5 * whole
    assert 2 <= len(nb.load(small).posterior_) < 9
    assert len(nb.load(model.save(small, max_megabytes=whole / 1e6)).posterior_) == 9


def test_files_that_cannot_be_small_enough_are_not_written(tmp_path):
    target = tmp_path / "model.nearbayes"
    with pytest.raises(ValueError, match=r"max_megabytes=0.001 is too small: 2 draws take"):
        classifier(GaussianNB()).save(target, max_megabytes=0.001)
    assert not list(tmp_path.iterdir())


def test_attachments(tmp_path):
    attached = {"held-out.json": b"[1, 2]", "nothing": b"", "zeros": bytes(3_000_000)}
    path = classifier(GaussianNB()).save(tmp_path / "m", attachments=attached)
    assert nb.files.attachments(path) == attached
    assert len(nb.load(path).posterior_) == 9
    assert nb.files.attachments(classifier(GaussianNB()).save(path)) == {}


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "sp ace", "x" * 200])
def test_attachments_with_odd_names(name, tmp_path):
    with pytest.raises(ValueError, match="attachments must have names of at most 100 letters"):
        classifier(GaussianNB()).save(tmp_path / "m", attachments={name: b""})


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    model = classifier(GaussianNB())
    path = model.save(tmp_path / "model.nearbayes")
    before = path.read_bytes()

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path, thin=2)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_users_permissions(tmp_path):
    umask = os.umask(0o022)
    try:
        path = classifier(GaussianNB()).save(tmp_path / "m")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_model_without_a_fit(tmp_path):
    with pytest.raises(NotFittedError):
        nb.PosteriorClassifier(GaussianNB()).save(tmp_path / "m")


REFUSED = {
    "type": (GradientBoostingClassifier(n_estimators=2), "GradientBoostingClassifier is not a"),
    "own": (Prior(), r"Prior is not a model that .* predict_on=X .* trusted=\["),
    "function": (make_pipeline(FunctionTransformer(double), GaussianNB()),
                 r"double, which is not a type that .* trusted="),
    "lambda": (make_pipeline(FunctionTransformer(lambda x: x), GaussianNB()), "lambda"),
    "metric": (xgboost.XGBClassifier(n_estimators=2, eval_metric=lambda a, b: 0.0),
               "eval_metric of an XGBoost model is a function, .* by name"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_models_that_cannot_be_saved(case, tmp_path):
    estimator, words = REFUSED[case]
    with pytest.raises(NotSaveable, match=words):
        classifier(estimator, n_draws=2).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_functions_as_noise_and_as_loss(tmp_path):
    def noise(mean, x, rng):
        return mean + rng.normal(size=mean.shape)

    with pytest.raises(NotSaveable, match=r"noise is a function.*noise='residual'"):
        regressor(Ridge(), noise=noise).save(tmp_path / "m")

    def squares(y, predicted):
        return predicted - y, np.ones(len(y))

    for estimator in (
        xgboost.XGBRegressor(n_estimators=2, objective=squares),
        LGBMRegressor(n_estimators=2, objective=squares, verbosity=-1),
    ):
        with pytest.raises(NotSaveable, match=r"objective of .* is a function"):
            regressor(estimator).save(tmp_path / "m")


def test_autogluon_is_told_what_to_do(tmp_path):
    model = classifier(GaussianNB())
    kind = type("TabularPredictor", (), {"__module__": "autogluon.tabular.predictor"})
    object.__setattr__(model.posterior_, "first", kind())
    with pytest.raises(NotSaveable, match=r"AutoGluon stores its models in folders.*predict_on=X"):
        model.save(tmp_path / "m")


def test_trusted_types_are_allowed_on_both_sides(tmp_path):
    name = f"{Prior.__module__}.Prior"
    model = classifier(Prior(), n_draws=2)
    path = model.save(tmp_path / "m", trusted=[name])
    with pytest.raises(nb.files.FileRefused, match="Prior, which is not a type that"):
        nb.load(path)
    loaded = nb.load(path, trusted=[name])
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_predictions_of_any_model_can_be_saved(tmp_path):
    model = classifier(Prior(), fit={"predict_on": X[:5]})
    loaded = nb.load(model.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict_proba(X[:5]), model.predict_proba(X[:5]))
    assert loaded.get_params()["estimator"].what == "Prior"
    with pytest.raises(ValueError, match=r"estimator=Prior was not .* set_params\(estimator="):
        loaded.fit(X, Y)
    assert loaded.set_params(estimator=GaussianNB()).fit(X, Y).predict(X).shape == (50,)
    nb.load(nb.load(tmp_path / "m").save(tmp_path / "again"))


def test_a_loaded_model_can_be_fitted_again_but_its_draws_cannot(tmp_path):
    model = classifier(xgboost.XGBClassifier(n_estimators=3, max_depth=2))
    loaded = nb.load(model.save(tmp_path / "m"))
    algorithm = loaded.posterior_.algorithm
    with pytest.raises(RuntimeError, match=r"loaded from a file.*fit again with model.fit"):
        algorithm.fit(nb.Data.of(X, Y), np.random.default_rng(0))
    again = clone(loaded).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "inputs",
    ["kde", nb.inputs.KDE(0.3), nb.inputs.Uniform([-3, -3], 3.0), nb.inputs.Urn()],
    ids=str,
)
def test_parameters_come_back(inputs, tmp_path):
    schedule = nb.Schedule.arithmetic(horizon=20, block=0.2)
    model = regressor(Ridge(2.0), inputs=inputs, schedule=schedule, noise="gaussian", n_jobs=1)
    loaded = nb.load(model.save(tmp_path / "m"))
    before, after = model.get_params(), loaded.get_params()
    for name in before.keys() - {"estimator", "inputs"}:
        assert after[name] == before[name], name
    assert type(after["inputs"]) is type(inputs)
    again = clone(loaded).fit(X, SIGNAL)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_unlabelled_rows_are_left_out(tmp_path):
    model = regressor(Ridge(), inputs=nb.inputs.Pool(X))
    loaded = nb.load(model.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"inputs=Pool was not saved with this model"):
        loaded.fit(X, SIGNAL)


def test_a_generator_comes_back_as_the_seed_that_was_used(tmp_path):
    model = classifier(GaussianNB(), random_state=np.random.default_rng(3))
    loaded = nb.load(model.save(tmp_path / "m"))
    again = clone(loaded).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_other_versions_are_told_once(tmp_path, monkeypatch):
    model = classifier(RandomForestClassifier(3))
    path = model.save(tmp_path / "m")
    monkeypatch.setattr("sklearn.base.__version__", "0.1.2")
    here = {"scikit-learn": "0.1.2"}
    monkeypatch.setattr("nearbayes.files.versions.installed_versions", lambda *names: here)
    with pytest.warns(OtherVersionWarning, match=r"scikit-learn .* \(here 0.1.2\)") as told:
        nb.load(path)
    assert len(told) == 1


def test_rows_of_data_are_not_in_the_file(tmp_path):
    path = regressor(xgboost.XGBRegressor(n_estimators=2)).save(tmp_path / "m")
    text = json.dumps(nb.files.describe(path).manifest)
    assert str(X[0, 0]) not in text


def test_labels_that_cannot_be_saved(tmp_path):
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[Y]
    model = nb.PosteriorClassifier(LogisticRegression(), **SETTINGS).fit(X, dates)
    with pytest.raises(NotSaveable, match=r"labels of type .* cannot be saved: use strings"):
        model.save(tmp_path / "m")


def test_lightgbm_splits_on_whether_a_value_is_missing(tmp_path):
    """All numbers go to one side: LightGBM writes the threshold as inf."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[::2, 0] = np.nan
    y = np.isnan(X[:, 0]) + 0.1 * rng.normal(size=200)
    tree = LGBMRegressor(n_estimators=5, verbosity=-1)
    model = nb.PosteriorRegressor(tree, n_draws=3, n_refits=1, calibration=None, random_state=0)
    first = model.fit(X, y).posterior_.draws[0]
    assert " inf" in first.booster_.model_to_string().replace("=inf", " inf")
    loaded = nb.load(model.save(tmp_path / "m.nearbayes"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
