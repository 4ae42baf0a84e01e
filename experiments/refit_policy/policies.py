"""Alternative refit policies for boosted trees, to compare with the library's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.algorithms.estimators import ClassifierAlgorithm
from nearbayes.core.data import Block, Data
from nearbayes.core.inputs import Urn
from nearbayes.core.seeds import integer_seed
from nearbayes.fits.adapters import fitting_of
from nearbayes.predictives.predictive import CategoricalPredictive


class RawWeights(ClassifierAlgorithm):
    """Imputed rows count in full, so penalties and minimum leaf sizes become weaker."""

    def refit(self, data: Data, new: Block, model: Any, rng: np.random.Generator) -> Any:
        """Fit as if all rows were real."""
        return self.fitting.fit(replace(data, real=None), integer_seed(rng), self.labels)


class FixedRounds(ClassifierAlgorithm):
    """The number of rounds is chosen once, by the first fit."""

    def refit(self, data: Data, new: Block, model: Any, rng: np.random.Generator) -> Any:
        """Fit as many rounds as the last model."""
        stopped = model.early_stopping_rounds is not None
        rounds = model.best_iteration + 1 if stopped else model.n_estimators
        fixed = fitting_of(
            self.fitting.configured(0).set_params(n_estimators=rounds, early_stopping_rounds=None),
            {},
        )
        return fixed.fit(data, integer_seed(rng), self.labels)


@dataclass(frozen=True)
class WithValidation:
    """A fitted model, and the real and imputed rows used for its early stopping."""

    model: Any
    validation: Data

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes of the model."""
        return np.asarray(self.model.classes_)

    def predict_proba(self, x: Any) -> NDArray[np.float64]:
        """Class probabilities of the model."""
        return np.asarray(self.model.predict_proba(x))


class ExtendedValidation(ClassifierAlgorithm):
    """Validation rows are imputed too, as the paper's authors do."""

    def fit(self, data: Data, rng: np.random.Generator) -> WithValidation:
        """Stop on the real validation rows."""
        [(x, y)] = self.fitting.params["eval_set"]
        return WithValidation(super().fit(data, rng), Data.of(x, y))

    def refit(
        self, data: Data, new: Block, model: WithValidation, rng: np.random.Generator
    ) -> WithValidation:
        """Impute validation rows in proportion, and use all of them for early stopping."""
        size = round(new.size * model.validation.n / data.n)
        x = Urn().sample(model.validation, size, rng)
        y = CategoricalPredictive(self.predict(model, x.distinct)).sample(x, rng)
        rows = model.validation.extend(Block(x, y, model.validation.size + size))
        stopping = fitting_of(self.fitting.estimator, {"eval_set": [(rows.x, rows.y)]})
        return WithValidation(stopping.fit(data, integer_seed(rng), self.labels), rows)
