"""Importances and effects of a report against the draws themselves."""

import numpy as np
import pandas as pd
import pytest
from report_cases import contents_of, diabetes, patients
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearbayes as nb
from nearbayes import report
from nearbayes.metrics import brier
from nearbayes.report.heldout import LEVELS as REPORTED
from nearbayes.report.heldout import HeldOut
from nearbayes.report.importance import importance

LEVELS = (0.5, 0.8, 0.9, 0.95)


def test_coefficients_per_standard_deviation():
    case, found = diabetes(), contents_of("diabetes")["importance"]
    sd = case.X.to_numpy().std(axis=0)
    expected = case.model.posterior_.apply(lambda ridge: ridge.coef_ * sd)
    order = np.argsort(-np.abs(expected.mean))
    assert found["name"] == case.X.columns[order].tolist()
    np.testing.assert_allclose(found["mean"], expected.mean[order], rtol=1e-3)
    bounds = expected.interval(LEVELS)[order]
    for k, level in enumerate(found["intervals"]):
        np.testing.assert_allclose(level["lower"], bounds[:, 0, k], rtol=1e-3)
        np.testing.assert_allclose(level["upper"], bounds[:, 1, k], rtol=1e-3)
    correlation = expected.correlation()[np.ix_(order, order)][:10, :10]
    np.testing.assert_allclose(found["correlation"], correlation, atol=1e-3)
    assert sum(found["largest"]) == pytest.approx(1, abs=1e-3)


def test_own_importances_are_shares():
    X, y = load_iris(return_X_y=True)
    trees = ExtraTreesClassifier(5, max_depth=3)
    model = nb.PosteriorClassifier(trees, n_draws=4, calibration=None, random_state=0).fit(X, y)
    found = report.contents(model, X, y)["importance"]
    expected = model.posterior_.apply(lambda each: each.feature_importances_).mean
    assert found["about"].startswith("The model's own")
    np.testing.assert_allclose(found["mean"], np.sort(expected)[::-1], rtol=1e-3)


def test_shuffling_the_column_that_matters_hurts():
    case, found = patients(), contents_of("patients")["importance"]
    assert found["name"][0] == "age"
    assert "80 rows" in found["about"]
    assert found["draws"] == len(case.model.posterior_)
    assert set(found["name"]) == {"age", "ward", "visits"}
    assert found["mean"][0] > 0


def test_shuffling_nothing_changes_nothing(monkeypatch):
    case = patients()
    monkeypatch.setattr(
        "nearbayes.inspection.importance.with_column", lambda table, j, source, rows: table
    )
    assert report.contents(case.model, case.X, case.y)["importance"]["mean"] == [0.0, 0.0, 0.0]


def test_partial_dependence_of_a_number():
    case, found = diabetes(), contents_of("diabetes")["effects"]
    bmi = next(each for each in found["features"] if each["name"] == "bmi")
    slopes = case.model.posterior_.apply(lambda ridge: ridge.coef_[2])
    rise = np.diff(bmi["curves"][0]["mean"]) / np.diff(bmi["at"])
    np.testing.assert_allclose(rise, slopes.mean, rtol=0.05)  # values have four digits
    assert len(bmi["at"]) == 15
    assert bmi["at"] == sorted(bmi["at"])
    assert bmi["missing"] == 0


def test_partial_dependence_of_a_category():
    case, found = patients(), contents_of("patients")["effects"]
    ward = next(each for each in found["features"] if each["name"] == "ward")
    assert found["views"] == ["probability of sick"]
    assert not ward["numeric"]
    assert sorted(ward["at"]) == ["east", "north", "west"]
    everywhere = case.X.copy()  # all 80 held-out rows are fewer than the sample of 100
    for name, mean in zip(ward["at"], ward["curves"][0]["mean"], strict=True):
        everywhere["ward"] = pd.Categorical(
            [name] * len(everywhere), categories=case.X["ward"].cat.categories
        )
        expected = case.model.predict_proba(everywhere)[:, 1].mean()
        assert mean == pytest.approx(expected, rel=1e-3)


