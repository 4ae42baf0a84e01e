"""Astray: checks whether refits have moved a causal model far from its first fit.

A refit of a sound model moves its means by a part of the spread of the data. Networks that were
trained far longer than held-out rows suggest are moved by several times that. Their draws have no
meaning, however wide their intervals are.
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
    """Warn about the effect whose means have moved most, if they moved too far.

    Parameters
    ----------
    trace : Trace, optional
        Means of all effects at some rows.
    effects : sequence of Variable
        The effects of these means.
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
            "data: these draws have no meaning. Training for too long causes this: leave "
            "n_iterations=None, so that held-out rows decide, or make it smaller.",
            DrawWarning,
        )
