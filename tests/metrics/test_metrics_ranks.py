import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nearbayes.metrics import RankTable, rank_table

quick = settings(deadline=None, derandomize=True, max_examples=40)
# A coarse grid, so that ties within a data set and equal differences are common.
tables = st.tuples(st.integers(2, 4), st.integers(1, 7)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 5).map(float), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def named(rows):
    return {f"m{i}": row for i, row in enumerate(rows)}


# Differences a - b are -1, ..., -6; c ties b on all data sets but two, of opposite signs.
THREE = {
    "a": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "b": [2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    "c": [2.5, 2.75, 4.0, 5.0, 6.0, 7.0],
}


def test_table_by_hand():
    table = rank_table(THREE)
    assert table.methods == ("a", "b", "c")
    assert table.mean_score.tolist() == [1.0, 4.5, 27.25 / 6]
    assert table.average_rank.tolist() == [1.0, 2.5, 2.5]
    assert table.significance_rank.tolist() == [1, 2, 2]
    assert table.n_pairs.tolist() == [[0, 6, 6], [6, 0, 2], [6, 2, 0]]
    assert (table.n_datasets, table.alpha, table.alternative) == (6, 0.05, "less")
    # All six signs one way: 1 / 2^6. Two differences, -0.5 against +0.25: the larger one is b's,
    # so 2 of the 4 sign patterns are at least as good for b, 3 for c.
    expected = [[1, 1 / 64, 1 / 64], [1, 1, 0.5], [1, 0.75, 1]]
    np.testing.assert_allclose(table.p_value, expected, rtol=1e-12)


def p_by_all_signs(differences):
    ranks = stats.rankdata(np.abs(differences))
    observed = ranks[differences > 0].sum()
    signs = itertools.product([0, 1], repeat=len(differences))
    return np.mean([ranks @ pattern <= observed for pattern in signs])


def test_p_values_agree_with_all_sign_patterns():
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=9) for name in ("u", "v", "w")}
    table = rank_table(scores)
    for (i, first), (j, second) in itertools.permutations(enumerate(scores), 2):
        expected = p_by_all_signs(scores[first] - scores[second])
        assert table.p_value[i, j] == pytest.approx(expected, rel=1e-12)


def test_p_values_without_zero_differences_are_scipys():
    rng = np.random.default_rng(1)
    scores = {"u": rng.normal(size=60), "v": rng.normal(0.3, size=60)}
    expected = stats.wilcoxon(scores["u"], scores["v"], alternative="less").pvalue
    assert 0 < expected < 0.5
    assert rank_table(scores).p_value[0, 1] == expected


def test_equal_methods_have_p_value_one_and_share_their_ranks():
    table = rank_table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    assert table.p_value.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert table.average_rank.tolist() == [1.5, 1.5]
    assert table.significance_rank.tolist() == [1, 1]
    assert table.n_pairs.tolist() == [[0, 0], [0, 0]]


def test_a_data_set_where_two_methods_tie_leaves_their_test_and_is_counted():
    scores = {"a": [1.0, 2.0, 3.0, 9.0], "b": [2.0, 4.0, 6.0, 9.0]}
    table = rank_table(scores)
    assert table.p_value[0, 1] == 1 / 8
    assert table.n_pairs[0, 1] == 3
    assert table.n_datasets == 4
    assert table.mean_score.tolist() == [3.75, 5.25]


def test_one_tie_among_many_data_sets_does_not_cost_the_exact_test():
    better = np.arange(20.0)
    table = rank_table({"a": -better, "b": better})
    assert table.n_pairs[0, 1] == 19
    assert table.p_value[0, 1] == 2.0**-19


def test_significance_rank_counts_better_methods_at_level_alpha():
    chain = {name: np.arange(6.0) * 0.01 + k * np.arange(1, 7) for k, name in enumerate("abc")}
    assert rank_table(chain).significance_rank.tolist() == [1, 2, 3]
    assert rank_table(chain, alpha=0.01).significance_rank.tolist() == [1, 1, 1]
    # The test is strict: a p-value of exactly alpha is not significant.
    assert rank_table(chain, alpha=1 / 64).significance_rank.tolist() == [1, 1, 1]
    assert rank_table(chain, alpha=0.016).significance_rank.tolist() == [1, 2, 3]


def test_greater_turns_every_comparison_round():
    negated = {name: -np.array(values) for name, values in THREE.items()}
    less, greater = rank_table(THREE), rank_table(negated, alternative="greater")
    np.testing.assert_array_equal(greater.p_value, less.p_value)
    np.testing.assert_array_equal(greater.average_rank, less.average_rank)
    np.testing.assert_array_equal(greater.significance_rank, less.significance_rank)
    np.testing.assert_array_equal(greater.mean_score, -less.mean_score)


