"""Draws on disk: read from their file on access, so that only one is in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["DrawsOnDisk"]


class DrawsOnDisk(Sequence[Any]):
    """A sequence whose items are created on access, and not kept.

    Parameters
    ----------
    make : callable
        Item by place.
    places : range
        Which items are in the sequence, in order.

    Examples
    --------
    >>> draws = DrawsOnDisk(lambda place: 10 * place, range(4))
    >>> len(draws), draws[-1], list(draws[1:3]), list(draws.mapped(str)[:2])
    (4, 30, [10, 20], ['0', '10'])
    """

    def __init__(self, make: Callable[[int], Any], places: range) -> None:
        self._make, self._places = make, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: Any) -> Any:
        chosen = self._places[place]
        return DrawsOnDisk(self._make, chosen) if isinstance(chosen, range) else self._make(chosen)

    def mapped(self, function: Callable[[Any], Any]) -> DrawsOnDisk:
        """Apply a function to each item on access."""
        return DrawsOnDisk(lambda place: function(self._make(place)), self._places)
