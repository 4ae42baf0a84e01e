"""Rows of a fit are recognised in any kind of table; rows that look alike are no proof."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import nearbayes as nb
from nearbayes.tables.row_prints import MOST_KEPT, RowPrints, hashed

RNG = np.random.default_rng(0)


def test_equal_values_have_equal_hashes_in_any_table():
    values = np.array([[1.0, 0.0, -0.0], [np.nan, 2.0, 3.5], [4.0, 5.0, 0.0]])
    y = [1, 0, 1]
    expected = hashed(values, y)
    frame = pd.DataFrame(values, columns=list("abc"))
    for table in (frame, frame.astype(object), pl.from_pandas(frame), sparse.csr_matrix(values)):
        np.testing.assert_array_equal(hashed(table, np.array(y, dtype=float)), expected)
    assert len(set(expected)) == 3
    assert not np.isin(hashed(values[:, ::-1], y)[1:], expected).any()  # columns have places
    assert not np.isin(hashed(values, [0, 1, 0]), expected).any()  # and so has the outcome


def test_text_categories_dates_and_missing_values():
    text = pd.DataFrame(
        {"c": ["a", None, "b"], "d": pd.to_datetime(["2020-01-01", None, "2021-5-5"])}
    )
    same = text.assign(c=text["c"].astype("category"))
    np.testing.assert_array_equal(hashed(text, list("xyz")), hashed(same, list("xyz")))
    texts = np.array(["one text", "another"])
    assert len(set(hashed(texts, [0, 0]))) == 2
    images = RNG.normal(size=(4, 3, 3))
    np.testing.assert_array_equal(hashed(images, range(4)), hashed(images.reshape(4, 9), range(4)))


@pytest.mark.parametrize("n", [300, 3 * MOST_KEPT])
def test_the_share_of_training_rows_is_estimated(n):
    X, y = RNG.normal(size=(2 * n, 3)), RNG.integers(2, size=2 * n)
    prints = RowPrints.of(X[:n], y[:n])
    assert len(prints.kept) == min(n, MOST_KEPT)
    assert prints.share_of(X[n:], y[n:]) == 0.0
    assert prints.share_of(X[:n], y[:n]) == 1.0
    mixed = slice(n // 2, n // 2 + n)
    # of 300 rows or some 5,000 of 49,152: four standard errors of a share of one half
    assert prints.share_of(X[mixed], y[mixed]) == pytest.approx(0.5, abs=0.12)


def test_alike_rows_are_expected_to_match():
    X = RNG.integers(0, 6, size=(2_000, 3)).astype(float)
    y = RNG.integers(2, size=2_000)
    prints = RowPrints.of(X[:600], y[:600])
    assert 0.5 < prints.alike < 0.9
    assert prints.share_of(X[600:], y[600:]) == 0.0
    assert prints.share_of(X[:600], y[:600]) == 1.0
    few = RowPrints.of(X[:, :1], y)
    assert few.share_of(X[:9, :1], y[:9]) is None


def test_a_fit_keeps_prints_and_a_file_does_too(tmp_path):
    from sklearn.naive_bayes import GaussianNB

    X, y = RNG.normal(size=(40, 2)), np.arange(40) % 2
    model = nb.PosteriorClassifier(GaussianNB(), n_draws=2, random_state=0).fit(X, y)
    loaded = nb.load(model.save(tmp_path / "m.nearbayes"))
    assert loaded.row_prints_.share_of(X, y) == 1.0
    np.testing.assert_allclose(
        loaded.posterior_.trace.values, model.posterior_.trace.values, rtol=1e-6
    )
