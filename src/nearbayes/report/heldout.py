"""HeldOut: the rows of a report with their predictions, computed once for all sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Rng
from nearbayes.estimators import PosteriorClassifier
from nearbayes.inspection.columns import column_names
from nearbayes.inspection.fitted import checked_outcomes
from nearbayes.tables.table import Table, as_table, n_rows, take

__all__ = ["LEVELS", "MOST_CLASSES", "HeldOut", "RowNames"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LEVELS = (0.5, 0.8, 0.9, 0.95)
MOST_CLASSES = 10  # with more, only the most likely class of each row is shown
MOST_NUMBERS = 150_000  # in the table: about a megabyte
MOST_SCORED = 2_000  # regression rows to score: each needs a mixture over all draws
MOST_PREDICTED = 25_000_000  # numbers that all draws predict: 200 megabytes
FEWEST_PREDICTED = 1_000  # rows, however many draws and classes
SELDOM = 0.3  # share below which the first of two classes is the one that people ask about
ROW = "Row"


@dataclass(frozen=True)
class RowNames:
    """Names of rows: what each is called, and what kind of name that is.

    Attributes
    ----------
    called : str
        Such as "Row", "Line" or the name of a column of identifiers.
    names : list of str or int
    """

    called: str
    names: list[Any]

    @classmethod
    def of(cls, table: Table, names: Any = None, called: str | None = None) -> RowNames:
        """The given names, the index of a pandas frame, or positions."""
        index = getattr(table, "index", None) if hasattr(table, "iloc") else None
        if names is None:
            names = range(n_rows(table)) if index is None else index.tolist()
            name = getattr(index, "name", None)
            called = called or (ROW if name is None else str(name))
        given = list(names)
        if len(given) != n_rows(table):
            raise ValueError(
                f"row_names must name the {n_rows(table)} rows of X, got {len(given)} names."
            )
        return cls(called or ROW, [n if isinstance(n, int) else str(n) for n in given])


@dataclass(frozen=True)
class HeldOut:
    """Rows with known outcomes, and the predictions of every draw.

    Attributes
    ----------
    model : PosteriorClassifier or PosteriorRegressor
    table : table of shape (n_rows, n_columns)
        Or texts, or arrays such as images, which have no columns.
    y : array of shape (n_rows,)
        Class codes, or outcomes.
    names : list of str
        Names of the columns; empty where there are none.
    rows : RowNames
    draws : array of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
    epistemic, aleatoric : array of shape (n_rows,)
        In nats for classification; standard deviations in units of y for regression.
    shown : array of int
        Rows in the table and figures, in order.
    scored : array of int
        Rows used for scores, in order.
    given : int
        Rows that were given; of very many, those here were chosen at random.
    share_seen : float or None
        Share of the rows that the model was fitted to; None if that is not known.
    """

    model: Any
    table: Table
    y: NDArray[Any]
    names: list[str]
    rows: RowNames
    draws: Array
    epistemic: Array
    aleatoric: Array
    shown: Index
    scored: Index
    given: int
    share_seen: float | None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        rng: Rng,
        feature_names: Any = None,
        most_rows: int = 3_000,
        row_names: Any = None,
        rows_called: str | None = None,
    ) -> HeldOut:
        """Predict the rows, and choose which of them to show."""
        whole = as_table(X)
        outcomes = checked_outcomes(model, whole, y)
        if len(outcomes) < 2:
            raise ValueError(f"X must have at least 2 rows, got {len(outcomes)}.")
        named, given = RowNames.of(whole, row_names, rows_called), len(outcomes)
        chosen = _at_random(given, _most_predicted(model), rng)
        table, labels = (take(each, chosen) for each in (whole, np.asarray(y).reshape(given, -1)))
        draws, outcomes = model.posterior_predictions(table), outcomes[chosen]
        epistemic, aleatoric = _uncertainty(model, table, draws)
        error = _surprise(draws.mean(axis=0), outcomes)
        few = model.posterior_.kept_at is not None or isinstance(model, PosteriorClassifier)
        most_scored = len(outcomes) if few else MOST_SCORED
        prints = getattr(model, "row_prints_", None)
        return cls(
            model=model,
            table=table,
            y=outcomes,
            names=column_names(table, feature_names) if len(table.shape) == 2 else [],
            rows=RowNames(named.called, [named.names[k] for k in chosen.tolist()]),
            draws=draws,
            epistemic=epistemic,
            aleatoric=aleatoric,
            shown=_thinned((epistemic, aleatoric, error), min(most_rows, _room(draws)), rng),
            scored=_at_random(len(outcomes), most_scored, rng),
            given=given,
            share_seen=None if prints is None else prints.share_of(table, labels[:, 0]),
        )

    @classmethod
    def unpredicted(cls, model: Any, X: Any, y: Any) -> HeldOut:
        """The rows alone, for questions that ask the draws themselves: what matters to them."""
        table, none = as_table(X), np.zeros(0)
        names = column_names(table, None) if len(table.shape) == 2 else []
        outcomes = checked_outcomes(model, table, y)
        every = np.arange(len(outcomes))
        return cls(
            model=model,
            table=table,
            y=outcomes,
            names=names,
            rows=RowNames.of(table),
            draws=none,
            epistemic=none,
            aleatoric=none,
            shown=every,
            scored=every,
            given=len(outcomes),
            share_seen=None,
        )

    @property
    def labels(self) -> list[Any]:
        """Names of the rows."""
        return self.rows.names

    @property
    def posterior(self) -> Posterior:
        """The draws."""
        posterior: Posterior = self.model.posterior_
        return posterior

    @property
    def is_classifier(self) -> bool:
        """Whether outcomes are classes."""
        return isinstance(self.model, PosteriorClassifier)

    @property
    def keeps_models(self) -> bool:
        """Whether draws can predict at other rows than these."""
        return self.posterior.kept_at is None

    @property
    def classes(self) -> list[str]:
        """Class labels as text; empty for regression."""
        return [str(label) for label in self.model.classes_] if self.is_classifier else []

    @property
    def mean(self) -> Array:
        """Posterior mean of the prediction, shape (n_rows[, n_classes])."""
        return np.asarray(self.draws.mean(axis=0))

    @cached_property
    def spread(self) -> Array:
        """Draws of class probabilities, spread as far as intervals reach."""
        draws = self.posterior.of_predictions(self.draws).adjusted()
        return np.asarray(draws / draws.sum(axis=-1, keepdims=True))

    @property
    def focus(self) -> int:
        """The class to show where there are two: the second, unless the first is much rarer."""
        return 0 if np.mean(self.y == 0) < SELDOM else 1

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def at(self, rows: Index, predict: Callable[[Table], Any]) -> Any:
        """Predict some of the rows; draws kept as predictions can only predict all of them."""
        if self.keeps_models:
            return predict(take(self.table, rows))
        return np.asarray(predict(self.table))[rows]


def _uncertainty(model: Any, table: Table, draws: Array) -> tuple[Array, Array]:
    """Epistemic and aleatoric uncertainty: nats, or standard deviations for regression."""
    if isinstance(model, PosteriorClassifier):
        parts = model.predict_uncertainty(table)
        return parts.epistemic, parts.aleatoric
    total = model.predict(table, return_std=True)[1]
    epistemic = model.posterior_.of_predictions(draws).adjusted("inflated").std(axis=0)
    return epistemic, np.sqrt(np.maximum(total**2 - epistemic**2, 0.0))


def _surprise(mean: Array, y: NDArray[Any]) -> Array:
    """Distance of each outcome from its prediction."""
    return 1 - mean[np.arange(len(y)), y] if mean.ndim == 2 else np.abs(y - mean)


def _room(draws: Array) -> int:
    """Number of rows that fit into the table; each class probability takes space for intervals."""
    views = draws.shape[2] if draws.ndim == 3 and 2 < draws.shape[2] <= MOST_CLASSES else 1
    return MOST_NUMBERS // (9 * views + 12)


def _at_random(n: int, most: int, rng: Rng) -> Index:
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, most, replace=False))


def _thinned(extremes: tuple[Array, ...], most: int, rng: Rng) -> Index:
    """All rows; or, if there are too many, the most extreme ones and a random sample of others."""
    n = len(extremes[0])
    if n <= most:
        return np.arange(n)
    first = {int(row) for values in extremes for row in np.argsort(-values)[: most // 10]}
    rest = np.setdiff1d(np.arange(n), list(first))
    others = rng.choice(rest, most - len(first), replace=False)
    return np.sort(np.concatenate([np.array(sorted(first), dtype=np.intp), others]))


def _most_predicted(model: Any) -> int:
    """Rows that may be predicted; draws kept as predictions have predicted theirs already."""
    posterior = model.posterior_
    if posterior.kept_at is not None:
        return np.iinfo(np.intp).max
    per_row = len(posterior) * len(getattr(model, "classes_", (0,)))
    return int(max(FEWEST_PREDICTED, MOST_PREDICTED // per_row))
