"""Calibration: how credible intervals were calibrated, and their coverage in simulations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm, t

from nearbayes.draws.calibration import Calibration
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.rounding import counted, in_digits, percent, rounded, standard_error

__all__ = ["calibration"]

SCALES = {"logit": "log-odds", "log": "logarithmic", "identity": "original"}


def calibration(held: HeldOut) -> dict[str, Any]:
    """Factors of credible intervals by level, and their coverage of simulated truths.

    Coverage is estimated by leaving one simulated set out: intervals for its truth use a factor
    from the other sets.
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
        f"Intervals were calibrated by simulation. {_capital(found.truth)} was taken as the truth, "
        f"{counted(len(found.ratios), 'data set')} like the real one were simulated from it, and "
        f"the same method was run on each ({counted(found.n_draws, 'draw')}). {percent(0.9)} "
        f"intervals have to reach {in_digits(found.factor(0.9, n_draws))} standard deviations to "
        f"each side on the {SCALES[found.link]} scale to cover the known truth that often "
        f"(standard error {in_digits(found.error(0.9))}; 1.64 for a normal distribution), and so "
        "they do here."
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _uncalibrated(held: HeldOut) -> str:
    inflation = held.posterior.inflation
    widened = (
        f"They are quantiles of the draws, widened by the factor {in_digits(inflation)} because "
        "the number of refits is finite."
        if inflation != 1
        else "They are quantiles of the draws."
    )
    start = f"Intervals are not calibrated by simulation. {widened}"
    if not held.posterior.chunks.traits.calibrate:
        return f"{start} That is usual for this kind of model."
    return (
        f'{start} Flexible models usually need calibration="simulation" to cover as often as they '
        "say."
    )
