"""Baselines: other methods for the same algorithms that also return a Posterior."""

from nearbayes.baselines.anchored import anchored
from nearbayes.baselines.bootstrap import bootstrap
from nearbayes.baselines.ensemble import ensemble
from nearbayes.baselines.ntkgp import ntkgp
from nearbayes.baselines.parametric_bootstrap import parametric_bootstrap

__all__ = ["anchored", "bootstrap", "ensemble", "ntkgp", "parametric_bootstrap"]
