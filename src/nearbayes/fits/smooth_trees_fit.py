"""SmoothTrees: settings are tuned once, on real rows; a refit keeps them and is a plain fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Counts, Data
from nearbayes.core.protocols import Rng
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import integer_seed
from nearbayes.fits.estimator_fit import EstimatorFit, boosted_schedule
from nearbayes.fits.targets import class_weights, mean_targets
from nearbayes.learners.choosing import Choice
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor
from nearbayes.tables.table import take

__all__ = ["SmoothTreesFit"]


@dataclass(frozen=True)
class SmoothTreesFit(EstimatorFit):
    """A `SmoothTreesRegressor` or `SmoothTreesClassifier`.

    Imputed rows repeat old inputs, so a refit is a fit to n rows, with mean outcomes (or classes)
    and weights that sum to n: penalties and leaves keep their strength.

    Attributes
    ----------
    choice : Choice, optional
        Made from real rows by `tuned`; without it, every fit makes its own choice.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = nb.PosteriorRegressor(n_draws=3, calibration=None, random_state=0).fit(X, y)
    >>> len({draw.choice_.rounds for draw in model.estimators_})
    1
    """

    choice: Choice | None = None

    def __post_init__(self) -> None:
        if self.params:
            raise TypeError(
                f"{type(self.estimator).__name__}.fit has no argument {next(iter(self.params))!r}: "
                "remove it."
            )

    @property
    def counts(self) -> Counts:
        """Mean outcomes, or class counts."""
        return "labels" if self._classifies else "means"

    @property
    def randomised(self) -> bool:
        """False: only the folds are random, and they are made once."""
        return False

    @property
    def is_boosted(self) -> bool:
        """True, because of the trees in the blend."""
        return True

    @property
    def schedule(self) -> Callable[[int | None], Schedule]:
        """The schedule of boosted trees."""
        return boosted_schedule

    @property
    def _classifies(self) -> bool:
        return isinstance(self.estimator, SmoothTreesClassifier)

    def tuned(self, data: Data, rng: Rng) -> Self:
        """Choose depth, rounds, penalties and share on these rows."""
        return replace(self, choice=self._chosen(data, integer_seed(rng)))

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Classes as codes, so that a class missing in a sample is still known."""
        return self, np.arange(len(classes))

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone with the chosen settings; see `EstimatorFit.fit`."""
        choice = self._chosen(data, seed) if self.choice is None else self.choice
        model = self.configured(seed)
        if labels is None:
            means, weights = mean_targets(data)
            seen = np.flatnonzero(weights > 0)
            return model.fit_chosen(choice, take(data.table, seen), means[seen], weights[seen])
        weights = class_weights(data, len(labels))
        seen, codes = np.nonzero(weights)
        growth = len(seen) / len(np.unique(seen))
        rows = take(data.table, seen)
        return model.fit_chosen(choice, rows, codes, weights[seen, codes], labels, growth)

    def _chosen(self, data: Data, seed: int) -> Choice:
        model: SmoothTreesClassifier | SmoothTreesRegressor = self.configured(seed)
        if isinstance(model, SmoothTreesClassifier):
            return model.choose(data.x, data.y, data.counts, int(data.y.max()) + 1)
        return model.choose(data.x, data.y, data.counts)


def example() -> tuple[SmoothTreesRegressor, Data]:
    """A regressor with few rounds, because each separate fit tunes, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return SmoothTreesRegressor(max_rounds=5), Data.of(X, X[:, 0] + rng.normal(size=60))
