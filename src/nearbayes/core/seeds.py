"""Seeds: every random number of a run comes from one recorded integer, in any executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, overload

import numpy as np
from numpy.random import SFC64, Generator, RandomState, SeedSequence

__all__ = ["Seeds", "Streams", "integer_seed"]

SHARED, CHUNK, DRAW, CALIBRATION, PART = range(5)
WARM_UP = 12  # rounds by which SFC64 mixes a new seed


class Seeds:
    """A tree of independent seeds, made before any parallel work.

    Draw k has the same seed for any number of draws, any `n_jobs` and any backend.

    Parameters
    ----------
    random_state : None, int, numpy Generator, RandomState or SeedSequence
        None uses fresh entropy from the operating system; `entropy` records it.

    Examples
    --------
    >>> Seeds(0).shared().random() == Seeds(0).shared().random()
    True
    """

    def __init__(self, random_state: Any = None) -> None:
        self.entropy = _entropy(random_state)

    def shared(self) -> Generator:
        """Randomness of what all draws share: tuning, noise models."""
        return Generator(SFC64(self._sequence(SHARED)))

    def calibration(self) -> Generator:
        """Randomness of simulated data sets."""
        return Generator(SFC64(self._sequence(CALIBRATION)))

    def part(self, number: int) -> Generator:
        """Randomness of one part of some other work, such as a report."""
        return Generator(SFC64(self._sequence(PART, number)))

    def streams(self, draws: Sequence[int], chunk: int) -> Streams:
        """Randomness of some draws, which advance together as chunk number `chunk`."""
        return Streams(self.entropy, tuple(draws), chunk)

    def _sequence(self, *key: int) -> SeedSequence:
        return SeedSequence(self.entropy, spawn_key=key)


class Streams(Sequence[Generator]):
    """Random numbers of a chunk of draws at one step of their paths.

    ``streams[k]`` is the generator of the draw in place k, and ``streams.chunk`` one that all draws
    of the chunk share, for families that draw numbers for the whole chunk at once. Both start
    again at every step: they depend only on the seed, the draw (or chunk) and the step, not on
    earlier events. So a step can be repeated, and a path can continue in another process.

    Parameters
    ----------
    entropy : int
        The seed of the run.
    draws : tuple of int
        Number of the draw in each place.
    chunk : int
        Number of the chunk.

    Examples
    --------
    >>> streams = Seeds(0).streams(draws=(4, 5), chunk=1)
    >>> again, alone = streams.at(2)[1].random(), Seeds(0).streams((5,), 0).at(2)[0].random()
    >>> again == alone, again == streams.at(3)[1].random()
    (True, False)
    """

    def __init__(self, entropy: int, draws: tuple[int, ...], chunk: int) -> None:
        self.entropy, self.draws, self.number = entropy, draws, chunk
        self._step = 0
        self._generators: dict[tuple[int, int], _Restarted] = {}
        self._started: dict[tuple[int, int], Generator] = {}

    def at(self, step: int) -> Streams:
        """The streams at the beginning of a step; 0 is the first fit."""
        self._step, self._started = step, {}
        return self

    def of_places(self, places: Sequence[int]) -> Streams:
        """Streams of the draws in these places, in this order."""
        return Streams(self.entropy, tuple(self.draws[place] for place in places), self.number)

    @property
    def chunk(self) -> Generator:
        """The generator that all draws of the chunk share."""
        return self._generator(CHUNK, self.number, copy=0)

    def __len__(self) -> int:
        return len(self.draws)

    @overload
    def __getitem__(self, place: int) -> Generator: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Generator]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return self._generator(DRAW, self.draws[place], copy=range(len(self))[place])

    def __iter__(self) -> Iterator[Generator]:
        for place, number in enumerate(self.draws):
            yield self._generator(DRAW, number, copy=place)

    def _generator(self, kind: int, number: int, copy: int) -> Generator:
        key = (kind, copy)
        if key not in self._started:
            if key not in self._generators:
                self._generators[key] = _Restarted(
                    SeedSequence(self.entropy, spawn_key=(kind, number))
                )
            self._started[key] = self._generators[key].at(self._step)
        return self._started[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Streams, (self.entropy, self.draws, self.number)


class _Restarted:
    """One generator that is seeded again for every step, which is faster than making new ones.

    SFC64 takes a seed of three words and mixes them by twelve rounds. The same is done here, with
    the step added to the third word.
    """

    def __init__(self, sequence: SeedSequence) -> None:
        self._words = np.append(sequence.generate_state(3, np.uint64), np.uint64(1))
        self._third = int(self._words[2])
        self._state: Any = {
            "bit_generator": "SFC64",
            "state": {"state": self._words},
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._bits = SFC64(0)
        self._generator = Generator(self._bits)

    def at(self, step: int) -> Generator:
        self._words[2] = (self._third + step) % 2**64
        self._bits.state = self._state
        self._bits.random_raw(WARM_UP, output=False)
        return self._generator


def integer_seed(rng: Generator) -> int:
    """Draw a seed that every scikit-learn `random_state` accepts."""
    return int(rng.integers(2**31 - 1))


def _entropy(random_state: Any) -> int:
    if random_state is None:
        return _as_int(SeedSequence().entropy)
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}.")
        return int(random_state)
    if isinstance(random_state, Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, SeedSequence):
        return _as_int(random_state.generate_state(4))
    raise TypeError(
        "random_state must be None, an integer, a numpy Generator, RandomState or SeedSequence, "
        f"got {type(random_state).__name__}."
    )


def _as_int(words: Any) -> int:
    if isinstance(words, Integral):
        return int(words)
    return sum(int(word) << (32 * place) for place, word in enumerate(words))
