"""Columns of arrays, sparse matrices, pandas and polars frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nearbayes.inspection.columns import column_of, column_values, is_present, with_column


@pytest.mark.parametrize("kind", ["array", "sparse", "pandas", "polars"])
def test_a_column_is_replaced_by_its_own_values(kind):
    values = np.arange(8.0).reshape(4, 2)
    table = {
        "array": values,
        "sparse": sparse.csr_matrix(values),
        "pandas": pd.DataFrame(values, columns=["a", "b"], index=[3, 3, 1, 0]),
        "polars": pl.DataFrame(values, schema=["a", "b"]),
    }[kind]
    changed = with_column(table, 1, table, np.array([3, 3, 0, 1]))
    assert type(changed) is type(table)
    assert column_values(changed, 1).tolist() == [7.0, 7.0, 1.0, 3.0]
    assert column_values(changed, 0).tolist() == column_values(table, 0).tolist()
    assert column_values(table, 1).tolist() == [1.0, 3.0, 5.0, 7.0]  # never changed


def test_categories_survive_a_replaced_column():
    frame = pd.DataFrame({"c": pd.Categorical(["u", None], categories=["u", "v"])})
    changed = with_column(frame, 0, frame, np.array([1, 0]))
    assert changed["c"].dtype == frame["c"].dtype
    assert is_present(column_values(changed, 0)).tolist() == [False, True]


def test_frames_with_numbers_for_names():
    frame = pd.DataFrame({0: [1, 2, 3], 1: pd.Categorical(["a", None, "b"])}, index=[5, 5, 7])
    changed = with_column(frame, 1, frame, np.array([2, 0, 1]))
    assert changed[1].tolist()[:2] == ["b", "a"]
    assert changed.index.tolist() == [5, 5, 7]
    assert list(changed.dtypes) == list(frame.dtypes)


def test_what_is_a_number():
    whole = column_of(pd.DataFrame({"k": pd.array([1, None], dtype="Int64")}), 0)
    assert whole.is_number
    assert (whole.values.tolist(), whole.shown.tolist()) == ([1], [0])
    assert not column_of(np.array([[True], [False]]), 0).is_number
    assert not column_of(np.array([["1"], ["2"]], dtype=object), 0).is_number
    assert not column_of(np.array([[None], [np.nan]], dtype=object), 0).is_number


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_have_an_order_and_may_be_missing(library):
    days = np.array(["2024-03-01", "NaT", "2023-01-01", "2024-01-05"], dtype="datetime64[us]")
    frame = (pd if library == "pandas" else pl).DataFrame({"day": days})
    column = column_of(frame, "day")
    assert column.shown.tolist() == [2, 3, 0]
    assert column.is_ordered
    assert not column.is_number


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
    inner = column_of(values[:, None], 0, most=15, trim=0.02).grid
    assert len(inner) == 15
    np.testing.assert_allclose(inner[[0, -1]], np.nanquantile(values, [0.02, 0.98]), rtol=0.1)


def test_names_that_are_too_many_are_the_commonest_sorted():
    column = column_of(pd.DataFrame({"a": list("zzyyxwwwv")}), "a", most=3)
    assert column.grid.tolist() == ["w", "y", "z"]
    assert column.n_distinct == 5


def test_what_is_not_there():
    with pytest.raises(ValueError, match=r"from 0 to 0, or one of \['a'\], got 'b'"):
        column_of(pd.DataFrame({"a": [1.0]}), "b")
    assert len(column_of(np.full((3, 1), np.nan), 0).shown) == 0
