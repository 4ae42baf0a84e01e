r"""Noise: whether outcomes that a model imputes look like the real ones that it has not seen.

Paths are as good as the outcomes they are made of, :math:`\hat y \sim p_\theta(\cdot \mid x)`.
Every real row is held out once and ranked among outcomes that a fit to the other rows would impute
there: ranks u in (0, 1) are uniform and do not depend on x if the model is right (Dawid, 1984). The
outcomes that linear models impute are spread by the variance of the fit, which is no fault of the
noise. Tests look at the ranks: whether their distribution is uniform in its mean, spread, skewness
and tails,

.. math:: \sum_{j=1}^{4} n \bigl(\overline{\pi_j(u)}\bigr)^2 \sim \chi^2_4

with the orthonormal Legendre polynomials :math:`\pi_j` on (0, 1) (Neyman, 1937); whether 90 %
ranges hold 90 %; and whether u differs among groups of rows by a column, or its distance from the
centre by a column or the prediction (Kruskal and Wallis, 1952), or has a trend. For classes, the
Brier score of held-out labels is compared with that of imputed ones (Spiegelhalter, 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from nearbayes.diagnostics.diagnosis import Line
from nearbayes.diagnostics.imputed_labels import NAME, SURE, imputed_at, labels_line
from nearbayes.diagnostics.refitting import N_FOLDS, Case, HeldOutFold
from nearbayes.tables.table import Table

__all__ = ["NAME", "PREDICTION", "noise_line"]

Array = NDArray[np.float64]
UNIT = "share of held-out outcomes in 90 % intervals of imputed ones"
PREDICTION = "the prediction"
FEW_VALUES = 5  # of a column, which are then groups of rows; else so many groups of equal size
MOST_COLUMNS = 20
LEVEL = 0.9
N_MOMENTS = 4  # mean, spread, skewness and tails
LARGEST_GAP = 0.05  # squared distance from uniform ranks, that of a sd which is 17 % too small
LARGEST_SHIFT = 0.05  # share of the variance of ranks, that of a mean which is off by .2 sd
LARGEST_SPREAD = 0.03  # share of the variance of their distances from the centre
LARGEST_MISS = 0.06  # of a coverage
MOST_LEVERAGE = 0.9


def noise_line(case: Case) -> Line:
    """Held-out outcomes among those that the model imputes there."""
    rng = case.rng(2)
    if case.algorithm.traits.classes is not None:
        return labels_line(case, rng)
    found = [_ranked(case, fold, rng) for fold in case.folds]
    ranks = np.concatenate([each[0] for each in found])
    causes, names = np.concatenate([each[1] for each in found]), found[0][2]
    inside = float(np.mean(_distance(ranks) <= LEVEL))
    error = float(np.sqrt(LEVEL * (1 - LEVEL) / ranks.size))
    details: dict[str, Any] = {"ranks": ranks}
    words = (
        f"Ranges that should hold 90 % of the outcomes hold {inside:.0%}, at rows of the fit that "
        "were left out in turn."
    )
    # calibrated intervals allow for a bias, as flexible learners have some in few rows
    may_be_off = case.posterior.calibration is not None
    faults, where = _faults(ranks, causes, names, may_be_off)
    if faults:
        details["where"] = where
        said = f"{' '.join(fault.words for fault in faults)} {words}"
        return Line(NAME, "warning", said, _advice(case, faults), inside, error, UNIT, details)
    return Line(NAME, "good", words, "", inside, error, UNIT, details)


def _distance(ranks: Array) -> Array:
    """Distance of ranks from the centre: 0 there, 1 at both ends."""
    return np.abs(2 * ranks - 1)


@dataclass(frozen=True)
class Fault:
    """What is wrong: with the "mean", or with the "noise"; and where, if it is somewhere."""

    of: Literal["mean", "noise"]
    words: str
    where: dict[str, Any] | None = None


def _faults(
    ranks: Array, causes: Array, names: list[str], may_be_off: bool
) -> tuple[list[Fault], dict[str, Any] | None]:
    """What is wrong with ranks, shape (n, n_columns), given what they may depend on, and where."""
    found = []
    sure = SURE / (2 * ranks.shape[1])
    if any(_differs(column, sure) or _misses(column, sure) for column in ranks.T):
        words = "Real outcomes have another distribution around the prediction."
        found.append(Fault("noise", words))
    pairs = [(name, cause) for name, cause in zip(names, causes.T, strict=True) if np.ptp(cause)]
    sure = SURE / max(1, len(pairs) * ranks.shape[1])
    # a fit of many columns exaggerates its largest predictions: outcomes there lie on one side
    columns = [] if may_be_off else [pair for pair in pairs if pair[0] != PREDICTION]
    off = _strongest(ranks, columns, sure, LARGEST_SHIFT)
    if off is not None:
        return [*found, _off_centre(*off)], None  # distances from a wrong centre say little
    # errors of a flexible fit differ among groups, which is no noise; noise that grows has a trend
    uneven = _strongest(_distance(ranks), pairs, sure, LARGEST_SPREAD, trend_alone=may_be_off)
    if uneven is not None:
        found.append(_uneven(*uneven))
    where = next((fault.where for fault in found if fault.of == "noise" and fault.where), None)
    return found, where


def _advice(case: Case, faults: list[Fault]) -> str:
    """What to do: about the learner where the mean is off, else about the noise in use."""
    if any(fault.of == "mean" for fault in faults):
        return "Use a learner that can follow this, or give it the columns that it lacks."
    plain = getattr(case.algorithm, "algorithm", case.algorithm)
    used = getattr(plain, "noise", None)
    others = [f"noise={name!r}" for name in ("heteroscedastic", "residual") if name != used]
    return (
        f"Fit again with another distribution of the noise: {', '.join(others)}, or the one that "
        "outcomes have."
    )


def _strongest(
    values: Array,
    pairs: list[tuple[str, Array]],
    sure: float,
    least: float,
    trend_alone: bool = False,
) -> tuple[str, list[Group], Array] | None:
    """The cause that a column of values goes with most, by more than chance.

    Rows are compared by groups, and by a trend, which is clearer where it goes one way.
    """
    found = []
    for name, cause in pairs:
        groups = _groups(cause)
        for column in values.T:
            parts = [column[group.rows] for group in groups]
            if len(parts) < 2 or np.ptp(column) == 0:
                continue
            slope, p_value = stats.spearmanr(cause, column)
            share = slope**2
            if not trend_alone:
                statistic, by_groups = stats.kruskal(*parts)
                share = max(share, (statistic - len(parts) + 1) / (len(column) - len(parts)))
                p_value = 2 * min(p_value, by_groups)
            if p_value < sure and share > least:
                found.append((share, name, groups, column))
    return max(found, key=lambda each: each[0])[1:] if found else None


class Group(NamedTuple):
    """Rows whose cause is a value, or lies between two; infinite ends are open."""

    low: float
    high: float
    rows: NDArray[np.intp]

    @property
    def words(self) -> str:
        """The group in words, such as "above 3"."""
        if self.low == self.high:
            return f"{self.low:.3g}"
        if np.isinf(self.low):
            return f"below {self.high:.3g}"
        if np.isinf(self.high):
            return f"above {self.low:.3g}"
        return f"between {self.low:.3g} and {self.high:.3g}"

    def to_dict(self, name: str, share: float) -> dict[str, Any]:
        """Where ranges hold only a share of the outcomes, for reports."""
        side = {name: name for name in ("below", "above", "between")}.get(self.words.split()[0], "")
        end = self.high if side == "below" else self.low
        return {"of": name, "side": side, "end": end, "to": self.high, "share": share}


def _groups(cause: Array) -> list[Group]:
    """Rows by the value of a cause, or by fifths of them.

    Examples
    --------
    >>> [group.words for group in _groups(np.repeat([0.0, 1.0], 30))]
    ['0', '1']
    >>> [group.words for group in _groups(np.arange(100.0))][:2]
    ['below 19.8', 'between 19.8 and 39.6']
    """
    values = np.unique(cause)
    if len(values) <= FEW_VALUES:
        return [Group(float(v), float(v), np.flatnonzero(cause == v)) for v in values]
    ends = np.unique(np.quantile(cause, np.linspace(0, 1, FEW_VALUES + 1)[1:-1]))
    places = np.searchsorted(ends, cause, side="right")
    edges = [-np.inf, *(float(end) for end in ends), np.inf]
    found = [
        Group(edges[k], edges[k + 1], np.flatnonzero(places == k)) for k in range(len(ends) + 1)
    ]
    return [group for group in found if len(group.rows)]


def _off_centre(name: str, groups: list[Group], ranks: Array) -> Fault:
    """Outcomes lie on one side of the predictions at some rows."""
    worst = max(groups, key=lambda group: abs(ranks[group.rows].mean() - 0.5))
    side = "above" if ranks[worst.rows].mean() > 0.5 else "below"
    words = (
        f"Where {name} is {worst.words}, outcomes lie mostly {side} the predictions: the learner "
        "does not follow how they depend on it."
    )
    return Fault("mean", words)


def _uneven(name: str, groups: list[Group], distances: Array) -> Fault:
    """Outcomes are noisier at some rows than at others, which the model does not know."""
    shares = [float(np.mean(distances[group.rows] <= LEVEL)) for group in groups]
    share, worst = min(zip(shares, groups, strict=True), key=lambda each: each[0])
    noisier = "Real outcomes are noisier at some rows than at others, more than the model knows."
    if share > LEVEL - 2 * np.sqrt(LEVEL * (1 - LEVEL) / len(worst.rows)):
        return Fault("noise", noisier)
    place = f"Where {name} is {worst.words}, ranges hold {share:.0%} of the outcomes, not 90 %."
    return Fault("noise", f"{place} {noisier}", worst.to_dict(name, share))


def _misses(ranks: Array, sure: float) -> bool:
    """Whether 90 % ranges hold another share, by more than chance and enough to matter."""
    held = int(np.sum(_distance(ranks) <= LEVEL))
    far = abs(held / len(ranks) - LEVEL) > LARGEST_MISS
    return bool(far and stats.binomtest(held, len(ranks), LEVEL).pvalue < sure)


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
    samples, x = imputed_at(case, fold, rng)
    y = case.outcomes[fold.rows[fold.few]]
    values = samples.reshape(*samples.shape[:2], -1)
    if not np.array_equal(values, np.round(values)):  # counts stay counts
        values = values + _fit_sds(case, x, values) * rng.standard_normal(values.shape)
    below, ties = (values < y[:, None]).sum(axis=1), (values == y[:, None]).sum(axis=1)
    ranks = (below + rng.random(y.shape) * (ties + 1)) / (samples.shape[1] + 1)
    numbers, names = _numbers(x)
    predicted = fold.whole[fold.few]
    causes = np.concatenate([predicted, numbers], axis=1)
    return ranks, causes, [PREDICTION] * predicted.shape[1] + names


def _fit_sds(case: Case, x: Table, values: Array) -> Array:
    """Standard deviations of a fit to all other rows, where imputed outcomes do not hold them.

    Noise from held-out residuals holds the error of the fit already, and so do distributions of y
    with a variance of their own. In a linear model, with leverage h of a row (the variance of the
    fit over that of the noise), a fit without the row has the variance h / (1 - h).
    """
    traits = case.algorithm.traits
    if traits.calibrate or traits.own_variance or case.posterior.kept_at is not None:
        return np.zeros((len(values), 1, 1))
    noise = np.maximum(values.var(axis=1, keepdims=True), np.finfo(float).tiny)
    variances = case.spread_at(x).var(axis=0, ddof=1).reshape(len(values), 1, -1)
    leverage = np.minimum(variances / noise * N_FOLDS / (N_FOLDS - 1), MOST_LEVERAGE)
    return np.asarray(np.sqrt(noise * leverage / (1 - leverage)))


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
