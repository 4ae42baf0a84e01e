import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import nearbayes as nb

SMALL = {"n_draws": 4, "n_refits": 1, "calibration": None, "random_state": 0}


def shown_names(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_bars_are_inflated_intervals_the_largest_first(ax, regressor):
    assert nb.plots.importance(regressor, top=2, coverage=0.8, ax=ax) is ax
    slopes = regressor.posterior_.apply(lambda m: m.coef_)
    order = np.argsort(-np.abs(slopes.mean))[:2]
    outer, inner = ax.collections
    for bars, share in ((outer, 0.8), (inner, 0.5)):
        drawn = [bar[:, 0] for bar in bars.get_segments()]
        np.testing.assert_allclose(drawn, slopes.interval(share)[order])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), slopes.mean[order])
    assert ax.lines[0].get_ydata().tolist() == [1, 0]
    assert shown_names(ax) == [f"x{place}" for place in order]
    assert ax.get_xlabel() == "coefficient"


def test_importances_of_a_forest_with_the_names_of_its_frame(ax, table, outcomes):
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    forest = RandomForestRegressor(3, max_depth=2)
    model = nb.PosteriorRegressor(forest, **SMALL).fit(frame, outcomes)
    nb.plots.importance(model, ax=ax)
    draws = np.array([each.feature_importances_ for each in model.estimators_])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), np.sort(draws.mean(axis=0))[::-1])
    assert shown_names(ax)[2] == "c"
    assert ax.get_xlabel() == "feature importance"


def test_coefficients_of_several_classes_count_by_their_size(ax, three_classes):
    nb.plots.importance(three_classes, names=["a", "b", "c"], ax=ax)
    sizes = np.abs([each.coef_ for each in three_classes.estimators_]).mean(axis=(0, 1))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), np.sort(sizes)[::-1])
    assert ax.get_xlabel() == "mean absolute coefficient"


def test_coefficients_of_two_classes_keep_their_sign(ax, two_classes):
    nb.plots.importance(two_classes, ax=ax)
    assert (ax.lines[0].get_xdata() < 0).any()


def test_a_pipeline_shows_what_its_last_step_sees(ax, table, outcomes):
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    steps = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), Ridge())
    model = nb.PosteriorRegressor(steps, **SMALL).fit(frame, outcomes)
    nb.plots.importance(model, ax=ax)
    assert len(shown_names(ax)) == 9
    assert set(shown_names(ax)[:2]) == {"a", "b"}
    assert "a b" in shown_names(ax)


def test_coefficients_are_scaled_by_the_rows_given(ax, regressor, table):
    nb.plots.importance(regressor, table * [1, 1, 100], ax=ax)
    slopes = regressor.posterior_.apply(lambda m: m.coef_).mean * table.std(axis=0) * [1, 1, 100]
    assert shown_names(ax)[0] == "x2"
    np.testing.assert_allclose(ax.lines[0].get_xdata(), slopes[np.argsort(-np.abs(slopes))])
    assert ax.get_xlabel() == "coefficient × sd of the feature"


def test_models_without_importances_have_their_columns_shuffled(ax, table, outcomes):
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    model = nb.PosteriorRegressor(KNeighborsRegressor(), **SMALL).fit(frame, outcomes)
    nb.plots.importance(model, frame, outcomes, ax=ax)
    assert shown_names(ax)[2] == "c"
    assert ax.get_xlabel() == "increase of the root mean squared error"
    first = ax.lines[0].get_xdata()
    nb.plots.importance(model, frame, outcomes, ax=ax)
    np.testing.assert_array_equal(ax.lines[2].get_xdata(), first)  # the same fit, the same picture


def test_bad_arguments(regressor, table, outcomes):
    with pytest.raises(ValueError, match="top must be an integer of at least 1, got 0"):
        nb.plots.importance(regressor, top=0)
    with pytest.raises(ValueError, match="one name for each of 3 entries, got 1"):
        nb.plots.importance(regressor, names=["a"])
    with pytest.raises(TypeError, match=r"must be a fitted PosteriorClassifier .* got Ridge"):
        nb.plots.importance(Ridge())
    neighbours = nb.PosteriorRegressor(KNeighborsRegressor(), **SMALL).fit(table, outcomes)
    with pytest.raises(TypeError, match="because KNeighborsRegressor has no feature_importances_"):
        nb.plots.importance(neighbours)
    with pytest.raises(ValueError, match="one value for each row of X, got 3 for 60 rows"):
        nb.plots.importance(neighbours, table, outcomes[:3])
