import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import nearbayes as nb
from nearbayes.core.data import Block, Data, Rows
from nearbayes.core.inputs import KDE, Callable, Pool, Uniform, Urn, as_inputs

X = np.arange(20.0).reshape(10, 2)
FRAME = pd.DataFrame(X, columns=["a", "b"])


def data_of(x, weight=None):
    return Data.of(x, np.zeros(x.shape[0]), weight)


TABLES = {
    "array": X,
    "text": X.astype(str).astype(object),
    "pandas": FRAME.assign(c=list("abcdefghij")),
    "polars": pl.DataFrame({"a": X[:, 0], "c": list("abcdefghij")}),
    "sparse": sparse.csr_matrix(X),
}


@pytest.mark.parametrize("name", TABLES)
def test_urn_takes_any_table(name):
    data = data_of(TABLES[name])
    assert Urn().prepare(data) is data
    x = Urn().sample(data, 7, np.random.default_rng(0))
    assert x.table is data.table
    assert x.values.shape == (7, data.table.shape[1])


def test_urn_of_a_block_of_one_and_of_two_rows():
    x = Urn().sample(data_of(X[:2]), 1, np.random.default_rng(0))
    assert len(x) == 1
    assert x.positions[0] in (0, 1)


def test_urn_follows_counts(seed):
    data = data_of(np.array([[0.0], [1.0]]), [9, 3])
    rng = np.random.default_rng(seed)
    shares = [Urn().sample(data, 5, rng).values.mean() for _ in range(4000)]
    # a Beta(3, 9) share, then Binomial(5, share) / 5
    variance = 0.25 * 0.75 * (1 / 13 + (12 / 13) / 5)
    assert abs(np.mean(shares) - 0.25) < 4 * np.sqrt(variance / 4000)
    assert np.var(shares) == pytest.approx(variance, rel=4 * np.sqrt(3 / 4000))


def blocks_of_three(x, size):
    """How often each row is in a block of three, as one number."""
    counts = (np.asarray(x)[:, :, None] == np.arange(size)).sum(axis=1)
    return np.bincount(counts @ 4 ** np.arange(size), minlength=4**size) / len(x)


@pytest.mark.parametrize("weight", [None, [1.0, 2.5, 0.5, 4.0]])
def test_an_urn_for_many_draws_has_the_law_of_one_for_each(weight):
    data, rng = data_of(np.arange(4.0)[:, None], weight), np.random.default_rng(11)
    many = Urn().sample_for_draws(data, 3, 40_000, rng).positions
    each = [Urn().sample(data, 3, rng).positions for _ in range(10_000)]
    one, other = blocks_of_three(many, 4), blocks_of_three(each, 4)
    error = np.sqrt(other * (1 - other) * (1 / 10_000 + 1 / 40_000)) + 1e-4
    assert (np.abs(one - other) < 4.5 * error).all()
    for place in range(3):  # any row of a block has the law of the first
        share = np.bincount(many[:, place], minlength=4) / len(many)
        expected = data.row_counts() / data.size
        assert (np.abs(share - expected) < 4.5 * np.sqrt(expected / len(many))).all()


def test_an_urn_for_many_draws_gives_no_row_that_was_never_seen(monkeypatch):
    pool = Pool(np.full((5, 1), -1.0)).prepare(data_of(np.arange(3.0)[:, None]))
    monkeypatch.setattr("nearbayes.core.inputs.MOST_BALLS", 60)  # in parts of two draws
    monkeypatch.setattr("nearbayes.core.inputs.FEW", 1)
    x = Urn().sample_for_draws(pool, 20, 101, np.random.default_rng(0))
    assert len(x) == 101
    assert [len(each) for each in x] == [20] * 101
    assert {float(value) for each in x for value in each.values.ravel()} == {0.0, 1.0, 2.0}
    assert len(x[3:5]) == 2


def test_urn_draws_imputed_rows_again(seed):
    data = data_of(X)
    block = Block(Rows.repeated(data.table, np.array([10_000] + [0] * 9)), np.zeros(10_000), 10_010)
    positions = Urn().sample(data.extend(block), 500, np.random.default_rng(seed)).positions
    assert (positions == 0).mean() > 0.98


@pytest.mark.parametrize("name", ["array", "pandas", "polars", "sparse"])
def test_pool_draws_from_the_pool_alone(name):
    table = TABLES[name]
    data = data_of(table)
    pool = data.select(np.array([3, 3, 4])).table
    prepared = Pool(pool).prepare(data)
    assert prepared.table.shape[0] == 13
    assert type(prepared.table) is type(table)
    x = Pool(pool).sample(prepared, 300, np.random.default_rng(0))
    assert set(x.positions.tolist()) == {10, 11, 12}
    assert len(x) == 300
    more = prepared.extend(Block(x, np.zeros(300), 310))
    assert more.table is prepared.table


