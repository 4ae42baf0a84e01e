"""Importance: feature importances in every draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from nearbayes.core.protocols import Rng
from nearbayes.draws.functional import Functional
from nearbayes.estimators import PosteriorClassifier
from nearbayes.inspection.columns import evenly_spaced, known_values, with_column
from nearbayes.inspection.fitted import Fitted, prediction_of, thinned
from nearbayes.metrics import brier
from nearbayes.tables.table import Table, as_table, n_rows, take

__all__ = ["Importances", "feature_names", "own_importances", "permutation_importances"]

Array = NDArray[np.float64]

MOST_DRAWS = 40  # for permutation importance; quantiles of 40 draws reach 95 % coverage
MOST_ROWS = 500  # rows for permutation importance
FEW_ROWS = 100  # rows for permutation importance of simulated data sets
MOST_MEASURED = 1_000  # rows for standard deviations of columns
MOST_SHUFFLED = 30  # columns for permutation importance; the base model selects them


class Importances(NamedTuple):
    """Names of the features, draws (n_draws, n_features), and the kind of importance."""

    names: list[str]
    draws: Functional
    kind: str


def feature_names(model: Fitted) -> list[str]:
    """Names of the columns seen during fit; x0, x1, ... if they have none."""
    unnamed = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", unnamed)]


def own_importances(model: Fitted, X: Any = None) -> Importances | None:
    """Importances that the draws, or the last steps of their pipelines, provide.

    These are `feature_importances_`, scaled to sum to 1, or `coef_`. With several classes or
    outputs, the mean absolute coefficient is used. If X is given, coefficients are multiplied by
    the standard deviation of their feature in X. A feature that only some draws have, such as one
    selected in a pipeline, is 0 in the others. Intervals are calibrated if the model is and its
    simulated data sets were kept. Returns None if a draw has no importances, or if
    its features have no names.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> model = nb.PosteriorRegressor(LinearRegression(), n_draws=5).fit(X, 2 * X[:, 0])
    >>> names, draws, kind = own_importances(model)
    >>> names, draws.mean.round(6).tolist(), kind
    (['x0'], [2.0], 'coefficient')
    """
    posterior, known = model.posterior_, feature_names(model)
    given = [(draw, _names_given(draw, known)) for draw in posterior.draws]
    found = [(names, _own_rows(draw, len(names), X)) for draw, names in given]
    if any(not names or rows.shape[1:] != (len(names),) for names, rows in found):
        return None
    every = dict.fromkeys(chain.from_iterable(names for names, _ in found))
    place = {name: j for j, name in enumerate(every)}
    several = any(len(rows) > 1 for _, rows in found)

    def sizes(draw: Any) -> Array:
        """In the order of `every`; 0 for features that the draw does not have."""
        names, value = _names_given(draw, known), np.zeros(len(every))
        rows = _own_rows(draw, len(names), X)
        if rows.shape[1:] != (len(names),):
            raise TypeError(f"{type(draw).__name__} has no importances.")
        shown = (np.abs(rows) if several else rows).mean(axis=0)
        for name, size in zip(names, shown, strict=True):
            if name in place:
                value[place[name]] = size
        return value

    kind = "mean absolute coefficient" if several else "coefficient"
    if hasattr(_last_step(posterior.draws[0]), "feature_importances_"):
        kind = "feature importance"
    return Importances(list(every), posterior.apply(sizes), kind)


def _last_step(draw: Any) -> Any:
    return draw[-1] if isinstance(draw, Pipeline) else draw


def _steps_before(draw: Any) -> Any:
    return draw[:-1] if isinstance(draw, Pipeline) and len(draw) > 1 else None


def _names_given(draw: Any, known: list[str]) -> list[str]:
    """Names of the inputs of the last step; empty if a step does not provide names."""
    before = _steps_before(draw)
    try:
        return known if before is None else before.get_feature_names_out(known).tolist()
    except AttributeError:  # a transformer without get_feature_names_out
        return []


def _own_rows(draw: Any, n_features: int, X: Any) -> Array:
    """Importances or coefficients of one draw, shape (n_classes or n_outputs, n_features)."""
    last, before = _last_step(draw), _steps_before(draw)
    if hasattr(last, "feature_importances_"):
        sizes = np.atleast_2d(np.asarray(last.feature_importances_, dtype=np.float64))
        total = sizes.sum(axis=1, keepdims=True)
        return sizes / np.where(total > 0, total, 1.0)
    found: Any = getattr(last, "coef_", ())
    dense = found.toarray() if sparse.issparse(found) else found
    coefficients = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    if X is None or coefficients.shape[1:] != (n_features,):
        return coefficients
    table = as_table(X)
    rows = take(table, evenly_spaced(n_rows(table), MOST_MEASURED))
    return coefficients * _spreads(rows if before is None else before.transform(rows))


def _spreads(table: Table) -> Array:
    """Standard deviation of every column; 1 if it is not numeric."""
    columns = [known_values(table, j)[1] for j in range(table.shape[1])]
    return np.array([c.std() if len(c) and c.dtype.kind in "biuf" else 1.0 for c in columns])


def permutation_importances(model: Fitted, X: Any, y: NDArray[Any], rng: Rng) -> Importances:
    """Permutation importance: increase of the error of each draw when a column is shuffled.

    Uses at most 500 rows and 40 draws, and at most 100 rows for simulated data sets. Of many rows,
    those of rare classes are chosen first, and count as often as they occur. If there are more than
    30 columns, only the 30 most important to the first fit are shuffled. `y` is a result of
    `checked_outcomes`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = nb.PosteriorRegressor(KNeighborsRegressor(), n_draws=3, calibration=None)
    >>> rng, y = np.random.default_rng(0), X[:, 0]
    >>> found = permutation_importances(model.fit(X, y), X, y, rng)
    >>> found.draws.values.shape, bool(found.draws.mean[0] > found.draws.mean[1])
    ((3, 2), True)
    """
    posterior, names = thinned(model, MOST_DRAWS).posterior_, feature_names(model)
    is_classifier, whole = isinstance(model, PosteriorClassifier), as_table(X)
    rows, weights = _rows_to_shuffle(y if is_classifier else None, n_rows(whole), rng)
    table, seen = take(whole, rows), y[rows]
    shuffled = (
        rng.permutation(len(rows))
        if weights is None
        else rng.choice(len(rows), len(rows), p=weights)
    )

    def losses(models: Sequence[Any], inputs: Table) -> Array:
        predicted = posterior.chunks.predict(models, inputs)
        if is_classifier:
            each_row = [brier(seen, each, mean=False) for each in predicted]
            return np.asarray(np.average(each_row, axis=1, weights=weights))
        return np.asarray(np.sqrt(np.mean((seen - predicted) ** 2, axis=1)))

    def rises(models: Sequence[Any], columns: NDArray[np.intp]) -> Array:
        after = [losses(models, with_column(table, j, table, shuffled)) for j in columns]
        return np.stack(after, axis=1) - losses(models, table)[:, None]

    columns = np.arange(len(names))
    if len(columns) > MOST_SHUFFLED:
        columns = np.argsort(-rises([posterior.first], columns)[0], kind="stable")[:MOST_SHUFFLED]
    draws = Functional(rises(posterior.models, columns), posterior.inflation)
    if posterior.truths is not None:
        draws = posterior.truths.calibrated(_rises(model, table, seen, columns), draws)
    kind = f"increase of the {'Brier score' if is_classifier else 'root mean squared error'}"
    return Importances([names[j] for j in columns], draws, kind)


def _rows_to_shuffle(
    codes: NDArray[Any] | None, n: int, rng: Rng
) -> tuple[NDArray[np.intp], Array | None]:
    """Random rows; if there are many, enough of each class, with weights that correct for it."""
    rows = rng.permutation(n)
    if codes is None or n <= MOST_ROWS:
        return rows[:MOST_ROWS], None
    of_class = [rows[codes[rows] == code] for code in np.unique(codes)]
    fewest = MOST_ROWS // (2 * len(of_class))
    shares = [max(round(MOST_ROWS * len(each) / n), min(fewest, len(each))) for each in of_class]
    kept = [(each, each[:share]) for each, share in zip(of_class, shares, strict=True)]
    chosen = np.concatenate([few for _, few in kept])
    weights = np.concatenate([np.full(len(few), len(each) / len(few)) for each, few in kept])
    order = rng.permutation(len(chosen))
    return chosen[order], (weights / weights.sum())[order]


def _rises(
    model: Fitted, table: Table, seen: NDArray[Any], columns: NDArray[np.intp]
) -> Callable[[Any], Array]:
    """Permutation importances of one fitted estimator on the first rows.

    Errors on simulated data sets are taken in posterior standard deviations, so that fewer rows
    are enough for them.
    """
    few, predicted = take(table, np.arange(min(len(seen), FEW_ROWS))), prediction_of(model)
    outcomes, turned = seen[:FEW_ROWS], np.roll(np.arange(n_rows(few)), 1)
    inputs = [few, *(with_column(few, j, few, turned) for j in columns)]

    def loss(values: Array) -> float:
        if isinstance(model, PosteriorClassifier):
            return float(brier(outcomes, values))
        return float(np.sqrt(np.mean((outcomes - values) ** 2)))

    def rises(fitted: Any) -> Array:
        plain, *shuffled = (loss(predicted(fitted, each)) for each in inputs)
        return np.array(shuffled) - plain

    return rises