def test_missing_values_are_counted():
    case, found = patients(), contents_of("patients")["effects"]
    age = next(each for each in found["features"] if each["name"] == "age")
    assert age["missing"] == pytest.approx(case.X["age"].isna().mean(), rel=1e-3)
    assert None not in age["at"]


def test_rows_to_check_are_the_least_sure_with_their_values():
    case, check = patients(), contents_of("patients")["check"]
    bounds, mean = case.model.predict_interval(case.X), case.model.predict_proba(case.X)
    answered = mean.argmax(axis=1)
    lowest = bounds[np.arange(len(mean)), answered, 0]
    doubtful = int((lowest < 0.5).sum())  # all are listed, up to 50
    assert doubtful > 50
    expected = case.X.index[np.argsort(lowest, kind="stable")[:50]].tolist()
    assert [each["row"] for each in check["rows"]] == expected
    first = case.X.index.get_loc(expected[0])
    assert check["rows"][0]["predicted"] == case.model.classes_[answered[first]]
    assert check["rows"][0]["bar"]["low"] == pytest.approx(100 * lowest[first], abs=0.01)
    top = contents_of("patients")["importance"]["name"][:3]
    assert check["columns"] == top
    shown = dict(zip(top, check["rows"][0]["values"], strict=True))
    assert shown["ward"] == case.X.loc[expected[0], "ward"]


def test_many_columns_are_screened_by_the_base_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    y = (X[:, 7] > 0).astype(int)
    knn = nb.PosteriorClassifier(
        KNeighborsClassifier(5), n_draws=2, n_refits=1, calibration=None, random_state=0
    ).fit(X, y)
    found = report.contents(knn, X, y)["importance"]
    assert "30 columns most important" in found["about"]
    assert found["of"] == 40
    base = brier(y, knn.posterior_.algorithm.predict(knn.posterior_.first, X))
    assert base < 0.5
    assert "x7" in found["name"]


def iris_importance(estimator):
    X, y = load_iris(return_X_y=True)
    model = nb.PosteriorClassifier(estimator, n_draws=3, calibration=None, random_state=0)
    return report.contents(model.fit(X, y), X, y, feature_names=list("abcd"))["importance"]


def test_the_last_step_of_a_pipeline_has_its_say_where_it_is_given_the_columns():
    logistic = LogisticRegression(C=0.1)
    scaled = iris_importance(make_pipeline(StandardScaler(), logistic))
    assert scaled["about"].startswith("Mean absolute coefficient times the standard deviation")
    assert scaled["name"][0] in "cd"  # length and width of petals
    mixed = iris_importance(make_pipeline(PCA(4), logistic))
    assert mixed["about"].startswith("How much worse predictions get when the column is shuffled")
    assert set(mixed["name"]) == set("abcd")


def test_effects_have_calibrated_bands():
    case, found = patients(), contents_of("patients")["effects"]
    visits = next(each for each in found["features"] if each["name"] == "visits")
    everywhere = case.X.copy()
    everywhere["visits"] = visits["at"][0]
    same = case.model.functional(
        lambda fitted: fitted.predict_proba(everywhere)[:, 1].mean(), link="logit"
    )
    assert same.spread == "calibrated"
    for level, band in zip(LEVELS, visits["curves"][0]["intervals"], strict=True):
        low, high = same.interval(level)
        assert band["lower"][0] == pytest.approx(low, rel=1e-3)
        assert band["upper"][0] == pytest.approx(high, rel=1e-3)


def test_the_command_line_can_ask_for_importances_alone():
    case = patients()
    held = HeldOut.of(case.model, case.X, case.y, np.random.default_rng(0), None, len(case.X))
    found = importance(held, np.random.default_rng(0))
    assert set(found["name"]) == set(case.X.columns)
    assert len(found["intervals"]) == len(REPORTED) == len(LEVELS)
    assert all(len(found[key]) == 3 for key in ("mean", "largest"))