def test_pool_as_a_list():
    data = Pool([[7.0, 8.0]]).prepare(data_of(X))
    x = Pool([[7.0, 8.0]]).sample(data, 2, np.random.default_rng(0))
    assert x.values.tolist() == [[7.0, 8.0], [7.0, 8.0]]


POOLS = {
    "empty": (X, X[:0]),
    "narrow": (X, X[:, :1]),
    "flat": (X, X[:, 0]),
    "other_names": (FRAME, FRAME.rename(columns={"a": "z"})),
    "array_for_frame": (FRAME, X),
    "frame_for_array": (X, FRAME),
    "polars_for_pandas": (FRAME, pl.DataFrame(X, schema=["a", "b"])),
    "sparse_for_array": (X, sparse.csr_matrix(X)),
}


@pytest.mark.parametrize("name", POOLS)
def test_pool_of_another_kind_is_refused(name):
    table, pool = POOLS[name]
    with pytest.raises(ValueError, match=r"Pool\(X\) must have rows, and the columns"):
        Pool(pool).prepare(data_of(table))


def test_kde_bandwidths():
    assert KDE().factor(100, 1) == pytest.approx(100 ** (-1 / 5))
    assert KDE("silverman").factor(100, 2) == pytest.approx(100 ** (-1 / 6))
    assert KDE(0.3).factor(100, 2) == 0.3
    assert KDE(np.float32(0.5)).factor(100, 2) == 0.5


@pytest.mark.parametrize("bandwidth", ["wide", 0, -1.0, np.nan, np.inf, None])
def test_kde_bad_bandwidth(bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be 'scott', 'silverman' or a positive"):
        KDE(bandwidth).prepare(data_of(X))


def test_kde_has_the_moments_of_a_kernel_density(seed):
    table = np.random.default_rng(seed).normal([1.0, -2.0], [1.0, 5.0], size=(40, 2))
    x = KDE(0.5).sample(data_of(table), 40_000, np.random.default_rng(seed)).values
    sd = table.std(axis=0) * np.sqrt(1.25)
    assert (np.abs(x.mean(axis=0) - table.mean(axis=0)) < 4 * sd / 200).all()
    np.testing.assert_allclose(x.std(axis=0), sd, rtol=4 / np.sqrt(40_000))


def test_kde_of_weighted_rows_is_that_of_repeated_rows(seed):
    table, weight = np.array([[0.0], [1.0]]), [150, 50]
    weighted = data_of(table, weight)
    draws = [
        KDE(1.0).sample(data, 40_000, np.random.default_rng(seed)).values.std()
        for data in (weighted, data_of(np.repeat(table, weight, axis=0)))
    ]
    # each sd has a relative Monte Carlo error of 0.0034, their difference 0.0048
    assert draws[0] == pytest.approx(draws[1], rel=4 / np.sqrt(40_000))


def test_kde_uses_real_rows_alone():
    data = data_of(X)
    far = Block(Rows.every(np.full((1000, 2), 1e6)), np.zeros(1000), 1010)
    assert KDE().sample(data.extend(far), 500, np.random.default_rng(0)).values.max() < 100


def test_kde_keeps_missing_values_missing():
    table = np.where(np.arange(40)[:, None] % 4 == 0, np.nan, np.arange(40.0)[:, None])
    x = KDE().sample(data_of(table), 4000, np.random.default_rng(0)).values
    assert abs(np.isnan(x).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_kde_of_integer_columns_gives_integers_nearby(kind, dtype):
    column = (np.arange(40) % 5).astype(dtype)
    tables = {
        "array": lambda: column[:, None],
        "pandas": lambda: pd.DataFrame({"a": column}),
        "polars": lambda: pl.DataFrame({"a": column}),
    }
    x = KDE().sample(data_of(tables[kind]()), 500, np.random.default_rng(0)).values
    drawn = np.asarray(x).ravel()
    assert drawn.dtype == dtype
    assert drawn.max() < 10
    assert drawn.min() > -6
    assert len(np.unique(drawn)) > 3


def test_kde_of_integers_with_missing_values():
    column = [1, 2, None, 4, 5, 3]
    x = KDE().sample(data_of(pl.DataFrame({"a": column})), 200, np.random.default_rng(0)).values
    drawn = x["a"]
    assert 0 < drawn.null_count() < 100
    assert drawn.drop_nulls().is_between(-6, 12).all()


@pytest.mark.parametrize("inputs", [KDE(), Uniform(0, 1)])
def test_made_up_inputs_refuse_text_and_sparse(inputs):
    name = f"inputs.{type(inputs).__name__}"
    with pytest.raises(TypeError, match=f"{name} needs numeric columns, but column 'c'"):
        inputs.prepare(data_of(TABLES["pandas"]))
    with pytest.raises(TypeError, match=f"{name} needs a dense table"):
        inputs.prepare(data_of(TABLES["sparse"]))


def test_uniform_fills_its_box():
    box = Uniform([0.0, 10.0], [1.0, 30.0])
    assert box.prepare(data_of(X)).table is X
    x = box.sample(data_of(X), 2000, np.random.default_rng(0)).values
    assert x.shape == (2000, 2)
    assert (x.min(axis=0) < [0.01, 10.2]).all()
    assert (x.min(axis=0) >= [0.0, 10.0]).all()
    assert (x.max(axis=0) <= [1.0, 30.0]).all()
    assert (x.max(axis=0) > [0.99, 29.8]).all()


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0, [1, 2, 3], r"X has 2 columns, got bounds of shape \(\) and \(3,\)"),
        ("low", 1, "must be numbers or arrays of one bound per column"),
        (1, 0, "finite low below high in every column, got low 1 and high 0"),
        ([0, 0], [1, 0], "finite low below high"),
        (0, np.inf, "finite low below high"),
        (np.nan, 1, "finite low below high"),
    ],
)
def test_uniform_bad_box(low, high, message):
    with pytest.raises(ValueError, match=message):
        Uniform(low, high).prepare(data_of(X))


