r"""Noise: whether outcomes that a model imputes look like the real ones that it has not seen.

Paths are as good as the outcomes they are made of, :math:`\hat y \sim p_\theta(\cdot \mid x)`.
Every real row is held out once and ranked among outcomes that a fit to the other rows would impute
there: ranks u in (0, 1) are uniform and do not depend on x if the noise is right (Dawid, 1984). Two
tests look at them: whether their distribution is uniform in its mean, spread, skewness and tails,

.. math:: \sum_{j=1}^{4} n \bigl(\overline{\pi_j(u)}\bigr)^2 \sim \chi^2_4

with the orthonormal Legendre polynomials :math:`\pi_j` on (0, 1) (Neyman, 1937), and whether their
distance from the centre goes with the prediction or a column. For classes, the Brier score of
held-out labels is compared with that of imputed ones (Spiegelhalter, 1986).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from nearbayes.core.data import Rows
from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.refitting import Case, HeldOutFold
from nearbayes.tables.table import Table

__all__ = ["NAME", "PREDICTION", "noise_line"]

Array = NDArray[np.float64]
NAME = "noise"
UNIT = "share of held-out outcomes in 90 % intervals of imputed ones"
CLASS_UNIT = "Brier score of held-out labels over that of imputed ones"
PREDICTION = "the prediction"
FEW_VALUES = 5  # of a column, which are then looked at one by one
N_SAMPLES = 99
MOST_COLUMNS = 20
SURE = 0.001  # p-value, shared by all tests of a line
N_MOMENTS = 4  # mean, spread, skewness and tails
LARGEST_GAP = 0.05  # squared distance from uniform ranks, that of a sd which is 17 % too small
LARGEST_SLOPE, LARGEST_RATIO = 0.15, 0.1


def noise_line(case: Case) -> Line:
    """Held-out outcomes among those that the model imputes there."""
    rng = case.rng(2)
    if case.algorithm.traits.classes is not None:
        return _class_line(case, rng)
    found = [_ranked(case, fold, rng) for fold in case.folds]
    ranks = np.concatenate([each[0] for each in found])
    causes, names = np.concatenate([each[1] for each in found]), found[0][2]
    inside = np.mean(np.abs(2 * ranks - 1) <= 0.9)
    error = float(np.sqrt(0.09 / ranks.size))
    details: dict[str, Any] = {"ranks": ranks}
    words = (
        f"Ranges that should hold 90 % of the outcomes hold {inside:.0%}, at rows of the fit that "
        "were left out in turn."
    )
    faults, where = _faults(ranks, causes, names)
    if faults:
        details["where"] = where
        advice = (
            "Fit again with another distribution of the noise: noise='heteroscedastic', "
            "noise='residual', or the one that outcomes have."
        )
        said = f"{' '.join(faults)} {words}"
        return Line(NAME, "warning", said, advice, float(inside), error, UNIT, details)
    return Line(NAME, "good", words, "", float(inside), error, UNIT, details)


def _faults(
    ranks: Array, causes: Array, names: list[str]
) -> tuple[list[str], dict[str, Any] | None]:
    """What is wrong with ranks, shape (n, n_columns), given what they may depend on, and where."""
    found = []
    tests = ranks.shape[1] * (1 + causes.shape[1])
    if any(_differs(column, SURE / tests) for column in ranks.T):
        found.append("Real outcomes have another distribution around the prediction.")
    far = np.abs(2 * ranks - 1)
    slopes = [
        (stats.spearmanr(cause, column), name, cause, column)
        for name, cause in zip(names, causes.T, strict=True)
        for column in far.T
        if np.ptp(cause) > 0 and np.ptp(column) > 0
    ]
    strongest = min(slopes, key=lambda each: each[0].pvalue, default=None)
    if strongest is None or strongest[0].pvalue * tests >= SURE:
        return found, None
    slope, name, *seen = strongest
    if abs(slope.statistic) <= LARGEST_SLOPE:
        return found, None
    where = _where(*seen)
    place = ""
    if where is not None:
        at = f"{where['side']} {where['end']:.3g}".strip()
        place = (
            f"Where {name} is {at}, ranges hold {where['share']:.0%} of the outcomes, not 90 %. "
        )
    found.append(
        f"{place}Real outcomes are noisier at some rows than at others; the model takes their "
        "noise to be the same everywhere."
    )
    return found, None if where is None else {"of": name, **where}


def _where(cause: Array, far: Array) -> dict[str, Any] | None:
    """Where ranges for 90 % hold the fewest outcomes: at a value, or in an outer third of the rows.

    None if they do not hold clearly fewer anywhere.

    Examples
    --------
    >>> far = np.r_[np.full(30, 0.5), np.full(30, 0.95)]
    >>> _where(np.arange(60.0), far)
    {'side': 'above', 'end': 39.333..., 'share': 0.0}
    >>> _where(np.repeat([0.0, 1.0], 30), far)
    {'side': '', 'end': 1.0, 'share': 0.0}
    """
    values = np.unique(cause)
    if len(values) <= FEW_VALUES:
        groups = [("", value, cause == value) for value in values]
    else:
        low, high = np.quantile(cause, [1 / 3, 2 / 3])
        groups = [("below", low, cause < low), ("above", high, cause > high)]
    shares = [
        (float(np.mean(far[rows] <= 0.9)), side, float(end), int(rows.sum()))
        for side, end, rows in groups
        if rows.any()
    ]
    share, side, end, size = min(shares)
    if share > 0.9 - 2 * np.sqrt(0.09 / size):
        return None
    return {"side": side, "end": end, "share": share}


def _differs(ranks: Array, sure: float) -> bool:
    """Whether ranks are not uniform, by more than chance and enough to matter.

    Examples
    --------
    >>> even = (np.arange(500) + 0.5) / 500
    >>> _differs(even, 0.001), _differs(even**2, 0.001)
    (False, True)
    """
    n = len(ranks)
    means = [
        np.sqrt(2 * j + 1) * special.eval_legendre(j, 2 * ranks - 1).mean()
        for j in range(1, N_MOMENTS + 1)
    ]
    statistic = n * np.sum(np.square(means))
    gap = (statistic - N_MOMENTS) / n  # without what chance adds
    return bool(stats.chi2.sf(statistic, N_MOMENTS) < sure and gap > LARGEST_GAP)


def _ranked(case: Case, fold: HeldOutFold, rng: Any) -> tuple[Array, Array, list[str]]:
    """Ranks of held-out outcomes among imputed ones, in (0, 1), and what they may depend on."""
    samples, x = _imputed(case, fold, rng)
    y = case.outcomes[fold.rows[fold.few]]
    values = samples.reshape(len(y), N_SAMPLES, -1)
    below, ties = (values < y[:, None]).sum(axis=1), (values == y[:, None]).sum(axis=1)
    ranks = (below + rng.random(y.shape) * (ties + 1)) / (N_SAMPLES + 1)
    numbers, names = _numbers(x)
    predicted = fold.whole[fold.few]
    causes = np.concatenate([predicted, numbers], axis=1)
    return ranks, causes, [PREDICTION] * predicted.shape[1] + names


def _imputed(case: Case, fold: HeldOutFold, rng: Any) -> tuple[Any, Table]:
    """Outcomes imputed at the rows to look at, `N_SAMPLES` per row, and those rows."""
    x = case.data.select(fold.rows[fold.few]).x
    n = len(fold.few)
    samples = np.asarray(fold.predictive.sample(Rows.repeated(x, np.full(n, N_SAMPLES)), rng))
    return samples.reshape(n, N_SAMPLES, *samples.shape[1:]), x


def _numbers(x: Table) -> tuple[Array, list[str]]:
    """The first columns of numbers in a table, without missing values, and what they are called.

    There are none in texts and sparse matrices.
    """
    frame = getattr(x, "to_numpy", None)
    raw = x if frame is None else frame()
    if len(x.shape) < 2:  # texts and other sequences
        return np.empty((x.shape[0], 0)), []
    columns, names = [], []
    known = [f"“{name}”" for name in getattr(x, "columns", ())]
    for place in range(min(x.shape[1], MOST_COLUMNS)):
        try:
            values = np.asarray(raw)[:, place]
            if values.dtype.kind in "mM":  # dates, whose numbers nobody knows
                continue
            column = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, IndexError):  # text, or a sparse matrix
            continue
        known_ones = column[np.isfinite(column)]
        usual = np.median(known_ones) if len(known_ones) else 0.0
        columns.append(np.where(np.isfinite(column), column, usual))
        names.append(known[place] if known else f"column {place + 1}")
    return np.stack(columns, axis=1) if columns else np.empty((x.shape[0], 0)), names


def _class_line(case: Case, rng: Any) -> Line:
    """Brier score of held-out labels against that of labels that the model imputes."""
    real, imputed = [], []
    n_classes = case.outcomes.shape[1]
    for fold in case.folds:
        codes, _ = _imputed(case, fold, rng)
        chances = np.stack([(codes == k).mean(axis=1) for k in range(n_classes)], axis=1)
        size = (chances**2).sum(axis=1)
        y = case.outcomes[fold.rows[fold.few]]
        real.append(1 + size - 2 * (chances * y).sum(axis=1))
        imputed.append(1 + size[:, None] - 2 * np.take_along_axis(chances, codes, axis=1))
    own, others = np.concatenate(real), np.concatenate(imputed)
    expected = others.mean()
    chance = np.sqrt(others.var(axis=1).sum()) / len(own)
    details = {"real": own, "imputed": others.mean(axis=1)}
    if expected == 0:
        words = "The model imputes labels without any doubt."
        bad = own.mean() > 0
        said = f"{words} Held-out labels are often others." if bad else words
        return Line(NAME, "warning" if bad else "good", said, SMOOTHER if bad else "", unit=UNIT)
    ratio, error = float(own.mean() / expected), float(chance / expected)
    words = f"Held-out labels have {ratio:.2f} times the Brier score of imputed ones."
    if abs(ratio - 1) > max(LARGEST_RATIO, stats.norm.isf(SURE / 2) * error):
        doubt = "too sure" if ratio > 1 else "not sure enough"
        said = f"{words} The model is {doubt} of the labels that it imputes."
        return Line(NAME, "warning", said, SMOOTHER, ratio, error, CLASS_UNIT, details)
    return Line(NAME, "good", words, "", ratio, error, CLASS_UNIT, details)


SMOOTHER = "Use a smoother learner, or wrap it in sklearn.calibration.CalibratedClassifierCV."
