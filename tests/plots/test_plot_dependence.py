import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import nearbayes as nb
from nearbayes.draws.functional import Functional
from nearbayes.inspection.columns import column_of
from nearbayes.inspection.dependence import partial_dependence, predictive_band

RUN = {"n_draws": 6, "random_state": 0}


def curve(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_xydata()


def with_values(table, value):
    changed = table.copy()
    changed[:, 1] = value
    return changed


def test_curve_and_band_are_those_of_the_draws_averaged_over_rows(ax, regressor, table):
    rows = table[:7]
    assert nb.plots.intervals(regressor, rows, 1, coverage=0.8, ax=ax) is ax
    grid = np.sort(rows[:, 1])
    draws = np.stack(
        [regressor.posterior_.predict(with_values(rows, v)).mean(axis=1) for v in grid], axis=1
    )
    np.testing.assert_allclose(curve(ax, "prediction"), np.column_stack([grid, draws.mean(axis=0)]))
    bounds = Functional(draws, regressor.posterior_.inflation).interval(0.8)
    predictive, credible = (band.get_paths()[0].vertices for band in ax.collections)
    for corners in np.stack([np.column_stack([grid, bounds[:, k]]) for k in (0, 1)]):
        assert {tuple(c) for c in corners.round(8)} <= {tuple(c) for c in credible.round(8)}
    assert predictive[:, 1].min() < credible[:, 1].min()
    assert ax.get_xlabel() == "x1"
    assert "80 %" in ax.get_title()


def test_classes(ax, two_classes, three_classes, table):
    nb.plots.intervals(two_classes, table, 0, ax=ax)
    assert ax.get_ylabel() == "P(yes)"
    assert (np.diff(curve(ax, "P(yes)")[:, 1]) > 0).all()
    nb.plots.intervals(two_classes, table, 0, target="no", ax=ax)
    np.testing.assert_allclose(curve(ax, "P(no)")[:, 1], 1 - curve(ax, "P(yes)")[:, 1])
    every = partial_dependence(three_classes, column_of(table, 0))
    assert [each.name for each in every] == ["P(0)", "P(1)", "P(2)"]
    np.testing.assert_allclose(sum(each.mean for each in every), 1)


def test_several_outputs(ax, table, outcomes):
    model = nb.PosteriorRegressor(LinearRegression(), **RUN)
    model.fit(table, np.column_stack([outcomes, -outcomes]))
    nb.plots.intervals(model, table[:5], 0, ax=ax)
    np.testing.assert_allclose(curve(ax, "output 0")[:, 1], -curve(ax, "output 1")[:, 1], atol=1e-4)
    column = column_of(table[:5], 0)
    (second,) = partial_dependence(model, column, target=1)
    np.testing.assert_allclose(second.mean, curve(ax, "output 1")[:, 1])
    low, high = predictive_band(model, column, target=1).T
    assert (low < second.mean).all()
    assert (second.mean < high).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_as_values_in_frames(ax, library, table, outcomes):
    where = np.where(table[:, 2] > 0, "north", "south")
    frame = pd.DataFrame({"size": table[:, 0], "where": pd.Categorical(where)})
    if library == "polars":
        frame = pl.from_pandas(frame)
    encode = make_column_transformer((OneHotEncoder(), ["where"]), remainder="passthrough")
    model = nb.PosteriorRegressor(make_pipeline(encode, Ridge()), **RUN).fit(frame, outcomes)
    nb.plots.intervals(model, frame, "where", ax=ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["north", "south"]
    means = []
    for name in ("north", "south"):
        given = pd.DataFrame({"size": table[:, 0]})
        given["where"] = pd.Categorical([name] * 60, categories=["north", "south"])
        means.append(model.predict(given if library == "pandas" else pl.from_pandas(given)).mean())
    np.testing.assert_allclose(curve(ax, "prediction")[:, 1], means)


def test_of_very_many_names_the_commonest_are_shown_and_counted(ax):
    names = np.repeat([f"name {k:02d}" for k in range(31)], [1] + [3] * 30)
    frame, y = pd.DataFrame({"who": names}), np.arange(91.0)
    steps = make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge())
    model = nb.PosteriorRegressor(steps, **RUN).fit(frame, y)
    nb.plots.intervals(model, frame, "who", ax=ax)
    assert ax.get_xlabel() == "who (30 most frequent of 31 categories)"
    assert [text.get_text() for text in ax.get_xticklabels()] == sorted(set(names[1:]))


def test_bad_arguments(regressor, three_classes, table, outcomes):
    with pytest.raises(ValueError, match="feature must be an integer from 0 to 2, got 3"):
        nb.plots.intervals(regressor, table, 3)
    with pytest.raises(ValueError, match="feature 'x0' has only missing values in X"):
        nb.plots.intervals(regressor, np.full((3, 3), np.nan), 0)
    with pytest.raises(ValueError, match="X must have two dimensions, got"):
        nb.plots.intervals(regressor, table[0], 0)
    with pytest.raises(ValueError, match=r"target must be one of \[0, 1, 2\], got 'yes'"):
        nb.plots.intervals(three_classes, table, 0, target="yes")
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1, got 1"):
        nb.plots.intervals(regressor, table, 0, coverage=1)
    many = nb.PosteriorClassifier(LogisticRegression(), n_draws=2, n_refits=1, random_state=0)
    many.fit(table, np.arange(60) % 6)
    with pytest.raises(ValueError, match="target must be given, because at most 5 curves"):
        nb.plots.intervals(many, table, 0)
