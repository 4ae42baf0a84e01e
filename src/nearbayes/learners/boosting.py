"""Boosting: histogram-boosted trees whose depth and number of rounds are chosen out of fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from nearbayes.tables.table import Table, is_frame, n_rows

__all__ = ["DEPTHS", "all_classes", "boosted", "rounds_to_try", "staged"]

Array = NDArray[np.float64]
DEPTHS = (1, 3, 6)  # stumps are for additive functions
RATE = 0.15
LEAF = 10  # rows, at least
MOST_LEAVES = 31
FEWEST_BINS, MOST_BINS, ROWS_PER_BIN = 63, 255, 32


def rounds_to_try(most: int) -> NDArray[np.intp]:
    """Numbers of rounds, up to a largest one.

    Examples
    --------
    >>> rounds_to_try(20).tolist()
    [1, 2, 3, 5, 7, 10, 15, 20]
    """
    wanted = np.array([1, 2, 3, 5, 7, *range(10, most + 1, 5)])
    return wanted[wanted <= most]


def boosted(
    table: Table,
    y: NDArray[Any],
    weights: Array | None,
    classes: bool,
    *,
    depth: int,
    rounds: int,
    growth: float = 1.0,
) -> Any:
    """Boosted trees, fitted.

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
        Outcomes or class codes.
    weights : array of shape (n_rows,), optional
    classes : bool
        Whether y are class codes.
    depth, rounds : int
    growth : float
        Rows per distinct input, a factor for the minimum leaf size.
    """
    table, levels = _with_few_levels(table)
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(
        learning_rate=RATE,
        max_iter=int(rounds),
        max_depth=int(depth),
        max_leaf_nodes=MOST_LEAVES,
        min_samples_leaf=round(LEAF * growth),
        max_bins=int(np.clip(max(n_rows(table) // ROWS_PER_BIN, levels), FEWEST_BINS, MOST_BINS)),
        early_stopping=False,
        random_state=0,  # large tables are sampled for their bins
    )
    with _plain_bins(model):
        return model.fit(table, y, sample_weight=weights)


def _with_few_levels(table: Table) -> tuple[Table, int]:
    """The table with rare categories set to missing if there are too many, and the number left.

    Trees treat missing and unknown categories in the same way, so rows to predict need no change.
    In a polars frame, missing counts as one category.
    """
    if not is_frame(table):
        return table, 0
    frame, most = nw.from_native(table, eager_only=True), 0
    for name, kind in frame.schema.items():
        if not isinstance(kind, nw.Categorical | nw.Enum):
            continue
        times = Counter(frame[name].drop_nulls().to_list())
        most = max(most, min(len(times) + 1, MOST_BINS))
        if len(times) >= MOST_BINS:
            ranked = sorted(times, key=lambda level: (-times[level], str(level)))
            others = [str(level) for level in ranked[MOST_BINS - 1 :]]
            rare = nw.col(name).cast(nw.String).is_in(others)
            frame = frame.with_columns(nw.when(~rare).then(nw.col(name)).alias(name))
    return nw.to_native(frame), most


@contextmanager
def _plain_bins(model: Any) -> Iterator[None]:
    """Bins by rows, not by weights.

    Scikit-learn 1.9 computes weighted quantiles one by one, which takes ten times as long as the
    trees of a small table. Bins by rows are the same for every refit.
    """
    usual = getattr(model, "_bin_data", None)
    if usual is None or "sample_weight" not in signature(usual).parameters:
        yield  # other versions do not use weights here
        return
    model._bin_data = lambda X, sample_weight=None, **options: usual(X, None, **options)
    try:
        yield
    finally:
        del model._bin_data


def staged(model: Any, table: Table, n_classes: int, rounds: NDArray[np.intp]) -> Array:
    """Predictions after these rounds, shape (n_tried, n_rows[, n_classes])."""
    wanted = set(rounds.tolist())
    if not n_classes:
        stages = enumerate(model.staged_predict(table), 1)
        return np.stack([np.asarray(each) for k, each in stages if k in wanted])
    stages = enumerate(model.staged_predict_proba(table), 1)
    return np.stack(
        [all_classes(each, model.classes_, n_classes) for k, each in stages if k in wanted]
    )


def all_classes(seen: Any, classes: NDArray[Any], n_classes: int) -> Array:
    """Probabilities of all classes, from those of the classes in a fit."""
    probabilities = np.zeros((len(seen), n_classes))
    probabilities[:, classes] = seen
    return probabilities
