"""Entries: the numbers of a functional as named columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearbayes.draws.functional import Functional

__all__ = ["as_entries", "entry"]


def as_entries(
    functional: Functional, names: Sequence[Any] | str | None, most: int
) -> tuple[Functional, list[str]]:
    """Draws of shape (n_draws, n_entries), and the name of each entry.

    Parameters
    ----------
    functional : Functional
        A number or a vector.
    names : sequence or str, optional
        One name per entry; by default their indices.
    most : int
        Maximum number of entries.

    Examples
    --------
    >>> import numpy as np
    >>> as_entries(Functional(np.zeros((5, 2))), None, most=10)[1]
    ['0', '1']
    """
    if not isinstance(functional, Functional):
        raise TypeError(
            "functional must be a result of posterior.apply(function) or posterior.predictions(X), "
            f"got {type(functional).__name__}."
        )
    values = functional.values
    if values.ndim > 2:
        raise ValueError(
            f"functional must be a number or a vector, got draws of shape {values.shape[1:]}: "
            "return a 1-D array from the function."
        )
    if len(values) < 2:
        raise ValueError(f"functional must have at least 2 draws, got {len(values)}.")
    columns = functional.as_vector()
    size = columns.values.shape[1]
    if size > most:
        raise ValueError(
            f"functional must have at most {most} entries, got {size}: select some in the "
            "function passed to posterior.apply."
        )
    return columns, _named(names, size)


def entry(functional: Functional, place: int) -> Functional:
    """One entry of a vector, as a number."""
    return functional.at(place)


def _named(names: Sequence[Any] | str | None, size: int) -> list[str]:
    if names is None:
        return ["quantity"] if size == 1 else [str(place) for place in range(size)]
    given = [names] if isinstance(names, str) else [str(name) for name in names]
    if len(given) != size:
        raise ValueError(f"names must have one name for each of {size} entries, got {len(given)}.")
    return given
