"""Scores, intervals, distances and rank tables: pure functions on NumPy arrays."""

from nearbayes.metrics.classification import (
    accuracy,
    brier,
    expected_calibration_error,
    log_score,
)
from nearbayes.metrics.distances import wasserstein2_gaussian, wasserstein2_samples
from nearbayes.metrics.intervals import coverage, width
from nearbayes.metrics.ranks import RankTable, rank_table
from nearbayes.metrics.regression import (
    crps_gaussian,
    crps_gaussian_mixture,
    crps_samples,
    nlpd_gaussian_mixture,
)

__all__ = [
    "RankTable",
    "accuracy",
    "brier",
    "coverage",
    "crps_gaussian",
    "crps_gaussian_mixture",
    "crps_samples",
    "expected_calibration_error",
    "log_score",
    "nlpd_gaussian_mixture",
    "rank_table",
    "wasserstein2_gaussian",
    "wasserstein2_samples",
    "width",
]
