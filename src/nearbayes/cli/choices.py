"""Choices: the values that options take. Light, so that help and completion come at once."""

from __future__ import annotations

from typing import Literal

__all__ = ["CausalModelName", "DecimalMark", "Method", "ModelName", "Noise", "SplitAs", "Task"]

ModelName = Literal["blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp", "mlp"]
CausalModelName = Literal["blend", "linear", "diffusion"]
Task = Literal["classification", "regression"]
# as in nearbayes.estimators.face, which loads scikit-learn; a test compares them
Method = Literal["martingale", "bootstrap", "parametric_bootstrap", "ensemble", "anchored", "ntkgp"]
Noise = Literal["auto", "gaussian", "residual", "heteroscedastic", "poisson", "gamma", "tweedie"]
DecimalMark = Literal[".", ","]
SplitAs = Literal["time", "groups"]
