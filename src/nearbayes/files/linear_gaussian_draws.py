"""Draws of linear-Gaussian inverse problems: the operator, and draws as one array."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from nearbayes.algorithms.finishing import FinishAfter
from nearbayes.algorithms.linear_gaussian import LinearGaussian
from nearbayes.core.schedule import is_whole
from nearbayes.files.arrays import array_bytes, array_of
from nearbayes.files.container import Members
from nearbayes.files.draws import Models
from nearbayes.files.manifest import LARGEST, Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused

__all__ = ["dump_draws", "load_draws"]

MOST_WORK = 2e10  # multiplications of a decomposition: seconds


def dump_draws(
    algorithm: LinearGaussian, drawn: Sequence[Any] | None, models: Models, members: Members
) -> dict[str, Any]:
    """A record of the problem and of its draws."""
    operator = np.asarray(algorithm.A, dtype=np.float64)
    return {
        "operator": members.add("arrays", array_bytes(operator), "npy"),
        "alpha": float(algorithm.alpha),
        "finish_after": _plain(algorithm.finish_after),
        "parameters": members.add("arrays", array_bytes(np.stack(drawn or [])), "npy"),
    }


def _plain(value: FinishAfter) -> FinishAfter:
    """A number of NumPy as one of Python, of the same kind."""
    if value is None:
        return None
    return int(value) if is_whole(value) else float(value)


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[LinearGaussian, Any]:
    """Undo `dump_draws`."""
    operator = array_of(read(record.text("operator")), "f")
    if operator.ndim == 2 and operator.size * min(operator.shape) > MOST_WORK:
        raise FileRefused(f"its operator of shape {operator.shape} is too large to decompose.")
    alpha = record.number("alpha", low=-float(LARGEST))
    try:
        problem = LinearGaussian(operator, alpha, record.get("finish_after"))
    except ValueError as error:
        raise FileRefused(f"its operator is none: {error}") from error
    found = array_of(read(record.text("parameters")), "f")
    if found.shape != (size, operator.shape[-1]) or not np.isfinite(found).all():
        raise FileRefused(f"its draws have shape {found.shape}, or are not finite.")
    return problem, found