@pytest.mark.parametrize("name", ["array", "pandas", "polars", "sparse"])
def test_callable_gives_any_kind_of_table(name):
    data = data_of(TABLES[name])
    inputs = Callable(lambda size, rng: data.select(rng.integers(10, size=size)).table)
    assert inputs.prepare(data) is data
    x = inputs.sample(data, 4, np.random.default_rng(0))
    more = data.extend(Block(x, np.zeros(4), 14))
    assert type(more.x) is type(TABLES[name])
    assert more.x.shape[0] == 14


RETURNS = {
    "too_few": (X, X[:3], r"must return 4 rows .* got ndarray of shape \(3, 2\)"),
    "too_narrow": (X, X[:4, :1], r"got ndarray of shape \(4, 1\)"),
    "flat": (X, X[:4, 0], r"got ndarray of shape \(4,\)"),
    "frame_for_array": (X, FRAME[:4], "same kind and columns as X, ndarray.*: got DataFrame"),
    "array_for_frame": (FRAME, X[:4], "same kind and columns as X, DataFrame.*: got ndarray"),
    "other_names": (FRAME, FRAME[:4].rename(columns={"a": "z"}), "same kind and columns as X"),
    "polars_for_pandas": (FRAME, pl.DataFrame(X[:4], schema=["a", "b"]), "same kind and columns"),
    "sparse_for_array": (X, sparse.csr_matrix(X[:4]), "same kind and columns as X"),
}


@pytest.mark.parametrize("name", RETURNS)
def test_callable_of_the_wrong_kind_or_shape(name):
    table, returned, message = RETURNS[name]
    with pytest.raises(ValueError, match=message):
        Callable(lambda size, rng: returned).sample(data_of(table), 4, np.random.default_rng(0))


def test_as_inputs():
    assert as_inputs(None) == as_inputs("urn") == Urn()
    assert as_inputs("kde") == KDE()
    box = Uniform(0, 1)
    assert as_inputs(box) is box
    with pytest.raises(ValueError, match=r"inputs must be 'urn', 'kde' or an object .*'vase'"):
        as_inputs("vase")


@pytest.mark.parametrize("bad", [Urn, 3, X, FRAME], ids=["class", "number", "array", "frame"])
def test_as_inputs_refuses_other_things(bad):
    with pytest.raises(TypeError, match="inputs must be 'urn', 'kde' or an object with prepare"):
        as_inputs(bad)


def test_an_urn_of_ones_own_is_asked_for_every_draw():
    calls = []

    class OfOneStratum(Urn):
        def sample(self, data, size, rng):
            calls.append(size)
            return super().sample(data, size, rng)

    z = np.random.default_rng(0).normal(size=(30, 1))
    density = nb.GradientMartingale(
        lambda theta, x, y: -0.5 * (y - theta[0] * x[0]) ** 2,
        lambda theta, x, key: theta[0] * x[0],
        np.zeros(1),
        information=lambda theta, x: np.eye(1),
    )
    nb.martingale_posterior(
        density, (z, z[:, 0]), n_draws=2, inputs=OfOneStratum(), random_state=0, on_error="raise"
    )
    assert len(calls) >= 2


def test_blocks_of_a_long_table_have_the_law_of_an_urn(monkeypatch):
    """Few draws fit into memory at once; rows come in random order, for steps take them so."""
    monkeypatch.setattr("nearbayes.core.inputs.MOST_BALLS", 10)
    data = Data.of(np.array([[0.0], [1.0]]), np.zeros(2))
    x = Urn().sample_for_draws(data, 3, 4_000, np.random.default_rng(0))
    assert x.positions.dtype == np.int32
    assert x[0].values.shape == (3, 1)
    # an urn of two balls: the number of ones is uniform on 0 to 3, and every place is as likely
    ones = np.bincount(x.positions.sum(axis=1)) / 4_000
    assert np.abs(ones - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 4_000)
    assert np.abs(x.positions.mean(axis=0) - 0.5).max() < 4 * np.sqrt(0.25 / 4_000)
