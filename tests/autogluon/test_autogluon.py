"""AutoGluon: real predictors with tiny models (make test-autogluon)."""

import copy
import gc
import glob
import pickle
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("autogluon.tabular")

import pandas as pd
from autogluon.tabular import TabularPredictor

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.core.engine import DrawWarning

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 3))
FRAME = pd.DataFrame(X.copy(), columns=["u", "v", "w"])
FRAME["w"] = pd.Categorical(np.array(["a", "b", "c", "d"])[np.digitize(X[:, 2], [-0.7, 0, 0.7])])
FRAME.loc[::7, "u"] = np.nan
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=N)
TWO = np.array(["no", "yes"])[(SIGNAL > 0).astype(int)]
THREE = np.array(["low", "mid", "top"])[np.digitize(SIGNAL, [-0.5, 0.5])]
TRAIN, VALID, NEW = slice(0, 60), slice(60, 85), slice(85, 90)
FOREST = {"RF": {"n_estimators": 10}}
MODELS = {"GBM": {"num_boost_round": 10}, **FOREST}


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    """A place of its own for temporary folders, which every test must leave empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    gc.collect()
    assert folders(tmp_path) == []


def folders(place):
    return glob.glob(f"{place}/nearbayes-*")


def predictor(**settings):
    path = Path(tempfile.mkdtemp(prefix="user-")) / "models"
    return TabularPredictor(label="target", path=str(path), **settings)


def posterior(face=nb.PosteriorClassifier, run=None, **settings):
    if face is nb.PosteriorClassifier:
        settings.setdefault("eval_metric", "log_loss")
    options = {"n_draws": 2, "random_state": 0, "progress": False, "on_error": "raise"}
    return face(predictor(**settings), **{**options, **(run or {})})


def fitted(y=THREE, run=None, table=FRAME, face=nb.PosteriorClassifier, **fit):
    return posterior(face, run).fit(table[TRAIN], y[TRAIN], **{"hyperparameters": MODELS, **fit})


# What comes out.


@pytest.mark.parametrize(
    "y", [TWO, THREE, TWO == "yes", THREE.astype(object)], ids=lambda y: y.dtype
)
def test_class_probabilities_and_their_intervals(y):
    model = fitted(y)
    probabilities = model.predict_proba(FRAME[NEW])
    n_classes = len(np.unique(y))
    assert probabilities.shape == (5, n_classes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.predict_interval(FRAME[NEW]).shape == (5, n_classes, 2)
    assert set(model.predict(FRAME[NEW])) <= set(y)
    assert np.mean(model.predict(FRAME[TRAIN]) == y[TRAIN]) > 0.6
    assert model.schedule_ == nb.Schedule.arithmetic(horizon=1.0, block=1.0)
    assert model.calibration_ is None
    assert model.posterior_.provenance.versions["autogluon.tabular"] != "unknown"


def test_regression_functions_and_predictive_intervals():
    model = fitted(SIGNAL, face=nb.PosteriorRegressor)
    assert model.predict(FRAME[NEW]).shape == (5,)
    credible = model.predict_interval(FRAME[NEW], kind="credible")
    predictive = model.predict_interval(FRAME[NEW])
    assert (np.diff(predictive) > np.diff(credible)).all()
    assert np.corrcoef(model.predict(FRAME[TRAIN]), SIGNAL[TRAIN])[0, 1] > 0.5


def test_arrays_will_do():
    model = fitted(table=X, tuning_data=(X[VALID], THREE[VALID]))
    assert model.predict_proba(X[NEW]).shape == (5, 3)
    assert model.estimators_[0].predictor.original_features == ["0", "1", "2"]


def test_a_predictor_sees_the_dtypes_of_the_frame():
    kinds = fitted().estimators_[0].predictor.feature_metadata_in.type_map_raw
    assert kinds == {"u": "float", "v": "float", "w": "category"}


def test_bootstrap():
    model = fitted(
        run={"method": "bootstrap"}, tuning_data=FRAME[VALID].assign(target=THREE[VALID])
    )
    assert np.ptp(model.posterior_.predict(FRAME[NEW]), axis=0).max() > 0


# Randomness.


def test_the_same_seed_gives_the_same_draws_in_any_number_of_processes():
    one = fitted().posterior_.predict(FRAME[NEW])
    np.testing.assert_array_equal(one, fitted(run={"n_jobs": 2}).posterior_.predict(FRAME[NEW]))
    assert np.ptp(one, axis=0).max() > 0
    assert (one != fitted(run={"random_state": 1}).posterior_.predict(FRAME[NEW])).any()


@pytest.mark.parametrize("bagging", [{}, {"num_bag_folds": 2}], ids=["single", "bagged"])
def test_models_themselves_have_fresh_seeds(bagging):
    # the same rows to train and to validate on: all that differs is what models draw
    tuning = FRAME[VALID].assign(target=THREE[VALID])
    options = {"use_bag_holdout": True} if bagging else {}
    run = {"method": "ensemble", "n_draws": 3}
    forest = {"RF": {"n_estimators": 40}}  # with fewer trees, some rows are in all of them
    model = fitted(run=run, hyperparameters=forest, tuning_data=tuning, **bagging, **options)
    draws = model.posterior_.predict(FRAME[NEW])
    assert len({draw.tobytes() for draw in draws}) == 3


def numpy_state():
    return np.random.get_state()  # noqa: NPY002


def test_the_global_random_state_and_the_predictor_are_left_alone():
    model = posterior()
    state, python, before = numpy_state(), random.getstate(), vars(model.estimator).copy()
    learner = copy.deepcopy(vars(model.estimator._learner))
    model.fit(FRAME[TRAIN], THREE[TRAIN], hyperparameters=MODELS)
    assert random.getstate() == python
    np.testing.assert_equal(numpy_state(), state)
    assert vars(model.estimator) == before
    assert not model.estimator.is_fit
    after = vars(model.estimator._learner)
    assert {name: after[name] for name in ("path", "threshold", "random_state")} == {
        name: learner[name] for name in ("path", "threshold", "random_state")
    }
    from autogluon.core.models import AbstractModel

    assert AbstractModel.default_random_seed == 0


# Folders.


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folders_are_removed_with_the_model(temporary, n_jobs):
    model = fitted(run={"n_jobs": n_jobs})
    draw = model.estimators_[0]
    expected = draw.predict_proba(FRAME[NEW])
    del model
    gc.collect()
    # a draw that is still held keeps its own
    assert Path(draw.predictor.path).is_dir()
    np.testing.assert_array_equal(draw.predict_proba(FRAME[NEW]), expected)
    del draw
    gc.collect()
    assert folders(temporary) == []


def test_pickles_stand_on_their_own():
    model = fitted()
    expected, packed = model.predict_interval(FRAME[NEW]), pickle.dumps(model)
    del model
    gc.collect()
    np.testing.assert_array_equal(pickle.loads(packed).predict_interval(FRAME[NEW]), expected)


def test_only_what_predicts_stays_on_disk():
    small = fitted(run={"n_draws": 1})
    large = fitted(run={"n_draws": 1}, keep_only_best=False, save_space=False)
    sizes = [model.estimators_[0].size_on_disk for model in (small, large)]
    assert 0 < sizes[0] < sizes[1]
    np.testing.assert_array_equal(small.predict_proba(FRAME[NEW]), large.predict_proba(FRAME[NEW]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predictions_alone_can_be_kept(temporary, n_jobs):
    model = fitted(run={"n_jobs": n_jobs}, predict_on=FRAME[NEW])
    left = [path for place in folders(temporary) for path in Path(place).rglob("*")]
    assert left == []
    full = fitted()
    np.testing.assert_array_equal(model.predict_proba(FRAME[NEW]), full.predict_proba(FRAME[NEW]))
    assert model.predict_interval(FRAME[NEW]).shape == (5, 3, 2)
    with pytest.raises(ValueError, match="fit with predict_on=X"):
        model.predict_proba(FRAME[VALID])


def test_regression_predictions_alone_can_be_kept():
    kept = fitted(SIGNAL, face=nb.PosteriorRegressor, predict_on=FRAME[NEW])
    assert kept.predict_interval(FRAME[NEW]).shape == (5, 2)


# Rows that are not there to be learned from.


def test_tuning_data_stays_as_it_is_at_every_refit(monkeypatch):
    seen = []
    train = TabularPredictor.fit

    def fit(self, train_data, tuning_data=None, **options):
        seen.append((len(train_data), tuning_data))
        return train(self, train_data, tuning_data=tuning_data, **options)

    monkeypatch.setattr(TabularPredictor, "fit", fit)
    tuning = FRAME[VALID].assign(target=THREE[VALID])
    model = fitted(tuning_data=tuning)
    assert [rows for rows, _ in seen] == [60, 120, 60, 120]
    for _, rows in seen:
        pd.testing.assert_frame_equal(rows, tuning.reset_index(drop=True))
    again, _ = model.posterior_.algorithm.simulate(
        model.posterior_.first, Data.of(FRAME[TRAIN], THREE[TRAIN]), np.random.default_rng(0)
    )
    simulated = again.fitting.tuning_rows["target"]
    assert (simulated != THREE[VALID]).any()
    assert set(simulated) <= set(THREE)


def test_calibration_can_be_asked_for():
    tuning = FRAME[VALID].assign(target=TWO[VALID])
    run = {"calibration": "simulation", "n_refits": 1}
    model = fitted(
        TWO, run=run, tuning_data=tuning, hyperparameters={"GBM": {"num_boost_round": 5}}
    )
    assert model.calibration_.factor(0.9) > 0


@pytest.mark.parametrize("metric", ["log_loss", "accuracy"])
def test_rare_classes_are_kept(metric):
    y = THREE[TRAIN].astype("<U4")
    y[:3] = "rare"
    model = posterior(eval_metric=metric).fit(FRAME[TRAIN], y, hyperparameters=MODELS)
    assert model.classes_.tolist() == ["low", "mid", "rare", "top"]
    assert model.predict_proba(FRAME[TRAIN])[:3, 2].min() > 0.01


def test_a_class_that_bagging_would_drop_is_named():
    y = THREE[TRAIN].astype("<U4")
    y[0] = "rare"
    model = posterior(eval_metric="accuracy")
    with pytest.raises(ValueError, match=r"dropped the classes \['rare'\].*eval_metric='log_loss'"):
        model.fit(FRAME[TRAIN], y, hyperparameters=FOREST, num_bag_folds=2)


def test_a_class_that_a_resample_lost_has_probability_0():
    y = THREE[TRAIN].astype("<U4")
    y[0] = "rare"
    tuning = FRAME[VALID].assign(target=["rare", *THREE[VALID][1:]])
    run = {"method": "bootstrap", "n_draws": 3}
    with pytest.warns(DrawWarning, match="class 'rare' was in no resampled row"):
        model = posterior(run=run).fit(FRAME[TRAIN], y, hyperparameters=MODELS, tuning_data=tuning)
    draws = model.posterior_.predict(FRAME[NEW])
    assert draws.shape == (3, 5, 4)
    assert (draws[:, :, 2] == 0).all(axis=1).any()


def test_weights_are_repeated_rows():
    weight = np.where(np.arange(60) < 5, 3, 1)
    weighted = fitted(sample_weight=weight).posterior_.first.predict_proba(FRAME[NEW])
    rows = np.repeat(np.arange(60), weight)
    repeated = posterior().fit(FRAME.iloc[rows], THREE[rows], hyperparameters=MODELS)
    np.testing.assert_array_equal(weighted, repeated.posterior_.first.predict_proba(FRAME[NEW]))


# Failures.


def test_too_little_time_is_said_so(temporary):
    with pytest.raises(
        RuntimeError, match=r"no model with time_limit=0\.0001: increase time_limit"
    ):
        fitted(time_limit=0.0001)
    gc.collect()
    assert folders(temporary) == []


def test_no_model_without_a_time_limit_is_said_so():
    with pytest.raises(
        RuntimeError, match=r"no model with time_limit=None: find the reason with fit"
    ):
        fitted(hyperparameters={"GBM": {"objective": "nonsense"}})


def test_one_failing_draw_loses_no_other(monkeypatch, temporary):
    calls = []
    train = TabularPredictor.fit

    def fit(self, *data, **options):
        calls.append(self.path)
        if len(calls) == 3:
            raise MemoryError("no room")
        return train(self, *data, **options)

    monkeypatch.setattr(TabularPredictor, "fit", fit)
    with pytest.warns(DrawWarning, match="1 of 3 draws failed.*no room"):
        model = fitted(run={"n_draws": 3, "on_error": "report"})
    assert len(model.posterior_) == 2
    assert not Path(calls[2]).exists()


def test_what_autogluon_says_of_wrong_arguments_is_passed_on():
    with pytest.raises(ValueError, match=r"Unknown `.fit` keyword argument specified: 'tme_limit'"):
        fitted(tme_limit=3)


def test_a_fitted_predictor_is_refused():
    done = predictor().fit(
        FRAME.assign(target=THREE), hyperparameters=FOREST, num_cpus=1, verbosity=0
    )
    with pytest.raises(ValueError, match="got a fitted one: create a new one"):
        nb.PosteriorClassifier(done).fit(FRAME, THREE)


# Manners.


def test_silent_unless_asked(capfd, caplog):
    fitted()
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    fitted(run={"n_draws": 1}, verbosity=2)
    assert "Fitting model" in caplog.text


def test_one_thread_unless_told_otherwise(monkeypatch):
    seen = []
    train = TabularPredictor.fit

    def fit(self, *data, **options):
        seen.append((options["num_cpus"], options["num_gpus"]))
        return train(self, *data, **options)

    monkeypatch.setattr(TabularPredictor, "fit", fit)
    fitted(run={"n_draws": 1})
    fitted(run={"n_draws": 1}, num_cpus=2)
    assert set(seen) == {(1, 0), (2, 0)}


def test_scikit_learn_can_clone_it_and_ask_for_its_tags():
    from sklearn.base import clone
    from sklearn.utils import get_tags

    model = posterior()
    assert clone(model).estimator.label == "target"
    assert get_tags(model).input_tags.allow_nan
    assert "PosteriorClassifier" in repr(model)


def test_metadata_routing_leaves_all_arguments_to_autogluon():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        assert fitted(run={"n_draws": 1}).predict_proba(FRAME[NEW]).shape == (5, 3)


def test_the_example_shows_intervals(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # AutoGluon makes a folder there
    import autogluon_interval  # here, as it needs AutoGluon

    monkeypatch.setattr(autogluon_interval, "MODELS", {"GBM": {"num_boost_round": 10}})
    autogluon_interval.main(n_draws=2)
    assert capsys.readouterr().out.count("[") == 6  # five intervals in a list
