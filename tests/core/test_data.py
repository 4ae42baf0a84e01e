from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nearbayes.core.data import Block, Data, Rows, as_data

X = np.arange(6.0).reshape(3, 2)
Y = np.array([0, 1, 1])


def labelled(n_rows, labels, counts=None):
    return Data.of(np.arange(float(n_rows))[:, None], np.array(labels), counts)


@st.composite
def growing(draw):
    """Real labelled rows and a few blocks of urn rows with labels."""
    n = draw(st.integers(2, 6))
    n_labels = draw(st.integers(1, 4))
    label = st.integers(0, n_labels - 1)
    labels = draw(st.lists(label, min_size=n, max_size=n))
    weights = st.lists(st.integers(1, 3), min_size=n, max_size=n)
    data = labelled(n, labels, draw(st.none() | weights))
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        times = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
        size = sum(times)
        y = draw(st.lists(label, min_size=size, max_size=size))
        blocks.append((np.array(times), np.array(y)))
    return data, blocks


def grown(data, blocks, counts, dtype=np.intp):
    for times, y in blocks:
        x = Rows.repeated(data.table, times)
        block = Block(x, y.astype(dtype), data.size + x.size)
        data = data.extend(block, counts)
    return data


def multiset(data):
    return Counter(zip(data.positions.tolist(), data.y.tolist(), strict=True))


@given(growing())
@settings(deadline=None)
def test_merged_labels_conserve_everything(case):
    data, blocks = case
    plain, merged = grown(data, blocks, False), grown(data, blocks, "labels")
    assert merged.size == plain.size == data.size + sum(len(y) for _, y in blocks)
    assert merged.n == data.size
    assert np.array_equal(merged.row_counts(), plain.row_counts())
    assert max(multiset(merged).values()) == 1
    assert multiset(merged.repeat()) == multiset(plain.repeat())


@given(growing())
@settings(deadline=None)
def test_merged_means_conserve_counts_and_sums(case):
    data, blocks = case
    plain, merged = grown(data, blocks, False), grown(data, blocks, "means", float)
    assert merged.size == plain.size
    assert np.array_equal(merged.row_counts(), plain.row_counts())
    assert len(np.unique(merged.positions)) == len(merged.y)
    sums = [np.bincount(d.positions, d.y * d.counts, len(data.y)) for d in (plain, merged)]
    np.testing.assert_allclose(*sums, atol=1e-12)


def test_merged_means_of_two_outputs():
    data = Data.of(X, np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]))
    x = Rows.repeated(data.table, np.array([0, 2, 0]))
    merged = data.extend(Block(x, np.array([[5.0, 50.0], [5.0, 80.0]]), 5), "means")
    np.testing.assert_allclose(merged.y, [[1.0, 10.0], [4.0, 50.0], [3.0, 30.0]])
    assert merged.count.tolist() == [1.0, 3.0, 1.0]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
@settings(deadline=None)
def test_repeated_rows_round_trip(times):
    table = np.arange(float(len(times)))[:, None]
    x = Rows.repeated(table, np.array(times))
    assert np.bincount(x.positions, minlength=len(times)).tolist() == times
    assert len(x) == len(x.values) == sum(times)
    assert np.array_equal(x.repeat(x.distinct), x.values)
    assert np.array_equal(x.values, np.repeat(table, times, axis=0))


def test_rows_of_every_row_and_of_none():
    every = Rows.every(X)
    assert every.values is X
    assert every.distinct is X
    assert every.positions.tolist() == [0, 1, 2]
    assert every.repeat(Y) is Y
    assert len(Rows.without_inputs(4)) == 4


def test_head_gives_distinct_rows_once():
    x = Rows.repeated(X, np.array([3, 0, 2]))
    assert x.head(8).positions.tolist() == [0, 2]
    assert x.head(1).values.tolist() == [[0.0, 1.0]]
    assert len(x.head(8)) == 2
    assert len(Rows.without_inputs(5).head(8)) == 5
    assert len(Rows.without_inputs(50).head(8)) == 8
    empty = Rows.repeated(X, np.array([0, 0, 0]))
    assert len(empty) == len(empty.values) == len(empty.head(8)) == 0


def test_two_rows_are_enough():
    data = Data.of([[0.0], [1.0]], [0, 1])
    assert (data.n, data.size, data.positions.tolist()) == (2.0, 2.0, [0, 1])
    assert data.counts.tolist() == [1.0, 1.0]


def test_observations_alone_have_no_table():
    data = Data.of([3.0, 4.0])
    assert data.table is None
    assert data.x is None
    assert len(data.rows()) == 2
    more = data.extend(Block(Rows.without_inputs(1), np.array([5.0]), 3), "labels")
    assert more.y.tolist() == [3.0, 4.0, 5.0]
    assert (more.n, more.size) == (2.0, 3.0)


