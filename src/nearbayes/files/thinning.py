"""Thinning: write a file with as many draws as its maximum size allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nearbayes.files.container import MEGABYTE, Members, attachment_name, write
from nearbayes.files.draws import Models
from nearbayes.telling import warn

__all__ = ["ThinnedWarning", "evenly", "write_draws"]

FEWEST = 2  # draws: an interval needs a spread
Manifest = Callable[[list[int], Models, Members], dict[str, Any]]


class ThinnedWarning(UserWarning):
    """A file contains fewer draws than the model, because of `max_megabytes`."""


def write_draws(
    path: str | os.PathLike[str],
    have: int,
    manifest: Manifest,
    *,
    thin: int | None = None,
    max_megabytes: float | None = None,
    attachments: Mapping[str, bytes] | None = None,
    trusted: Collection[str] = (),
) -> Path:
    """Write a file with all draws, or with as many as `thin` and `max_megabytes` allow.

    Parameters
    ----------
    path : path
    have : int
        Number of existing draws.
    manifest : callable
        ``manifest(draws, models, members)`` returns the manifest of a file with these draws.
    thin, max_megabytes, attachments, trusted
        As in `PosteriorEstimator.save`.
    """
    target = Path(path)
    wanted = n_draws = _checked_thin(thin, have)
    attached = {attachment_name(name): bytes(data) for name, data in (attachments or {}).items()}
    limit = None if max_megabytes is None else max_megabytes * MEGABYTE
    models = Models(trusted)

    def written() -> int:
        members = Members()
        content = manifest(evenly(n_draws, have), models, members)
        return write(target, content, {**members.files, **attached}, limit)

    size = written()
    while limit is not None and size > limit:
        if n_draws <= FEWEST:
            raise ValueError(
                f"max_megabytes={max_megabytes:g} is too small: {n_draws} draws take "
                f"{size / MEGABYTE:.2f} MB. Give more, or make the estimator smaller."
            )
        n_draws = max(FEWEST, min(n_draws - 1, int(n_draws * limit / size)))
        size = written()
    if n_draws < wanted:
        warn(
            f"{n_draws} of {have} draws were saved, to keep within {max_megabytes:g} MB.",
            ThinnedWarning,
        )
    return target


def _checked_thin(thin: int | None, have: int) -> int:
    if thin is None:
        return have
    if isinstance(thin, bool) or not isinstance(thin, int | np.integer) or thin < FEWEST:
        raise ValueError(f"thin must be a whole number of draws, {FEWEST} or more, got {thin!r}.")
    return min(int(thin), have)


def evenly(n_draws: int, have: int) -> list[int]:
    """Positions of `n_draws` of the draws, from the first to the last.

    Examples
    --------
    >>> evenly(3, 9)
    [0, 4, 8]
    """
    return [int(i) for i in np.linspace(0, have - 1, n_draws).round()]
