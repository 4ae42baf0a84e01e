r"""Enough draws: Monte Carlo error of means, standard deviations and interval ends.

Draws are independent. With K of them the error of a mean is :math:`s / \sqrt K`, that of a standard
deviation :math:`s \sqrt{(\kappa - 1) / 4K}` with kurtosis :math:`\kappa` (3 if normal), and that of
the 5 % quantile of a normal posterior :math:`2.11 s / \sqrt K`. The width of an interval between
two quantiles has 1.25 times the relative error of a standard deviation. That of a calibrated
interval has the error of its factor, too, which no further draws remove.
"""

from __future__ import annotations

import numpy as np

from nearbayes.core.posterior import Posterior
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.draws.path_trace import Trace

__all__ = ["NAME", "draws_line"]

NAME = "draws"
UNIT = "relative error of an interval's width"
LARGEST = 0.2
MOST_LOST = 0.1
QUANTILE = 2.11  # sqrt(p (1 - p)) / density at the 5 % quantile of a normal
WIDTH_OF_QUANTILES = 1.25  # error of the distance of the 5 % and 95 % quantiles, over that by sds
LEVEL = 0.9
FEWEST_FOR_KURTOSIS = 30


def draws_line(posterior: Posterior, precision: float) -> Line:
    """Relative error of the width of intervals, and draws that a wanted precision needs.

    Parameters
    ----------
    posterior : Posterior
    precision : float
        Wanted relative error of a width.
    """
    n_draws, source = len(posterior), posterior.provenance
    kurtosis = _kurtosis(posterior.trace)
    times = 1.0 if _by_sds(posterior) else WIDTH_OF_QUANTILES
    error = float(times * np.sqrt((kurtosis - 1) / (4 * (n_draws - 1))))
    needed = int(np.ceil(1 + times**2 * (kurtosis - 1) / (4 * precision**2)))
    counts = np.unique(np.geomspace(4, max(4 * n_draws, needed), 50).astype(int))
    details = {
        "n_draws": counts,
        "error": times * np.sqrt((kurtosis - 1) / (4 * (counts - 1))),
        "now": (n_draws, error),
        "needed": needed,
    }
    ends = QUANTILE * n_draws**-0.5
    words = (
        f"{n_draws} independent draws: errors are {n_draws**-0.5:.2g} sd of a mean, {error:.0%} of "
        f"the width of a 90 % interval, {ends:.2g} sd of an end of one."
    )
    words += _calibration_words(posterior)
    lost = len(posterior.failed) / source.n_draws
    if source.interrupted:
        words += f" The work was interrupted: {source.n_draws} draws were asked for."
    if posterior.failed:
        words += f" {len(posterior.failed)} of {source.n_draws} draws failed."
    advice = f"{needed:,} draws give widths within {100 * precision:.2g}%."
    if lost > MOST_LOST:
        advice = f"Look at posterior.failed: draws that are left may be a biased sample. {advice}"
    elif error <= LARGEST:
        return Line(NAME, "good", words, advice, error, unit=UNIT, details=details)
    return Line(NAME, "warning", words, advice, error, unit=UNIT, details=details)


def _by_sds(posterior: Posterior) -> bool:
    """Whether 90 % intervals are a number of standard deviations, not quantiles."""
    few = (len(posterior) - 1) / (len(posterior) + 1) < LEVEL
    return few or posterior.calibration is not None or posterior.link == "logit"


def _calibration_words(posterior: Posterior) -> str:
    found = posterior.calibration
    if found is None or len(found.ratios) < 2:
        return ""
    error = found.error(LEVEL) / found.factor(LEVEL, len(posterior))
    return (
        f" Calibration on {len(found.ratios)} simulated data sets knows the width within "
        f"{error:.0%}, which more draws do not change."
    )


def _kurtosis(trace: Trace | None) -> float:
    """Kurtosis of the draws, pooled over quantities; that of a normal where few draws tell."""
    if trace is None or len(trace.values) < FEWEST_FOR_KURTOSIS:
        return 3.0
    ends = trace.values[:, -1] - trace.values[:, -1].mean(axis=0)
    square = (ends**2).mean(axis=0)
    varies = square > 0
    if not varies.any():
        return 3.0
    found = np.median((ends[:, varies] ** 4).mean(axis=0) / square[varies] ** 2)
    return float(np.clip(found, 2.0, 9.0))
