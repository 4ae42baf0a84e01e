import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearbayes.core.seeds import Seeds, integer_seed


@given(st.integers(0, 2**64), st.sets(st.integers(0, 10_000), min_size=2, max_size=20))
@settings(deadline=None)
def test_distinct_draws_have_distinct_streams(entropy, draws):
    seeds = Seeds(entropy)
    streams = [seeds.shared().bytes(16)]
    for k in draws:
        streams += [seeds.draw(k).bytes(16), seeds.first_fit(k).bytes(16)]
    assert len(set(streams)) == 2 * len(draws) + 1


@given(st.integers(0, 2**128), st.integers(0, 10_000))
@settings(deadline=None)
def test_a_stream_depends_on_seed_and_draw_alone(entropy, k):
    assert Seeds(entropy).draw(k).bytes(8) == Seeds(entropy).draw(k).bytes(8)
    assert Seeds(entropy).draw(k).bytes(16) != Seeds(entropy + 1).draw(k).bytes(16)


@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
        lambda: np.random.SeedSequence(7),
    ],
    ids=["none", "int", "numpy_int", "generator", "random_state", "seed_sequence"],
)
def test_entropy_is_an_integer_that_gives_the_same_streams(make):
    seeds = Seeds(make())
    assert type(seeds.entropy) is int
    again = Seeds(seeds.entropy)
    assert again.entropy == seeds.entropy
    assert again.draw(3).bytes(8) == seeds.draw(3).bytes(8)


def test_generators_move_on_and_seed_sequences_do_not():
    rng, sequence = np.random.default_rng(1), np.random.SeedSequence(1)
    assert Seeds(rng).entropy != Seeds(rng).entropy
    assert Seeds(sequence).entropy == Seeds(sequence).entropy
    assert Seeds(sequence).entropy != Seeds(sequence.spawn(1)[0]).entropy


def test_fresh_entropy():
    assert Seeds().entropy != Seeds().entropy


def test_bad_random_states():
    with pytest.raises(ValueError, match="random_state must not be negative, got -1"):
        Seeds(-1)
    with pytest.raises(TypeError, match=r"random_state must be None, an integer, .* got float"):
        Seeds(1.0)


def test_integer_seed_suits_scikit_learn():
    rng = np.random.default_rng(0)
    seeds = [integer_seed(rng) for _ in range(1000)]
    assert all(type(seed) is int and 0 <= seed < 2**31 - 1 for seed in seeds)
    assert len(set(seeds)) == 1000
