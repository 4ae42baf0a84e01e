"""Telling: warnings that point at the user's line that led to them."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

# Packages between the user and the warning: their lines do not help the user.
BETWEEN = ("nearbayes", "sklearn", "joblib", "contextlib", "threadpoolctl")


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and name the first line outside of nearbayes and the libraries that call it.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn("mind the gap", UserWarning)
    >>> str(seen[0].message)
    'mind the gap'
    """
    level, frame = 1, sys._getframe()
    while frame is not None and _package(frame.f_globals.get("__name__", "")) in BETWEEN:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)


def _package(module: str) -> str:
    return module.partition(".")[0]
