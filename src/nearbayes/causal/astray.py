"""Astray: whether refits have carried a causal model away from its first fit.

A refit of an honest model moves its means by a part of the spread of the data. Networks that were
trained far beyond what held-out rows say are moved by several times that, and their draws mean
nothing, however wide their intervals are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearbayes.causal.variables import Variable
from nearbayes.core.engine import DrawWarning
from nearbayes.draws.path_trace import Trace
from nearbayes.methods.tracing import MOST_ENTRIES, evenly
from nearbayes.telling import warn

__all__ = ["warn_of_strays"]

FAR = 0.75  # standard deviations of the data by which means moved


def warn_of_strays(trace: Trace | None, effects: Sequence[Variable], n_rows: int) -> None:
    """Warn of the effect whose means have moved farthest, if that is far.

    Parameters
    ----------
    trace : Trace, optional
        Means of all effects at some rows.
    effects : sequence of Variable
        What these means are of.
    n_rows : int
        Number of these rows.
    """
    if trace is None:
        return
    of = evenly(n_rows * len(effects), MOST_ENTRIES) % len(effects)
    moves = np.sqrt(np.mean((trace.values[:, -1] - trace.values[:, 0]) ** 2, axis=0))
    far = [
        (float(np.sqrt(np.mean(moves[of == k] ** 2))) / effect.sd, effect.name)
        for k, effect in enumerate(effects)
        if effect.kind != "category" and (of == k).any()
    ]
    most, name = max(far, default=(0.0, ""))
    if most > FAR:
        warn(
            f"refits have moved the mean of {name!r} by {most:.1f} standard deviations of the "
            "data: these draws mean nothing. Networks that are trained too long do that: leave "
            "n_iterations=None, so that held-out rows decide, or make it smaller.",
            DrawWarning,
        )
