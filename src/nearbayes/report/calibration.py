"""Calibration: how credible intervals were made to cover, and what they cover in simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm, t

from nearbayes.estimators.calibration import Calibration
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.rounding import counted, in_digits, percent, rounded, standard_error

__all__ = ["calibration"]

SCALES = {"logit": "log-odds", "log": "logarithmic", "identity": "original"}


def calibration(held: HeldOut) -> dict[str, Any]:
    """Factors of credible intervals by level, with coverage of simulated truths.

    Coverage is found by leaving one simulated set out: its truth is looked for in intervals whose
    factor comes from the others.
    """
    found: Calibration | None = held.model.calibration_
    if found is None:
        return {"calibrated": False, "levels": [], "words": _uncalibrated(held)}
    return {
        "calibrated": True,
        "sets": len(found.ratios),
        "draws": found.n_draws,
        "seconds": rounded(found.seconds),
        "scale": SCALES[found.link],
        "levels": [_level(found, level, len(held.posterior)) for level in LEVELS],
        "words": _calibrated(found, len(held.posterior)),
    }


def _level(found: Calibration, level: float, n_draws: int) -> dict[str, Any]:
    covered = left_out_coverage(found, level)
    plain = t.ppf((1 + level) / 2, found.n_draws - 1) * found.inflation
    return {
        "level": level,
        "factor": rounded(found.factor(level, n_draws)),
        "error": rounded(found.error(level)),
        "normal": rounded(norm.ppf((1 + level) / 2)),
        "simulated": rounded(np.mean(covered)) if covered else None,
        "simulated_error": rounded(standard_error(covered)) if covered else None,
        "uncalibrated": rounded((np.concatenate(found.ratios) <= plain).mean()),
    }


def left_out_coverage(found: Calibration, level: float) -> list[float]:
    """Coverage of each simulated truth by a factor from the other sets.

    Examples
    --------
    >>> ratios = (np.array([0.5, 1.0]), np.array([1.5, 9.0]), np.array([0.1, 2.0]))
    >>> left_out_coverage(Calibration(ratios), 0.9)
    [1.0, 0.5, 1.0]
    """
    if len(found.ratios) < 2:
        return []
    covered = []
    for left_out, ratios in enumerate(found.ratios):
        others = found.ratios[:left_out] + found.ratios[left_out + 1 :]
        factor = replace(found, ratios=others).factor(level)
        covered.append(float((ratios <= factor).mean()))
    return covered


def _calibrated(found: Calibration, n_draws: int) -> str:
    return (
        f"Credible intervals are calibrated by simulation. The first fit was taken as the truth, "
        f"{counted(len(found.ratios), 'data set')} like the real one simulated from it, and the "
        f"same method run on each ({counted(found.n_draws, 'draw')}). Intervals of {percent(0.9)} "
        f"then reach {in_digits(found.factor(0.9, n_draws))} posterior standard deviations either "
        f"way on the {SCALES[found.link]} scale (standard error {in_digits(found.error(0.9))}; a "
        "normal distribution has 1.64): the factor with which they hold the known truth as often "
        "as they say, and never less than the draws themselves ask for."
    )


def _uncalibrated(held: HeldOut) -> str:
    inflation = held.posterior.inflation
    widened = (
        f"they are the draws' quantiles, widened by the factor {in_digits(inflation)} for what "
        "the schedule leaves out"
        if inflation != 1
        else "they are the draws' quantiles as they are"
    )
    return (
        f"Credible intervals are not calibrated by simulation: {widened}. That is enough for "
        "linear models; intervals of a flexible learner that are not calibrated tend to cover "
        'too little (calibration="simulation" mends that).'
    )
