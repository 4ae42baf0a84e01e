"""The default learner: what it chooses, which tables it takes, and that posteriors keep it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
LINE = X[:, 0] - X[:, 1]
STEPS = 3.0 * (X[:, 0] > 0) - 2.0 * (X[:, 1] > 0.5)
NOISE = RNG.normal(size=300)
NEW = RNG.normal(size=(200, 4))
QUICK = {"max_rounds": 5, "random_state": 0}
ESTIMATORS = [nb.SmoothTreesRegressor(**QUICK), nb.SmoothTreesClassifier(**QUICK)]
# Of a row of weight 2, both are in the same fold; of two equal rows, one may be in another.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows may be in different folds"
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_a_line_is_left_to_the_smooth_model_and_steps_to_trees():
    line = nb.SmoothTreesRegressor(random_state=0).fit(X, LINE + 0.3 * NOISE)
    steps = nb.SmoothTreesRegressor(random_state=0).fit(X, STEPS + 0.3 * NOISE)
    assert line.choice_.share > 0.8
    assert steps.choice_.share < 0.2
    assert steps.choice_.depth == 1  # a sum of two steps has no interaction


def test_classes_of_a_line_are_left_to_the_smooth_model():
    y = RNG.random(300) < 1 / (1 + np.exp(-2 * LINE))
    model = nb.SmoothTreesClassifier(random_state=0).fit(X, y)
    assert model.choice_.share > 0.5
    true = 1 / (1 + np.exp(-2 * (NEW[:, 0] - NEW[:, 1])))
    # a logistic regression of four columns errs by about sqrt(5 / 300 / 4) = 0.06 at worst
    assert np.abs(model.predict_proba(NEW)[:, 1] - true).mean() < 3 * 0.06


def test_predictions_are_the_blend_of_both_parts():
    model = nb.SmoothTreesRegressor(random_state=0).fit(X, LINE + STEPS + NOISE)
    share = model.choice_.share
    assert 0 < share < 1
    smooth = model.smooth_.predict(model.choice_.functions(NEW))
    blend = share * smooth + (1 - share) * model.trees_.predict(NEW)
    assert model.predict(NEW) == pytest.approx(blend)


def frame(library):
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = pd.Categorical(np.where(LINE > 0, "up", "down"))
    table.loc[::9, "b"] = np.nan
    return table if library == "pandas" else pl.from_pandas(table)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", [nb.SmoothTreesRegressor, nb.SmoothTreesClassifier])
def test_frames_with_categories_and_missing_values(library, kind):
    y = LINE + NOISE
    y = y if kind is nb.SmoothTreesRegressor else np.where(y > 0, "high", "low")
    table = frame(library)
    model = kind(**QUICK).fit(table, y)
    assert model.choice_.basis.categories[4].levels in (["up", "down"], ["down", "up"])
    assert model.choice_.basis.numbers[1].has_missing
    assert model.score(table, y) > 0.3


def test_columns_that_say_nothing_and_values_far_outside():
    odd = np.column_stack([X, np.ones(300)])
    model = nb.SmoothTreesRegressor(**QUICK).fit(odd, LINE)
    far = odd[:2].copy()
    far[:, 0] = [1e300, np.inf]
    assert np.ptp(model.predict(far) - model.predict(odd[:2])) < 20
    assert np.isfinite(model.predict(far)).all()
    assert 4 not in model.choice_.basis.numbers


def test_a_table_with_very_many_columns_is_left_to_trees():
    wide = np.random.default_rng(1).normal(size=(40, 700))
    assert nb.SmoothTreesRegressor(**QUICK).fit(wide, wide[:, 0]).choice_.share == 0
    assert nb.SmoothTreesClassifier(**QUICK).fit(wide, wide[:, 0] > 0).choice_.share == 0


def test_a_class_of_one_row():
    y = np.zeros(300, dtype=int)
    y[7] = 1
    model = nb.SmoothTreesClassifier(**QUICK).fit(X, y)
    assert model.predict_proba(NEW)[:, 1].max() < 0.9


@pytest.mark.parametrize("given", [0, 2.5, "many"])
def test_rounds_that_make_no_sense(given):
    with pytest.raises(ValueError, match="max_rounds must be a whole number"):
        nb.SmoothTreesRegressor(max_rounds=given).fit(X, LINE)


@pytest.mark.parametrize("library", ["array", "pandas"])
def test_posteriors_keep_the_choice_and_can_be_saved(library, tmp_path):
    pytest.importorskip("skops")
    table = X if library == "array" else frame("pandas")
    run = {"n_draws": 3, "calibration": None, "random_state": 0}
    labels = np.where(LINE + NOISE > 0, "high", "low")
    for model in (
        nb.PosteriorRegressor(nb.SmoothTreesRegressor(**QUICK), **run).fit(table, LINE + NOISE),
        nb.PosteriorClassifier(nb.SmoothTreesClassifier(**QUICK), **run).fit(table, labels),
    ):
        assert len({(each.choice_.share, each.choice_.rounds) for each in model.estimators_}) == 1
        again = nb.load(model.save(tmp_path / "model.nbz"))
        assert (again.predict(table) == model.predict(table)).all()


def test_it_is_the_default():
    regressor = nb.PosteriorRegressor(n_draws=2, calibration=None, random_state=0)
    assert isinstance(regressor.fit(X, LINE).estimators_[0], nb.SmoothTreesRegressor)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("n_levels", [90, 300])
def test_a_column_of_very_many_categories(library, n_levels):
    """Trees tell 255 apart, and small tables have 63 bins."""
    rng = np.random.default_rng(0)
    code = rng.permutation(np.arange(400) % n_levels)
    frame = pd.DataFrame({"x": rng.normal(size=400), "code": pd.Categorical(code.astype(str))})
    y = frame["x"].to_numpy() + (code == 0)
    X = frame if library is pd else pl.from_pandas(frame)
    model = nb.SmoothTreesRegressor(max_rounds=5, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.fit(X, code == 0).predict(X[:5])).all()
