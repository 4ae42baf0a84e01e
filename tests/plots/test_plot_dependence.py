import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import nearbayes as nb
from nearbayes.core.credible import Functional
from nearbayes.plots.columns import column_of
from nearbayes.plots.dependence import partial_dependence

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
    assert ax.get_xlabel() == "feature 1"
    assert "80 %" in ax.get_title()


def test_the_predictive_band_covers_new_outcomes_of_those_rows(regressor, table):
    column = column_of(table[:1], 1)
    (one,) = partial_dependence(regressor, column, coverage=0.8)
    exact = regressor.predict_interval(table[:1], 0.8)[0]
    width = exact[1] - exact[0]
    np.testing.assert_allclose(one.predictive[0], exact, atol=0.06 * width)
    np.testing.assert_allclose(
        one.credible[0], regressor.predict_interval(table[:1], 0.8, kind="credible")[0]
    )


def test_calibrated_models_have_calibrated_bands(calibrated, table):
    (one,) = partial_dependence(calibrated, column_of(table[:1], 1), coverage=0.8)
    np.testing.assert_allclose(one.credible[0], calibrated.predict_interval(table[:1], 0.8)[0, 1])
    assert one.predictive is None


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
    (second,) = partial_dependence(model, column_of(table[:5], 0), target=1)
    np.testing.assert_allclose(second.mean, curve(ax, "output 1")[:, 1])
    assert (second.predictive[:, 0] < second.mean).all()
    assert (second.mean < second.predictive[:, 1]).all()


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


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_keep_their_types_and_the_frame_its_values(library):
    frame = pd.DataFrame(
        {"n": np.array([3, 1, 2, 1], dtype=np.int8), "c": pd.Categorical(["b", None, "a", "b"])},
        index=[5, 5, 7, 9],
    )
    frame = frame if library == "pandas" else pl.from_pandas(frame)
    before = frame.copy() if library == "pandas" else frame.clone()
    by_number, by_name = column_of(frame, "n"), column_of(frame, "c")
    assert by_number.grid.tolist() == [1, 2, 3]
    assert by_name.grid.tolist() == ["a", "b"]
    for column in (by_number, by_name):
        imposed = column.imposed_on(np.array([0, 3]))
        assert list(imposed.dtypes) == list(frame.dtypes)
        assert list(imposed[column.name]) == np.repeat(column.grid, 2).tolist()
    assert list(by_name.imposed_on(np.array([0, 3]))["n"]) == [3, 1, 3, 1]
    assert before.equals(frame)


def test_many_values_are_shown_at_quantiles_without_missing_ones():
    values = np.append(np.random.default_rng(0).exponential(size=500), np.nan)
    column = column_of(values[:, None], 0)
    assert len(column.grid) == 30
    assert column.grid[0] == np.nanmin(values)
    assert column.grid[-1] == np.nanmax(values)
    np.testing.assert_allclose(
        column.grid, np.nanquantile(values, np.linspace(0, 1, 30), method="nearest"), rtol=0.1
    )
    assert (values[column.shown] == column.grid).all()


def test_bad_arguments(regressor, three_classes, table, outcomes):
    with pytest.raises(ValueError, match="feature must be a number from 0 to 2, got 3"):
        nb.plots.intervals(regressor, table, 3)
    with pytest.raises(ValueError, match=r"from 0 to 0, or one of \['a'\], got 'b'"):
        column_of(pd.DataFrame({"a": [1.0]}), "b")
    with pytest.raises(ValueError, match="feature 0 has no value in X that is not missing"):
        column_of(np.full((3, 1), np.nan), 0)
    with pytest.raises(ValueError, match="feature 'a' has 31 different names, more than the 30"):
        column_of(pd.DataFrame({"a": [f"name {k}" for k in range(31)]}), "a")
    with pytest.raises(ValueError, match="X must be a dense table with rows and columns, got"):
        nb.plots.intervals(regressor, table[0], 0)
    with pytest.raises(ValueError, match=r"target must be one of \[0, 1, 2\], got 'yes'"):
        nb.plots.intervals(three_classes, table, 0, target="yes")
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1, got 1"):
        nb.plots.intervals(regressor, table, 0, coverage=1)
    many = nb.PosteriorClassifier(LogisticRegression(), n_draws=2, n_refits=1, random_state=0)
    many.fit(table, np.arange(60) % 6)
    with pytest.raises(ValueError, match="target must be given: 6 curves are more than the 5"):
        nb.plots.intervals(many, table, 0)
