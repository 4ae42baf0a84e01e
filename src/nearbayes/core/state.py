"""State: all that a chunk of draws needs to continue, and how failed draws are handled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearbayes.core.data import Data, Repeated
from nearbayes.core.protocols import DrawsFailedError, Models
from nearbayes.core.seeds import Streams

__all__ = ["State", "chosen", "joined", "surviving"]

PROBES = 32  # draws that must fail in the same way before all are assumed to fail


@dataclass(frozen=True, eq=False)
class State:
    """Where the draws of a chunk are on their paths. A value: moves return new states.

    A failed draw is replaced by a copy of one that did not fail, so that shapes and the other
    draws do not change.

    Attributes
    ----------
    streams : Streams
        Random numbers, which also know the number of the draw in each place.
    step : int
        Steps taken since the start.
    data : sequence of Data
        Real and imputed rows of each draw.
    models : sequence
        The current model of each draw; empty before the first fit.
    failed : mapping of int to Exception
        Errors, by place.
    """

    streams: Streams
    step: int
    data: Sequence[Data]
    models: Models = ()
    failed: Mapping[int, Exception] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        """Whether all draws have failed."""
        return bool(self.failed) and len(self.failed) == len(self.streams)

    @property
    def alive(self) -> list[int]:
        """Places of the draws that have not failed."""
        return [place for place in range(len(self.streams)) if place not in self.failed]

    def moved(self, data: Sequence[Data], models: Models, steps: int = 1) -> State:
        """The state after a step."""
        return State(self.streams, self.step + steps, data, models, self.failed)

    def of_places(self, places: Sequence[int]) -> State:
        """The same chunk with its places filled by the draws of these places, in this order."""
        return replace(
            self,
            streams=self.streams.of_places(places),
            data=chosen(self.data, places),
            models=chosen(self.models, places) if len(self.models) else (),
        )

    def without(self, errors: Mapping[int, Exception]) -> State:
        """Remove failed draws; copies of the first remaining draw fill their places."""
        failed = {**self.failed, **errors}
        left = [place for place in range(len(self.streams)) if place not in failed]
        if not left:
            return replace(self, failed=failed)
        filled = [left[0] if place in failed else place for place in range(len(self.streams))]
        return replace(self.of_places(filled), failed=failed)


def surviving(move: Callable[[State], State], state: State) -> State:
    """Make a move with the draws that survive it; ``state.failed`` has errors of the others."""
    while not state.lost:
        try:
            return move(state)
        except DrawsFailedError as known:
            found = {k: _traced(each, known) for k, each in known.errors.items()}
            errors = {k: each for k, each in found.items() if k not in state.failed}
            # an error in the place of a copy affects every draw
            errors = errors or dict.fromkeys(state.alive, next(iter(found.values())))
        except Exception as error:
            if _all_fail(move, state, error):
                errors = dict.fromkeys(state.alive, error)
            else:
                errors = _culprits(move, state, state.alive, error)
        state = state.without(errors)
    return state


def _all_fail(move: Callable[[State], State], state: State, error: Exception) -> bool:
    """Whether many draws fail alone in the same way: the data are the cause, not some draws.

    Only for large chunks, where finding each of thousands of draws would take long.
    """
    places = state.alive
    if len(places) <= PROBES:
        return False
    for place in places[:: len(places) // PROBES]:
        alone = replace(state.of_places([place] * len(state.streams)), failed={})
        try:
            move(alone)
        except DrawsFailedError:
            return False
        except Exception as again:
            if (type(again), str(again)) != (type(error), str(error)):
                return False
        else:
            return False
    return True


def _culprits(
    move: Callable[[State], State], state: State, places: list[int], error: Exception
) -> dict[int, Exception]:
    """Find the draws that make a move fail by bisection, with chunks of copies of half of them."""
    if len(places) == 1:
        return {places[0]: error}
    found: dict[int, Exception] = {}
    middle = len(places) // 2
    for half in (places[:middle], places[middle:]):
        filled = [place if place in half else half[0] for place in range(len(state.streams))]
        try:
            move(replace(state.of_places(filled), failed={}))
        except DrawsFailedError as known:
            found |= {filled[k]: _traced(each, known) for k, each in known.errors.items()}
        except Exception as again:
            found |= _culprits(move, state, half, again)
    # an error that neither half repeats belongs to all of them together
    return found or dict.fromkeys(places, error)


def _traced(error: Exception, known: DrawsFailedError) -> Exception:
    """An error of a single draw, with the place where the draws were found to fail."""
    return error if error.__traceback__ else error.with_traceback(known.__traceback__)


def chosen(items: Any, places: Sequence[int]) -> Any:
    """Items at some places, of a list or of an array with a draw axis."""
    if isinstance(items, Repeated):
        return Repeated(items.item, len(places))
    if isinstance(items, list | tuple):
        return [items[place] for place in places]
    return items[np.asarray(places, dtype=np.intp)]


def joined(parts: Sequence[Models]) -> Models:
    """Models of several chunks in one sequence; arrays stay one array."""
    if parts and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [model for part in parts for model in part]
