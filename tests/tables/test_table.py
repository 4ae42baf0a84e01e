import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nearbayes.tables.table import as_table, is_frame, like, n_rows, numeric_values, stack, take

VALUES = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TABLES = {
    "array": VALUES,
    "sparse_matrix": sparse.csr_matrix(VALUES),
    "sparse_array": sparse.csr_array(VALUES),
    "pandas": pd.DataFrame(VALUES, columns=["a", "b"]),
    "polars": pl.DataFrame(VALUES, schema=["a", "b"]),
}
every_table = pytest.mark.parametrize("name", TABLES)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
every_frame = pytest.mark.parametrize("library", FRAMES)


def values_of(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


@every_table
def test_tables_are_not_converted(name):
    table = TABLES[name]
    assert type(as_table(table)) is type(table)
    assert is_frame(table) is (name in FRAMES)


def test_lists_become_arrays_and_sparse_formats_become_csr():
    assert as_table([[1, 2]]).shape == (1, 2)
    assert as_table(sparse.coo_matrix(VALUES)).format == "csr"
    assert as_table(sparse.csc_array(VALUES)).format == "csr"


@every_table
def test_take_with_repeats_and_stack(name):
    table = TABLES[name]
    taken = take(table, np.array([2, 0, 2]))
    assert type(taken) is type(table)
    np.testing.assert_array_equal(values_of(taken), VALUES[[2, 0, 2]])
    both = stack([table, taken])
    assert type(both) is type(table)
    assert n_rows(both) == 6
    np.testing.assert_array_equal(values_of(both), VALUES[[0, 1, 2, 2, 0, 2]])


@every_table
def test_take_of_no_rows_keeps_columns(name):
    assert take(TABLES[name], np.array([], dtype=np.intp)).shape == (0, 2)


def test_a_scalar_has_no_rows():
    assert n_rows(np.array(3.0)) == 0


def test_stack_keeps_categories():
    frame = pd.DataFrame({"kind": pd.Categorical(["x", "y"])})
    assert stack([frame, frame])["kind"].dtype == frame["kind"].dtype


@every_frame
def test_numeric_values_of_frames(library):
    frame = FRAMES[library]({"a": [1, 2], "b": [0.5, np.nan]})
    np.testing.assert_array_equal(numeric_values(frame, "test"), [[1.0, 0.5], [2.0, np.nan]])


@every_frame
def test_numeric_values_name_the_column_that_is_no_number(library):
    frame = FRAMES[library]({"a": [1, 2], "colour": ["red", "blue"]})
    message = r"inputs.KDE needs numeric columns, but column 'colour' has type .*inputs.Urn\(\)"
    with pytest.raises(TypeError, match=message):
        numeric_values(frame, "inputs.KDE")


@pytest.mark.parametrize("dtype", ["U1", "object", "bool"])
def test_numeric_values_refuse_other_arrays(dtype):
    with pytest.raises(TypeError, match="me needs numeric columns, but the array has type"):
        numeric_values(np.array([["1"], [""]]).astype(dtype), "me")


def test_numeric_values_refuse_sparse():
    with pytest.raises(TypeError, match="me needs a dense table, got a sparse matrix"):
        numeric_values(TABLES["sparse_matrix"], "me")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", ["array", *FRAMES])
def test_like_keeps_dtype_and_rounds_integers(kind, dtype):
    column = np.array([1, 2, 3], dtype=dtype)
    table = column[:, None] if kind == "array" else FRAMES[kind]({"a": column})
    made = like(table, np.array([[0.4], [-1.6]]))
    assert type(made) is type(table)
    if kind == "array":
        assert made.dtype == dtype
    else:
        assert list(made.columns) == ["a"]
        assert list(made.dtypes) == list(table.dtypes)
    expected = [0.0, -2.0] if "int" in dtype else np.array([0.4, -1.6], dtype=dtype)
    np.testing.assert_array_equal(np.asarray(made).ravel(), expected)


@pytest.mark.parametrize("kind", ["array", *FRAMES])
def test_like_keeps_unsigned_integers_in_their_range(kind):
    column = np.array([1, 2], dtype=np.uint8)
    table = column[:, None] if kind == "array" else FRAMES[kind]({"a": column})
    made = np.asarray(like(table, np.array([[-1.0], [300.0], [7.2]]))).ravel()
    assert made.tolist() == [0, 255, 7]


def test_like_keeps_nullable_dtypes_of_pandas():
    frame = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")})
    assert like(frame, np.array([[1.2]])).dtypes["a"] == frame.dtypes["a"]


@every_frame
def test_like_keeps_missing_integers_missing(library):
    integers = pd.array([1, None], dtype="Int64") if library == "pandas" else [1, None]
    frame = FRAMES[library]({"a": integers})
    made = like(frame, np.array([[np.nan], [2.6]]))["a"].to_list()
    assert made[1] == 3
    assert made[0] is None or made[0] is pd.NA
