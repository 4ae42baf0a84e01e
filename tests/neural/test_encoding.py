"""Encoding: tables of any kind become finite numbers, and odd ones are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from nearbayes.neural.encoding import Encoding

FRAME = pd.DataFrame(
    {
        "size": [1.0, 3.0, np.nan, 2.0],
        "kind": pd.Categorical(["a", "b", "a", "a"]),
        "flag": [True, False, True, True],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-03"]),
        "same": [7, 7, 7, 7],
    }
)


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_frames(make):
    table = make(FRAME)
    encoding = Encoding.of(table)
    encoded = encoding.encode(table)
    # size, day, same; gaps of size and day; two kinds; two flags
    assert encoded.shape == (4, encoding.n_inputs) == (4, 9)
    assert encoded.dtype == np.float32
    assert np.isfinite(encoded).all()
    np.testing.assert_allclose(encoded[:, 2], 0)  # a constant column says nothing
    assert encoded[:, 3].tolist() == [0, 0, 1, 0]


def test_pandas_and_polars_agree():
    polars = pl.from_pandas(FRAME)
    np.testing.assert_allclose(
        Encoding.of(FRAME).encode(FRAME), Encoding.of(polars).encode(polars), atol=1e-6
    )


def test_unseen_categories_are_all_zero():
    encoding = Encoding.of(FRAME[["kind"]])
    assert encoding.encode(pd.DataFrame({"kind": ["z"]})).tolist() == [[0.0, 0.0]]


def test_sparse_matrices_and_lists_of_objects():
    dense = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 1.0]])
    same = Encoding.of(dense).encode(dense)
    np.testing.assert_array_equal(Encoding.of(sparse.csr_array(dense)).encode(dense), same)
    objects = dense.astype(object)
    np.testing.assert_array_equal(Encoding.of(objects).encode(objects), same)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 8), st.integers(1, 3)),
        elements=st.floats(-1e100, 1e100),
    )
)
@settings(max_examples=50, deadline=None)
def test_numbers_of_any_size_become_finite(values):
    assert np.isfinite(Encoding.of(values).encode(values)).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[np.inf], [1.0]]), "contains infinity in column 0"),
        (np.array([[1e200], [-1e200]]), "squares that are finite"),
        (pd.DataFrame({"id": [f"row {k}" for k in range(1001)]}), "at most 1000 different values"),
    ],
)
def test_odd_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        Encoding.of(table)


def test_text_where_numbers_were():
    encoding = Encoding.of(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="text or categories in column 0"):
        encoding.encode(np.array([["a"]]))
    with pytest.raises(ValueError, match="must have 1 columns, got 2"):
        encoding.encode(np.ones((2, 2)))
