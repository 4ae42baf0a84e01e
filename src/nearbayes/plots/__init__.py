"""Plots of posteriors. Each function draws on `ax`, or on new axes, and returns the axes.

Matplotlib is imported when something is drawn: ``pip install 'nearbayes[plot]'``.
"""

from nearbayes.plots.causal_effects import effect, interventional
from nearbayes.plots.correlation import correlation
from nearbayes.plots.density import posterior
from nearbayes.plots.dependence import intervals
from nearbayes.plots.importance import importance
from nearbayes.plots.paths import paths
from nearbayes.plots.reliability import reliability
from nearbayes.plots.verdicts import diagnosis

__all__ = [
    "correlation",
    "diagnosis",
    "effect",
    "importance",
    "intervals",
    "interventional",
    "paths",
    "posterior",
    "reliability",
]
