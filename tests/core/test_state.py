"""Draws that fail leave their place to a copy; the others go on as if nothing had happened."""

import numpy as np
import pytest

from nearbayes.core.data import Repeated
from nearbayes.core.protocols import DrawsFailedError
from nearbayes.core.seeds import Seeds
from nearbayes.core.state import PROBES, State, chosen, joined, surviving


def chunk(models):
    size = len(models)
    return State(Seeds(0).streams(range(size), 0), 0, Repeated("rows", size), models)


def raising_at(*bad):
    """A move that raises if any of these models is in the chunk, and says not which."""

    def move(state):
        if set(bad) & set(np.asarray(state.models).tolist()):
            raise ArithmeticError("somewhere")
        return state.moved(state.data, [model + 10 for model in state.models])

    return move


@pytest.mark.parametrize("bad", [(3,), (0,), (0, 7), (1, 2, 5), (0, 1, 2, 3, 4, 5, 6)])
@pytest.mark.parametrize("kind", [list, np.array])
def test_culprits_are_found_and_the_others_go_on(bad, kind):
    state = surviving(raising_at(*bad), chunk(kind(range(8))))
    assert set(state.failed) == set(bad)
    assert [state.models[place] for place in state.alive] == [
        k + 10 for k in range(8) if k not in bad
    ]
    assert len(state.models) == 8


def test_a_move_that_fails_for_all():
    state = surviving(raising_at(*range(4)), chunk(list(range(4))))
    assert state.lost
    assert state.alive == []
    assert str(state.failed[2]) == "somewhere"


def counted(move):
    calls = []

    def counting(state):
        calls.append(1)
        return move(state)

    return counting, calls


def test_what_is_wrong_with_all_of_many_draws_is_found_soon():
    """As data of the wrong shape are: 5,000 draws were looked at one by one, for many seconds."""
    move, calls = counted(raising_at(*range(5_000)))
    state = surviving(move, chunk(list(range(5_000))))
    assert state.lost
    assert len(calls) <= PROBES + 3


def test_few_of_many_draws_are_found():
    move, calls = counted(raising_at(0, 4_321))  # the first is the first that is tried
    state = surviving(move, chunk(list(range(5_000))))
    assert set(state.failed) == {0, 4_321}
    assert len(calls) < 80


def test_a_move_that_fails_for_no_draw_in_particular():
    """Two draws that cannot be together: nobody can say which is at fault."""

    def move(state):
        if len(set(state.models)) > 2:
            raise ArithmeticError("a crowd")
        return state

    state = surviving(move, chunk([0, 1, 2, 3]))
    assert state.lost


def test_draws_that_a_family_names_are_taken_at_its_word():
    calls = []

    def move(state):
        calls.append(list(state.models))
        if 2 in state.models:
            raise DrawsFailedError({list(state.models).index(2): ValueError("two")})
        return state

    state = surviving(move, chunk([0, 1, 2, 3]))
    assert calls == [[0, 1, 2, 3], [0, 1, 0, 3]]
    assert str(state.failed[2]) == "two"
    assert state.streams.draws == (0, 1, 0, 3)


def test_errors_in_places_of_copies_end_the_chunk_with_that_error():
    def move(state):
        raise DrawsFailedError({0: ValueError("always the first")})

    state = surviving(move, chunk([0, 1]))
    assert state.lost
    assert str(state.failed[1]) == "always the first"


def test_chosen_and_joined():
    assert chosen([1, 2, 3], [2, 0, 2]) == [3, 1, 3]
    assert chosen(np.arange(3), [2, 2]).tolist() == [2, 2]
    assert list(chosen(Repeated("a", 5), [1, 2])) == ["a", "a"]
    assert joined([[1], [2, 3]]) == [1, 2, 3]
    assert joined([np.zeros((1, 2)), np.ones((2, 2))]).shape == (3, 2)