def test_names_choose_the_methods_and_their_order():
    table = rank_table(THREE, names=["c", "a"])
    assert table.methods == ("c", "a")
    assert table.mean_score.tolist() == [27.25 / 6, 1.0]
    assert table.average_rank.tolist() == [2.0, 1.0]


def test_text_is_an_aligned_table():
    assert str(rank_table({"forest": THREE["b"], "x": THREE["a"]})).splitlines() == [
        "method  mean score  average rank  significance rank",
        "forest         4.5          2.00                  2",
        "x                1          1.00                  1",
        "6 data sets, lower is better; one-sided Wilcoxon signed-rank tests at level 0.05",
    ]


def test_text_makes_room_for_long_names_and_says_when_higher_is_better():
    table = rank_table(
        {"a": [1.0, 2.0], "a much longer name": [0.5, 1e-9]}, alternative="greater", alpha=0.1
    )
    *rows, last = str(table).splitlines()
    assert {len(row) for row in rows} == {len("a much longer name") + 45}
    assert rows[2].startswith("a much longer name ")
    assert (
        last == "2 data sets, higher is better; one-sided Wilcoxon signed-rank tests at level 0.1"
    )


def test_table_is_frozen():
    table = rank_table(THREE)
    assert isinstance(table, RankTable)
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.alpha = 0.5


def test_tables_compare_by_identity_not_by_their_arrays():
    table, twin = rank_table(THREE), rank_table(THREE)
    assert table != twin
    assert len({table, twin, table}) == 2


@given(rows=tables)
@quick
def test_average_ranks_sum_to_a_constant(rows):
    k = len(rows)
    table = rank_table(named(rows))
    assert table.average_rank.sum() == pytest.approx(k * (k + 1) / 2, rel=1e-12)
    assert ((table.average_rank >= 1) & (table.average_rank <= k)).all()


@given(rows=tables)
@quick
def test_both_directions_of_a_test_cannot_be_significant(rows):
    table = rank_table(named(rows))
    assert ((table.p_value > 0) & (table.p_value <= 1)).all()
    # The observed pattern counts on both sides.
    assert (table.p_value + table.p_value.T > 1).all()
    assert (np.diag(table.p_value) == 1).all()
    assert table.significance_rank.min() >= 1


@given(rows=tables, data=st.data())
@quick
def test_the_order_of_methods_and_of_data_sets_does_not_matter(rows, data):
    methods = data.draw(st.permutations(range(len(rows))))
    sets = data.draw(st.permutations(range(len(rows[0]))))
    table = rank_table(named(rows))
    turned = rank_table({f"m{i}": [rows[i][s] for s in sets] for i in methods})
    assert turned.methods == tuple(f"m{i}" for i in methods)
    np.testing.assert_allclose(turned.average_rank, table.average_rank[methods], rtol=1e-12)
    np.testing.assert_allclose(turned.p_value, table.p_value[np.ix_(methods, methods)], rtol=1e-12)
    np.testing.assert_array_equal(turned.significance_rank, table.significance_rank[methods])


GOOD = [1.0, 2.0]
BAD = [
    (
        {"scores": {"a": GOOD, "b": [1.0, np.nan]}},
        "scores['b'] must not hold NaN: got 1 of 2 values NaN",
    ),
    (
        {"scores": {"a": [np.inf, 1.0], "b": GOOD}},
        "scores['a'] must be finite: got 1 infinite of 2 values",
    ),
    (
        {"scores": {"a": GOOD, "b": [1.0, 2.0, 3.0]}},
        "scores must hold one score per data set for every method: got 2 for 'a' and 3 for 'b'",
    ),
    (
        {"scores": {"a": [], "b": []}},
        "scores['a'] must be one-dimensional with at least one value: got shape (0,)",
    ),
    ({"scores": {"a": GOOD}}, "names must be at least two different methods: got ['a']"),
    (
        {"scores": {"a": GOOD, "b": GOOD}, "names": ["a", "b", "a"]},
        "names must be at least two different methods: got ['a', 'b', 'a']",
    ),
    (
        {"scores": {"a": GOOD, "b": GOOD}, "names": ["a", "z"]},
        "names must be keys of scores: got ['z'], not in ['a', 'b']",
    ),
    (
        {"scores": {"a": GOOD, "b": GOOD}, "alternative": "two-sided"},
        "alternative must be 'less' or 'greater': got 'two-sided'",
    ),
    ({"scores": {"a": GOOD, "b": GOOD}, "alpha": 1.0}, "alpha must be between 0 and 1: got 1.0"),
    ({"scores": {"a": GOOD, "b": GOOD}, "alpha": 0.0}, "alpha must be between 0 and 1: got 0.0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        rank_table(**arguments)
