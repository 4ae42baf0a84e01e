"""The AutoGluon adapter without AutoGluon: what it refuses, promises and makes of tables."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import nearbayes as nb
from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.autogluon_fit import AutoGluonFit, as_pandas
from nearbayes.fits.autogluon_seeds import small_seed

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2
FRAME = pd.DataFrame({"u": X[:, 0], "c": pd.Categorical(np.array(["a", "b"])[Y])}, index=[7] * 20)
TUNING = FRAME.assign(target=Y)


class TabularPredictor:
    """Looks like AutoGluon's, and cannot be fitted."""

    __module__ = "autogluon.tabular.predictor"
    is_fit = False
    label = "target"
    problem_type = None
    verbosity = 2

    def __init__(self, **settings):
        vars(self).update(settings)

    def predict_proba(self, X):
        raise AssertionError


class Subclass(TabularPredictor):
    pass


@pytest.mark.parametrize("kind", [TabularPredictor, Subclass])
def test_a_predictor_has_its_adapter(kind):
    assert type(fitting_of(kind(), {})) is AutoGluonFit


def test_autogluon_is_optional():
    code = "import sys; sys.modules['autogluon'] = None; import nearbayes.fits.autogluon_fit"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_it_promises():
    fitting = fitting_of(TabularPredictor(), {})
    assert fitting.traits.counts is False
    assert fitting.randomised
    assert not fitting.traits.calibrate  # "auto" calibration would take hours
    assert fitting.packages == ("autogluon.tabular",)


@pytest.mark.parametrize(
    ("n_refits", "blocks"), [(None, (100,)), (0, ()), (1, (100,)), (2, (50, 50))]
)
def test_one_block_of_n_by_default(n_refits, blocks):
    assert fitting_of(TabularPredictor(), {}).traits.schedule(n_refits).blocks(100) == blocks


@pytest.mark.parametrize(
    ("settings", "params", "message"),
    [
        ({"is_fit": True}, {}, "got a fitted one: create a new one with the same"),
        ({"problem_type": "quantile"}, {}, "problem_type='quantile'.* use problem_type='regr"),
        ({}, {"train_data": FRAME}, "train_data must not be passed to fit"),
        ({}, {"tuning_data": "rows.csv"}, "tuning_data must be a data frame .* got str"),
        ({}, {"tuning_data": FRAME}, "tuning_data must have the label column 'target'"),
        ({}, {"tuning_data": (X, Y[:3])}, "pair .X, y. of equal length"),
    ],
)
@pytest.mark.parametrize("face", [nb.PosteriorClassifier, nb.PosteriorRegressor])
def test_what_cannot_be_used_is_refused(face, settings, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        face(TabularPredictor(**settings)).fit(FRAME, Y, **params)


@pytest.mark.parametrize(
    ("table", "params", "message"),
    [
        (TUNING, {}, "X must not have the column 'target', the label"),
        (FRAME, {"tuning_data": TUNING.drop(columns="u")}, r"lacks \['u'\]"),
        (FRAME, {"tuning_data": TUNING.assign(target=5)}, "tuning_data"),
        (sparse.csr_matrix(X), {}, "got a sparse matrix: use X.toarray"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(table, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        nb.PosteriorClassifier(TabularPredictor()).fit(table, Y, **params)


@pytest.mark.parametrize(
    ("face", "problem_type", "y", "message"),
    [
        (
            nb.PosteriorClassifier,
            "regression",
            Y,
            "problem_type='binary' or None for y with 2 classes",
        ),
        (nb.PosteriorClassifier, "binary", np.arange(20) % 3, "y with 3 classes"),
        (
            nb.PosteriorRegressor,
            "binary",
            X[:, 0],
            "problem_type='regression' or None for y with numbers",
        ),
    ],
)
def test_problem_types_that_contradict_y_are_refused(face, problem_type, y, message):
    with pytest.raises(ValueError, match=message):
        face(TabularPredictor(problem_type=problem_type)).fit(FRAME, y)


def test_frames_keep_their_dtypes_and_lose_their_index():
    frame = as_pandas(FRAME)
    assert frame.dtypes.equals(FRAME.dtypes)
    assert frame.index.is_unique
    frame["u"] = 0.0
    assert (FRAME["u"] != 0).all()


def test_arrays_and_polars_frames_become_pandas_frames():
    assert as_pandas(X).columns.tolist() == ["0", "1"]
    assert as_pandas(np.array([[1, "a"]], dtype=object)).dtypes.iloc[0].kind == "i"
    assert as_pandas(pl.DataFrame({"u": [1.0], "s": ["a"]})).columns.tolist() == ["u", "s"]


@pytest.mark.parametrize("tuning", [TUNING, pl.from_pandas(TUNING), (FRAME, Y)], ids=type)
def test_outcomes_of_tuning_rows_can_be_simulated(tuning):
    seen = []

    def outcomes(x, y):
        seen.append((list(x.columns), y.tolist()))
        return 1 - y

    fitting = fitting_of(TabularPredictor(), {"tuning_data": tuning, "time_limit": 5})
    again = fitting.with_outcomes(outcomes)
    assert seen == [(["u", "c"], Y.tolist())]
    assert again.tuning_rows["target"].tolist() == (1 - Y).tolist()
    assert again.params["time_limit"] == 5
    assert fitting.tuning_rows["target"].tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("chosen", "given", "level"), [(2, {}, 0), (3, {}, 3), (2, {"verbosity": 2}, 2)]
)
def test_silent_unless_asked(chosen, given, level):
    assert fitting_of(TabularPredictor(verbosity=chosen), given)._settings(0)["verbosity"] == level


def test_settings_of_the_user_win_but_for_the_seed():
    mine = {"num_cpus": 2, "ag_args_ensemble": {"model_random_seed": 3, "fold": 4}}
    settings = fitting_of(TabularPredictor(), mine)._settings(10)
    assert settings["num_cpus"] == 2
    assert settings["num_gpus"] == 0
    assert settings["ag_args_ensemble"] == {"model_random_seed": 5, "fold": 4}
    assert mine["ag_args_ensemble"]["model_random_seed"] == 3


def test_seeds_leave_room_for_folds():
    assert small_seed(2**31 - 1) + 10**6 < 2**31
