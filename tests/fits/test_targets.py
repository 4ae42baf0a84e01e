import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearbayes.core.data import Data
from nearbayes.fits.targets import class_codes, class_weights, mean_targets, row_weights

TABLE = np.arange(8.0).reshape(4, 2)
REAL = Data.of(TABLE, np.array([0, 1, 2, 1]))
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30)


def with_imputed(pairs_):
    """The real rows and some imputed ones, in plain form."""
    index, y = np.array(pairs_, dtype=np.intp).T
    return Data(TABLE, np.r_[0:4, index], np.concatenate([REAL.y, y]), real=REAL)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(pairs)
def test_weights_sum_to_the_number_of_real_rows(imputed):
    data = with_imputed(imputed)
    assert row_weights(data).sum() == pytest.approx(4.0)
    assert class_weights(data, 3).sum() == pytest.approx(4.0)
    assert mean_targets(data)[1].sum() == pytest.approx(4.0)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(pairs)
def test_merged_observations_say_the_same(imputed):
    data = with_imputed(imputed)
    np.testing.assert_allclose(class_weights(data.merge("labels"), 3), class_weights(data, 3))
    for merged, plain in zip(mean_targets(data.merge("means")), mean_targets(data), strict=True):
        np.testing.assert_allclose(merged, plain)


def test_real_rows_weigh_1():
    assert row_weights(REAL).tolist() == [1.0] * 4


def test_sample_weights_are_counts():
    data = Data.of(TABLE, np.arange(4), np.array([2.0, 1.0, 0.5, 3.0]))
    assert row_weights(data).tolist() == [2.0, 1.0, 0.5, 3.0]


def test_class_weights_have_a_column_for_a_class_without_rows():
    assert np.array_equal(class_weights(REAL, 4), np.eye(4)[[0, 1, 2, 1]])


def test_mean_targets_are_weighted_means():
    data = Data(TABLE, np.array([0, 0, 2]), np.array([1.0, 4.0, 7.0]), np.array([2.0, 1.0, 1.0]))
    means, weights = mean_targets(data)
    assert means.tolist() == [2.0, 3.25, 7.0, 3.25]
    assert weights.tolist() == [3.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        ([5, -1, 5], [-1, 5]),
        ([5.0, -1.0, 5.0], [-1, 5]),
        ([True, False, True], [False, True]),
        (np.array([[1], [0], [1]]), [0, 1]),
    ],
    ids=["strings", "objects", "series", "integers", "floats", "bools", "column"],
)
def test_class_codes(labels, classes):
    codes = class_codes(labels, np.array(classes), "eval_set")
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.intp


@pytest.mark.parametrize(
    ("labels", "unknown"),
    [
        (["a", "z", "k", "z"], r"\['k', 'z'\]"),
        ([0, 1], r"\[0, 1\]"),
        (np.array(["a", None], dtype=object), r"\[None\]"),
        (["aa"], r"\['aa'\]"),
    ],
    ids=["strings", "integers", "missing", "longer"],
)
def test_unknown_classes_are_named(labels, unknown):
    with pytest.raises(ValueError, match=f"must hold only classes of y, got {unknown}: remove"):
        class_codes(labels, np.array(["a", "b"]), "eval_set")


def test_many_unknown_classes_are_named_in_part():
    with pytest.raises(ValueError, match=r"\[2, 3, 4, 5, 6\]: remove"):
        class_codes(np.arange(9), np.array([0, 1]), "eval_set")
