"""Finished paths: those whose algorithm adds the rest of an infinite path in one step.

That step is one of no number of rows, so laws of n are measured on the steps before it.
"""

from __future__ import annotations

from nearbayes.algorithms.finishing import reaches, rows_to_finish
from nearbayes.core.posterior import Posterior
from nearbayes.draws.path_trace import Trace

__all__ = ["is_finished", "without_finish"]


def is_finished(posterior: Posterior) -> bool:
    """Tell whether draws are ends of infinite paths."""
    source, finish_after = posterior.provenance, getattr(posterior.algorithm, "finish_after", None)
    return source.method == "martingale" and reaches(finish_after, source.n, sum(source.blocks))


def without_finish(posterior: Posterior, trace: Trace) -> Trace:
    """The steps before the rest is added; all steps of paths that are not finished."""
    if not is_finished(posterior):
        return trace
    n = posterior.provenance.n
    before = trace.n_rows < n + rows_to_finish(posterior.algorithm.finish_after, n)
    return Trace(trace.n_rows[before], trace.values[:, before])
