"""HeldOut: held-out rows with their predictions, computed once for all sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Rng
from nearbayes.core.tables import Table, as_table, n_rows, take
from nearbayes.estimators import PosteriorClassifier
from nearbayes.inspection.columns import column_names
from nearbayes.inspection.fitted import checked_outcomes

__all__ = ["LEVELS", "HeldOut"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LEVELS = (0.5, 0.8, 0.9, 0.95)
MOST_CLASSES = 10  # with more, only the most likely class of each row is shown
MOST_NUMBERS = 150_000  # in the table: about a megabyte
MOST_SCORED = 2_000  # regression rows to score: each needs a mixture over all draws


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows with the predictions of every draw.

    Attributes
    ----------
    model : PosteriorClassifier or PosteriorRegressor
    table : table of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
        Class codes, or outcomes.
    names : list of str
        Names of the columns.
    labels : list of str or int
        Labels of the rows: the index of a frame, or positions.
    draws : array of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
    epistemic, aleatoric : array of shape (n_rows,)
        In nats for classification; standard deviations in units of y for regression.
    shown : array of int
        Rows in the table and figures, in order.
    scored : array of int
        Rows used for scores, in order.
    """

    model: Any
    table: Table
    y: NDArray[Any]
    names: list[str]
    labels: list[Any]
    draws: Array
    epistemic: Array
    aleatoric: Array
    shown: Index
    scored: Index

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, rng: Rng, feature_names: Any, most_rows: int
    ) -> HeldOut:
        """Predict the held-out rows, and choose which of them to show."""
        table = as_table(X)
        outcomes = checked_outcomes(model, table, y)
        if len(outcomes) < 2:
            raise ValueError(f"X must have at least 2 rows, got {len(outcomes)}.")
        draws = model.posterior_predictions(table)
        epistemic, aleatoric = _uncertainty(model, table, draws)
        error = _surprise(draws.mean(axis=0), outcomes)
        kept = model.posterior_.kept_at is not None
        few = kept or isinstance(model, PosteriorClassifier)
        most_scored = len(outcomes) if few else MOST_SCORED
        return cls(
            model=model,
            table=table,
            y=outcomes,
            names=column_names(table, feature_names),
            labels=_row_labels(table),
            draws=draws,
            epistemic=epistemic,
            aleatoric=aleatoric,
            shown=_thinned((epistemic, aleatoric, error), min(most_rows, _room(draws)), rng),
            scored=_at_random(len(outcomes), most_scored, rng),
        )

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

    @property
    def n(self) -> int:
        """Number of held-out rows."""
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


def _row_labels(table: Table) -> list[Any]:
    """The index of a pandas frame as text, or positions."""
    index = getattr(table, "index", None)
    if index is None or not hasattr(table, "iloc"):
        return list(range(n_rows(table)))
    return [label if isinstance(label, int) else str(label) for label in index.tolist()]
