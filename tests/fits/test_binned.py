import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nearbayes.core.data import Data
from nearbayes.fits.binned import Binned, refit_bins

TABLES = {
    "array": np.zeros((3, 1)),
    "pandas": pd.DataFrame({"a": [1.0, 2.0]}),
    "polars": pl.DataFrame({"a": [1.0, 2.0]}),
    "arrow": pa.table({"a": [1.0, 2.0]}),
    "sparse": sparse.csr_matrix(np.eye(2)),
}


class Build:
    """Makes a new object for every call, and remembers the tables."""

    def __init__(self):
        self.tables = []

    def __call__(self, table, bins):
        self.tables.append(table)
        return object()


@pytest.mark.parametrize("kind", TABLES)
def test_the_same_table_is_built_once(kind):
    binned, build = Binned(), Build()
    first = binned.of(TABLES[kind], 64, build)
    assert binned.of(TABLES[kind], 64, build) is first
    assert len(build.tables) == 1
    assert build.tables[0] is TABLES[kind]


def test_an_equal_table_is_not_the_same():
    binned, build, table = Binned(), Build(), np.zeros((3, 1))
    assert binned.of(table, 64, build) is not binned.of(table.copy(), 64, build)


def test_other_bins_are_built_anew():
    binned, build, table = Binned(), Build(), np.zeros((3, 1))
    assert binned.of(table, 64, build) is not binned.of(table, 256, build)


@given(st.integers(2, 20_000), st.sampled_from([63, 255, 256]))
def test_refits_have_no_more_bins_than_usual_and_the_first_fit_its_own(n, usual):
    real = Data.of(np.zeros((n, 1)), np.zeros(n))
    assert refit_bins(real, usual) is None
    bins = refit_bins(replace(real, real=real), usual)
    assert bins is None or 64 <= bins < usual
    assert (bins is None) == (max(64, n // 32) >= usual)


def test_only_the_last_table_is_kept():
    binned, build, one, two = Binned(), Build(), np.zeros((3, 1)), np.ones((3, 1))
    first = binned.of(one, 64, build)
    binned.of(two, 64, build)
    assert binned.of(one, 64, build) is not first


def test_the_table_itself_is_not_kept():
    binned, table = Binned(), np.zeros((3, 1))
    gone = weakref.ref(table)
    binned.of(table, 64, lambda rows, bins: object())
    del table
    gc.collect()
    assert gone() is None


def test_a_failed_build_leaves_what_was_kept():
    binned, build, table = Binned(), Build(), np.zeros((3, 1))
    first = binned.of(table, 64, build)
    with pytest.raises(ZeroDivisionError):
        binned.of(np.ones((3, 1)), 64, lambda rows, bins: 1 / 0)
    assert binned.of(table, 64, build) is first


def test_threads_do_not_share():
    binned, build, table = Binned(), Build(), np.zeros((3, 1))
    here = binned.of(table, 64, build)
    with ThreadPoolExecutor(1) as pool:
        there = [pool.submit(binned.of, table, 64, build).result() for _ in range(2)]
    assert there[0] is there[1]
    assert there[0] is not here


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_and_pickles_start_empty(copied):
    binned, build, table = Binned(), Build(), np.zeros((3, 1))
    first = binned.of(table, 64, build)
    assert copied(binned).of(table, 64, build) is not first
    assert len(pickle.dumps(binned)) < 200