TABLES = {
    "pandas": pd.DataFrame(X, columns=["a", "b"]),
    "polars": pl.DataFrame(X, schema=["a", "b"]),
    "sparse": sparse.csr_matrix(X),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("old_rows", [True, False])
def test_extend_keeps_the_kind_of_table(name, old_rows):
    data = Data.of(TABLES[name], Y)
    table = data.table if old_rows else data.select(np.arange(3)).table
    x = Rows.repeated(table, np.array([0, 1, 1]))
    merged = data.extend(Block(x, np.array([0, 1]), 5), "labels")
    assert type(merged.x) is type(TABLES[name])
    assert merged.size == 5.0
    assert merged.table.shape[0] == (3 if old_rows else 5)
    values = merged.x.toarray() if name == "sparse" else np.asarray(merged.x)
    # row 1 gets a second label; row 2 gets its old one again, which merges if the row is the same
    expected = [0, 1, 1, 2] if old_rows else [0, 1, 2, 1, 2]
    np.testing.assert_array_equal(values, X[expected])


def test_zero_weights_leave_rows_out():
    data = Data.of(X, Y, [2, 0, 1])
    assert data.x.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert data.y.tolist() == [0, 1]
    assert data.count.tolist() == [2.0, 1.0]
    assert data.n == 3.0


def test_one_number_weights_every_row():
    assert Data.of(X, Y, 2).counts.tolist() == [2.0, 2.0, 2.0]


def test_counts_of_imputed_rows_are_one():
    data = Data.of(X, Y, [0.5, 2.0, 1.0])
    x = Rows.repeated(data.table, np.array([1, 0, 1]))
    more = data.extend(Block(x, np.array([1, 1]), 5.5))
    assert more.counts.tolist() == [0.5, 2.0, 1.0, 1.0, 1.0]
    assert more.size == 5.5
    assert more.n == 3.5


@pytest.mark.parametrize("counts", [False, "labels"])
def test_replaced_by_keeps_imputed_rows_alone(counts):
    data = Data.of(X, Y)
    x = Rows.repeated(data.table, np.array([3, 0, 0]))
    replaced = data.replaced_by(Block(x, np.array([1, 0, 1]), 3), counts)
    assert multiset(replaced.repeat()) == {(0, 1): 2, (0, 0): 1}
    assert (replaced.size, replaced.n) == (3.0, 3.0)
    assert (replaced.count is None) is (counts is False)


def test_select_and_unlabelled_rows():
    data = Data.of(X, Y, [1, 2, 3])
    part = data.select(np.array([2, 1]))
    assert (part.y.tolist(), part.count.tolist()) == ([1, 1], [3.0, 2.0])
    assert part.x.tolist() == X[[2, 1]].tolist()
    more = data.with_unlabelled(np.full((2, 2), 9.0))
    assert more.table.shape == (5, 2)
    assert np.array_equal(more.x, X)
    assert more.row_counts().tolist() == [1.0, 2.0, 3.0, 0.0, 0.0]
    assert len(more.rows()) == 3


def test_as_data():
    data = Data.of(X, Y)
    assert as_data(data) is data
    assert as_data((X, Y)).y is Y
    assert as_data(Y).table is None
    with pytest.raises(ValueError, match=r"data must be a pair \(X, y\), got a tuple of 3"):
        as_data((X, Y, Y))


BAD = {
    "lengths": ((X, Y[:2]), "same length, got 3 rows of X and 2 of y"),
    "one": (([1.0],), "at least 2 rows, got n_samples=1"),
    "scalar": ((5.0,), "at least 2 rows, got n_samples=0"),
    "weights_of_one": ((X, Y, [1, 0, 0]), "at least 2 rows, got weights that sum to 1:"),
    "nan": (([1.0, np.nan, np.inf],), "data contains NaN, missing or infinity in 2 places"),
    "none": ((X, np.array(["a", None, "b"], dtype=object)), "y contains NaN, missing"),
    "pandas_na": ((X, pd.array([1, None, 2], dtype="Int64")), "y contains NaN, missing"),
    "weight_shape": ((X, Y, [1, 1]), r"sample_weight.shape \(2,\), expected \(3,\)"),
    "weight_negative": ((X, Y, [1, 1, -2]), "finite and not negative, got a minimum of -2"),
    "weight_nan": ((X, Y, [1, 1, np.nan]), "sample_weight must be finite"),
    "weight_zero": ((X, Y, 0), "sample_weight is all zero"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_named(name):
    arguments, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        Data.of(*arguments)


def test_repeat_refuses_fractions():
    with pytest.raises(ValueError, match="whole numbers for an algorithm that takes no weights"):
        Data.of(X, Y, [1.5, 1, 1]).repeat()
    assert Data.of([1.0, 2.0], None, [2, 1]).repeat().y.tolist() == [1.0, 1.0, 2.0]
