"""Seeds: every random number of a run comes from one recorded integer, whatever the executor."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from numpy.random import SFC64, Generator, RandomState, SeedSequence

__all__ = ["Seeds", "integer_seed"]


class Seeds:
    """A tree of independent seeds, made before any parallel work.

    Draw k has the same seed for any number of draws, any `n_jobs` and any backend.

    Parameters
    ----------
    random_state : None, int, numpy Generator, RandomState or SeedSequence
        None takes fresh entropy from the operating system; `entropy` records it.

    Examples
    --------
    >>> Seeds(0).draw(3).random() == Seeds(0).draw(3).random()
    True
    >>> Seeds(0).draw(3).random() == Seeds(0).draw(4).random()
    False
    """

    def __init__(self, random_state: Any = None) -> None:
        self.entropy = _entropy(random_state)

    def shared(self) -> Generator:
        """Randomness of what all draws share: tuning, noise models, batched programs."""
        return self._generator(0)

    def first_fit(self, draw: int) -> Generator:
        """Randomness of the first fit of one draw."""
        return self._generator(1, draw)

    def draw(self, draw: int) -> Generator:
        """Randomness of the path of one draw, after its first fit."""
        return self._generator(2, draw)

    def calibration(self) -> Generator:
        """Randomness of simulated data sets."""
        return self._generator(3)

    def _generator(self, *key: int) -> Generator:
        # NumPy's fastest generator: batched families do little else but draw random numbers
        return Generator(SFC64(SeedSequence(self.entropy, spawn_key=key)))


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
