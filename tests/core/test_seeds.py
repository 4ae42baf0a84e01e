import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearbayes.core.seeds import Seeds, integer_seed


@given(st.integers(0, 2**64), st.sets(st.integers(0, 10_000), min_size=2, max_size=20))
@settings(deadline=None)
def test_distinct_draws_have_distinct_streams(entropy, draws):
    seeds = Seeds(entropy)
    streams = seeds.streams(sorted(draws), 0)
    numbers = [seeds.shared().bytes(16), seeds.calibration().bytes(16), seeds.part(0).bytes(16)]
    for step in range(3):
        at = streams.at(step)
        numbers += [at.chunk.bytes(16), *(rng.bytes(16) for rng in at)]
    assert len(set(numbers)) == 3 + 3 * (1 + len(draws))


@given(st.integers(0, 2**128), st.integers(0, 10_000))
@settings(deadline=None)
def test_a_stream_depends_on_seed_and_draw_alone(entropy, k):
    alone, among = Seeds(entropy).streams([k], 0), Seeds(entropy).streams([3, k, 5], 7)
    alone.at(4)[0].random(9)  # what happened at another step does not matter
    assert alone.at(1)[0].bytes(8) == among.at(1)[1].bytes(8)
    assert alone.at(1)[0].bytes(16) != Seeds(entropy + 1).streams([k], 0).at(1)[0].bytes(16)


def test_a_generator_goes_on_within_a_step_and_starts_afresh_with_the_next():
    streams = Seeds(0).streams([0, 1], 0)
    step = streams.at(1)
    numbers = [step[0].random(), step[0].random(), step.chunk.random(), step.chunk.random()]
    assert len(set(numbers)) == 4
    again = streams.at(1)
    assert [again[0].random(), again[0].random()] == numbers[:2]
    assert again.chunk.random() == numbers[2]


def test_copies_of_a_draw_have_its_numbers_each_for_itself():
    streams = Seeds(0).streams([4, 5, 6], 2).of_places([1, 1, 2]).at(3)
    assert streams.draws == (5, 5, 6)
    first = [rng.random() for rng in streams]
    assert first[0] == first[1] != first[2]
    assert streams.chunk.random() == Seeds(0).streams([4, 5, 6], 2).at(3).chunk.random()


def test_streams_survive_a_pickle():
    streams = Seeds(5).streams([1, 2], 1)
    expected = streams.at(2)[1].bytes(8)
    assert pickle.loads(pickle.dumps(streams)).at(2)[1].bytes(8) == expected


def test_streams_are_uniform_and_uncorrelated_across_steps_and_draws():
    """First numbers of neighbouring streams: mean, variance and correlation within 4.5 errors."""
    steps, draws = 400, 250
    streams = Seeds(1).streams(range(draws), 0)
    numbers = np.array([[rng.random() for rng in streams.at(step)] for step in range(steps)])
    size = numbers.size
    assert abs(numbers.mean() - 1 / 2) < 4.5 * np.sqrt(1 / 12 / size)
    assert abs(numbers.var() - 1 / 12) < 4.5 * np.sqrt(1 / 180 / size)
    centred = numbers - 1 / 2
    for pairs in (centred[1:] * centred[:-1], centred[:, 1:] * centred[:, :-1]):
        assert abs(pairs.mean()) < 4.5 / 12 / np.sqrt(pairs.size)


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
    assert again.shared().bytes(8) == seeds.shared().bytes(8)


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
